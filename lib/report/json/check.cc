#include "report/json/json.h"
#include "report/json/value.h"
#include "report/text/wording.h"

namespace ringtrue::report {
namespace {

Json rate(const std::optional<BytesPerSecond>& value) {
  return value ? Json(value->value) : Json(nullptr);
}
Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// Its numbers: {"kind": "path-rate", "nodes": ["node1", "node2"], "rate_Bps": 5e9, ...}.
Json statement_value(const diagnosis::Statement& s, const std::string& kind) {
  Json out = {{"kind", s.kind == diagnosis::StatementKind::told ? kind : std::string(name(s.kind))}};
  for (const Subject& subject : s.subjects) {
    if (!subject.node.empty()) out["nodes"].push_back(subject.node);
    if (!subject.device.empty()) out["device"] = subject.device;
  }
  for (const diagnosis::Quantity& q : s.values) out[std::string(q.name)] = q.value;
  return out;
}

}  // namespace

Json finding_value(const diagnosis::Finding& f) {
  Json out = {{"severity", key_of(f.severity)},
              {"kind", f.kind},
              {"scope",
               {{"type", key_of(f.scope.type)},
                {"node", text_or_null(f.scope.subject.node)},
                {"peer", text_or_null(f.scope.peer_name)},
                {"device", text_or_null(f.scope.subject.device)}}},
              {"measured_Bps", rate(f.measured)},
              {"expected_Bps", rate(f.expected)},
              {"ratio", maybe(f.ratio)},
              {"confidence", f.confidence},
              {"evidence", sentences(f.evidence)},
              {"evidence_values", Json::array()},
              {"impact", text_or_null(sentence(f.impact))},
              {"impact_values", f.impact.empty() ? Json(nullptr) : statement_value(f.impact, f.kind)},
              {"next", text_or_null(sentence(f.next))},
              {"next_kind", f.next.empty() ? Json(nullptr) : statement_value(f.next, f.kind)["kind"]}};
  for (const diagnosis::Statement& s : f.evidence)
    out["evidence_values"].push_back(statement_value(s, f.kind));
  if (!f.command.empty()) out["command"] = f.command;
  if (f.proven_after > 0) out["proven_after_runs"] = f.proven_after;
  return out;
}

std::string json(const CheckDocument& document) {
  const diagnosis::Diagnosis& d = document.diagnosis;
  Json findings = Json::array(), not_checked = Json::array(), results = Json::array(), rates = Json::array(),
       nodes = Json::array();
  for (const diagnosis::Finding& f : d.findings) findings.push_back(finding_value(f));
  for (const diagnosis::NotChecked& n : d.not_checked)
    not_checked.push_back({{"what", n.what}, {"why", n.why}});
  for (const diagnosis::RunRecord& r : d.runs) {
    Json order = Json::array();
    const std::size_t ranks =
        r.experiment.workers > 0 ? std::size_t(r.experiment.workers) : r.experiment.order.size();
    for (std::size_t i = 0; i < ranks; ++i) order.push_back(d.nodes[std::size_t(r.experiment.order[i])]);
    Json result = {{"stage", key_of(r.stage)},
                   {"algorithm", key_of(r.experiment.algorithm)},
                   {"ranks", ranks},
                   {"order", order},
                   {"bytes", r.experiment.bytes.value},
                   {"iterations", r.experiment.iterations},
                   {"time_s", {{"min", nullptr}, {"median", r.time.value}, {"max", nullptr}}},
                   {"busbw_Bps", rate(r.busbw)},
                   {"ideal_busbw_Bps", rate(r.ideal)},
                   {"ideal_origin", r.ideal ? Json(key_of(r.ideal_origin)) : Json(nullptr)},
                   {"above_ideal", above_value(r.above)}};
    if (r.experiment.algorithm == collective::AlgorithmId::pairwise) result["shift"] = r.experiment.shift;
    if (r.experiment.workers > 0) {
      Json aggregators = Json::array();
      for (std::size_t i = ranks; i < r.experiment.order.size(); ++i) {
        const int node = r.experiment.order[i];
        Json row = {{"node", d.nodes[std::size_t(node)]}, {"receive_Bps", nullptr}, {"send_Bps", nullptr}};
        for (const diagnosis::PortReading& p : r.ports) {
          if (p.aggregator == int(i - ranks)) row[p.receives ? "receive_Bps" : "send_Bps"] = p.rate;
        }
        aggregators.push_back(std::move(row));
      }
      result["aggregators"] = std::move(aggregators);
    }
    results.push_back(std::move(result));
  }
  for (const auto& row : d.rates) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(rate(cell));
    rates.push_back(std::move(cells));
  }
  for (const std::string& node : d.nodes) {
    const Failure* failure = nullptr;
    if (document.error) {
      for (const Failure& f : document.error->failures) {
        if (f.node == node && f.culprit) failure = &f;
      }
    }
    nodes.push_back({{"node", node},
                     {"failed_phase", failure ? Json(key_of(failure->phase)) : Json(nullptr)},
                     {"cause", failure ? Json(failure->error.what) : Json(nullptr)}});
  }
  Json plans = Json::array();
  for (const diagnosis::Plan& p : d.plans) {
    plans.push_back({{"kind", key_of(p.kind)},
                     {"order", p.order},
                     {"left_out", p.left_out},
                     {"now_busbw_Bps", p.now.value},
                     {"then_busbw_Bps", p.then.value},
                     {"gain", p.gain()},
                     {"text", sentence(p)}});
  }
  return dump(
      {{"schema", "ringtrue.check/1"},
       {"verdict", key_of(d.verdict)},
       {"findings", findings},
       {"plan", plans},
       {"not_checked", not_checked},
       {"nodes", nodes},
       {"transport", text_or_null(document.transport)},
       {"notes", document.notes},
       {"inspection", document.inspection ? Json{{"rules", document.inspection->rules},
                                                 {"seconds", document.inspection->seconds}}
                                          : Json(nullptr)},
       {"expected",
        {{"rate_Bps", rate(d.expected.value)},
         {"origin", key_of(d.expected.origin)},
         {"source", text_or_null(d.expected.source)},
         {"of_most_Bps", rate(d.expected.of_most)}}},
       {"ring_busbw_Bps", rate(d.ring_busbw)},
       {"rate_Bps", rates},
       {"results", results},
       {"coverage", {{"pairs_measured", d.coverage.pairs_measured}, {"pairs", d.coverage.pairs}}},
       {"cost", {{"runs", d.cost.runs}, {"seconds", d.cost.seconds.value}, {"bytes", d.cost.bytes.value}}},
       {"counters", counters_value(d.counters)},
       {"deadlines", maybe_deadlines(document.deadlines)},
       {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
