#include <fmt/format.h>

#include "base/hostlist.h"
#include "report/matrix.h"
#include "report/text.h"

namespace ringtrue::report {

std::string text(const SweepDocument& document, const Style& style) {
  std::string out;
  const std::size_t n = document.nodes.size();
  const std::string map = heat_map(document.nodes, document.rate_Bps,
                                   {document.expected_Bps, document.warning, document.critical}, style);
  if (!map.empty()) {
    out += style.paint(fmt::format("{} nodes, {}, {} a pair, {}", n, fold_hostlist(document.nodes),
                                   to_text(Bytes(document.bytes)), document.transport),
                       Ink::bold);
    out += fmt::format("\n\n{}", map);
    if (document.expected_Bps) {
      out += fmt::format("  expected: {} ({})\n", rate_text(document.expected_Bps), document.expected_origin);
    }
  }
  bool any_latency = false;
  std::vector<std::vector<std::string>> cells(n, std::vector<std::string>(n, "."));
  for (std::size_t i = 0; i < document.latency_s.size(); ++i) {
    for (std::size_t j = 0; j < document.latency_s[i].size(); ++j) {
      const Maybe& latency = document.latency_s[i][j];
      if (!latency) continue;
      any_latency = true;
      cells[i][j] = fmt::format("{:.0f}", *latency * 1e6);
    }
  }
  if (any_latency) out += fmt::format("\nsmallest round trip, us\n{}", matrix_text(document.nodes, cells));
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

}  // namespace ringtrue::report
