#include "report/json/json.h"
#include "report/json/value.h"
#include "run/gpu_limit.h"

namespace ringtrue::report {
namespace {

Json rate(const std::optional<BytesPerSecond>& value) {
  return value ? Json(value->value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json end_value(const run::GpuLimit::End& end) {
  if (end.index < 0) return nullptr;
  return {{"gpu", end.index}, {"uuid", end.uuid}, {"pci", text_or_null(end.pci)}};
}

Json limit_value(const diagnosis::GpuRate& r) {
  const run::GpuLimit& limit = r.limit;
  return {{"node", limit.node},
          {"kind", key_of(limit.kind)},
          {"gpu", end_value(limit.gpu)},
          {"peer", end_value(limit.peer)},
          {"host", text_or_null(key_of(limit.host))},
          {"numa", limit.numa < 0 ? Json(nullptr) : Json(limit.numa)},
          {"near", maybe(r.near)},
          {"rate_Bps", rate(limit.rate)},
          {"latency_s", limit.latency ? Json(limit.latency->value) : Json(nullptr)},
          {"ideal_Bps", rate(r.ideal)},
          {"attainable_Bps", rate(r.attainable)},
          {"origin", key_of(r.origin)},
          {"source", text_or_null(r.source)},
          {"ratio", maybe(r.ratio)},
          {"why_not", text_or_null(limit.why_not)}};
}

}  // namespace

std::string json(const GpuSweepDocument& document) {
  Json limits = Json::array(), findings = Json::array(), not_checked = Json::array();
  for (const diagnosis::GpuRate& r : document.limits.rates) limits.push_back(limit_value(r));
  for (const diagnosis::Finding& f : document.limits.findings) findings.push_back(finding_value(f));
  for (const diagnosis::NotChecked& n : document.limits.not_checked)
    not_checked.push_back({{"what", n.what}, {"why", n.why}});
  return dump({{"schema", "ringtrue.sweep-gpu/1"},
               {"nodes", document.nodes},
               {"bytes", document.bytes},
               {"limits", std::move(limits)},
               {"findings", std::move(findings)},
               {"not_checked", std::move(not_checked)},
               {"thresholds", {{"warning", document.warning}, {"critical", document.critical}}},
               {"notes", document.notes},
               {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
