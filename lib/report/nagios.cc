#include "report/nagios.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/findings/groups.h"
#include "report/text/wording.h"

namespace ringtrue::report {

std::string nagios(const ops::CheckDocument& document) {
  const diagnosis::Diagnosis& d = document.diagnosis;
  static constexpr std::string_view status[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::string line = fmt::format("{}: ", status[diagnosis::exit_code(d.verdict)]);
  int others = 0;
  std::string first;
  for (const diagnosis::Finding& f : diagnosis::with_groups(d.findings)) {
    if (f.severity == diagnosis::Severity::info) continue;
    if (!first.empty()) {
      ++others;
      continue;
    }
    first = fmt::format("{} {}", key_of(f.kind), f.scope.text());
    if (f.measured && f.expected) {
      first += fmt::format(", {} of {}", to_text(*f.measured), to_text(*f.expected));
    }
  }
  if (!first.empty()) {
    line += first;
    if (others > 0) line += fmt::format(" and {} more", others);
  } else if (document.error) {
    line += document.error->error.text();
  } else {
    line += nodes_text(d);
  }
  // '|' would end the text.
  std::replace(line.begin(), line.end(), '|', '/');
  std::string data;
  if (const auto expected = d.expected.held_against()) {
    double least = expected->value;
    bool any = false;
    for (const auto& row : d.rates) {
      for (const auto& rate : row) {
        if (!rate) continue;
        least = any ? std::min(least, rate->value) : rate->value;
        any = true;
      }
    }
    if (any) {
      // "LOW:" alerts when the value is below it.
      data += fmt::format(" slowest_hop_Bps={:.0f};{:.0f}:;{:.0f}:", least,
                          expected->value * document.warning, expected->value * document.critical);
    }
  }
  if (d.ring_busbw) data += fmt::format(" ring_busbw_Bps={:.0f}", d.ring_busbw->value);
  if (d.cost.runs > 0) data += fmt::format(" seconds={:.1f}s", d.cost.seconds.value);
  if (!data.empty()) line += fmt::format(" |{}", data);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "\n";
}

}  // namespace ringtrue::report
