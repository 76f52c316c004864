#include <fmt/format.h>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"
#include "run/gpu_limit.h"

namespace ringtrue::report {
namespace {

std::string way_of(const diagnosis::GpuRate& r) {
  const run::GpuLimit& limit = r.limit;
  if (limit.peer.index >= 0) return fmt::format("GPU {} with {}", limit.gpu.index, limit.peer.index);
  std::string way = fmt::format("GPU {}", limit.gpu.index);
  if (limit.host != run::GpuLimit::Host::none) way.append(", ").append(key_of(limit.host));
  if (limit.numa >= 0) way += fmt::format(", NUMA {}", limit.numa);
  if (r.near) way += *r.near ? " (near)" : " (far)";
  return way;
}

Maybe value_of(const std::optional<BytesPerSecond>& rate) {
  return rate ? Maybe(rate->value) : std::nullopt;
}

}  // namespace

std::string text(const ops::GpuSweepDocument& document, const Style& style) {
  std::string out, node;
  Table table({left("node"), left("what"), left("between"), "rate", "ideal", "attainable", "of attainable",
               "latency, us", left("")});
  for (const diagnosis::GpuRate& r : document.limits.rates) {
    const char mark = !r.ratio                       ? ' '
                      : *r.ratio < document.critical ? '!'
                      : *r.ratio < document.warning  ? '?'
                                                     : ' ';
    const std::string ratio = percent_text(r.ratio) + (mark == ' ' ? "" : std::string(1, mark));
    table.row({r.limit.node == node ? "" : r.limit.node, key_of(r.limit.kind), way_of(r),
               rate_text(value_of(r.limit.rate)), rate_text(value_of(r.ideal)),
               rate_text(value_of(r.attainable)),
               mark == ' ' ? ratio : style.paint(ratio, mark == '!' ? Ink::red : Ink::yellow),
               r.limit.latency ? fmt::format("{:.1f}", r.limit.latency->value * 1e6) : "-",
               r.limit.why_not.empty() ? r.source : r.limit.why_not});
    node = r.limit.node;
  }
  if (!document.limits.rates.empty()) {
    out += style.paint(fmt::format("GPUs of {}, copies of {}", plural(document.nodes.size(), "node"),
                                   amount_text(document.bytes)),
                       Ink::bold) +
           "\n" + table.text();
  }
  out += findings_text(document.limits.findings, style);
  for (const diagnosis::NotChecked& n : document.limits.not_checked)
    out += style.fit(style.paint(fmt::format("not checked: {}: {}", n.what, n.why), Ink::dim) + "\n");
  out += style.fit(notes_text(document.notes, style));
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

}  // namespace ringtrue::report
