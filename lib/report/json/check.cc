#include "diagnosis/findings/groups.h"
#include "history/time.h"
#include "report/json/json.h"
#include "report/json/value.h"
#include "report/text/wording.h"

namespace ringtrue::report {
namespace {

void add_values(Json& out, const diagnosis::Statement& s) {
  for (const Subject& subject : s.subjects) {
    if (!subject.node.empty()) out["nodes"].push_back(subject.node);
    if (!subject.device.empty()) out["device"] = subject.device;
  }
  for (const diagnosis::Quantity& q : s.values)
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (!std::is_same_v<T, std::monostate>) out[std::string(q.name)] = value;
        },
        q.value);
}

// Its values: {"kind": "path-rate", "nodes": ["node1", "node2"], "rate_Bps": 5e9, ...}; of words of others
// the kind is the finding's.
Json statement_value(const diagnosis::Statement& s, const diagnosis::Finding& f) {
  if (s.empty()) return nullptr;
  Json out = {{"kind", s.kind == diagnosis::StatementKind::told ? key_of(f.kind) : name(s)}};
  add_values(out, s);
  return out;
}

}  // namespace

Json finding_value(const diagnosis::Finding& f) {
  Json out = {{"severity", key_of(f.severity)},
              {"kind", key_of(f.kind)},
              {"scope",
               {{"type", key_of(f.scope.type)},
                {"node", text_or_null(f.scope.subject.node)},
                {"peer", text_or_null(f.scope.peer_name)},
                {"device", text_or_null(f.scope.subject.device)}}},
              {"measured_Bps", maybe(f.measured)},
              {"expected_Bps", maybe(f.expected)},
              {"ratio", maybe(f.ratio)},
              {"confidence", f.confidence},
              {"evidence", sentences(f.evidence)},
              {"evidence_values", Json::array()},
              {"impact", text_or_null(sentence(f.impact))},
              {"impact_values", statement_value(f.impact, f)},
              {"next", text_or_null(sentence(f.next))},
              {"next_kind", f.next.empty() ? Json(nullptr) : statement_value(f.next, f)["kind"]}};
  for (const diagnosis::Statement& s : f.evidence) out["evidence_values"].push_back(statement_value(s, f));
  if (!f.command.empty()) out["command"] = f.command;
  if (f.proven_after > 0) out["proven_after_runs"] = f.proven_after;
  for (const diagnosis::Finding& member : f.members)
    out["members"].push_back({{"node", member.scope.subject.node},
                              {"measured_Bps", maybe(member.measured)},
                              {"expected_Bps", maybe(member.expected)},
                              {"ratio", maybe(member.ratio)},
                              {"confidence", member.confidence}});
  return out;
}

Json not_checked_value(const diagnosis::NotChecked& n) {
  const NotCheckedText text = not_checked(n);
  Json out = {{"what", text.what}, {"why", text.why}, {"kind", name(n)}};
  add_values(out, n);
  return out;
}

namespace {

Json run_value(const diagnosis::RunRecord& r, const std::vector<std::string>& nodes) {
  const diagnosis::Experiment& e = r.experiment;
  const bool omnireduce = e.workers > 0;
  const std::size_t ranks = omnireduce ? std::size_t(e.workers) : e.order.size();
  Json order = Json::array(), aggregators = Json::array();
  for (std::size_t i = 0; i < ranks; ++i) order.push_back(nodes[std::size_t(e.order[i])]);
  Json out = {{"stage", key_of(r.stage)},
              {"algorithm", key_of(e.algorithm)},
              {"ranks", ranks},
              {"order", order},
              {"bytes", e.bytes.value},
              {"iterations", e.iterations},
              {"time_s", {{"min", nullptr}, {"median", r.time.value}, {"max", nullptr}}},
              {"busbw_Bps", maybe(r.busbw)},
              {"ideal_busbw_Bps", maybe(r.ideal)},
              {"ideal_origin", r.ideal ? Json(key_of(r.ideal_origin)) : Json(nullptr)},
              {"above_ideal", above_value(r.above)}};
  if (e.algorithm == collective::AlgorithmId::pairwise) out["shift"] = e.shift;
  if (!omnireduce) return out;
  for (std::size_t i = ranks; i < e.order.size(); ++i) {
    Json row = {{"node", nodes[std::size_t(e.order[i])]}, {"receive_Bps", nullptr}, {"send_Bps", nullptr}};
    for (const diagnosis::PortReading& p : r.ports)
      if (p.aggregator == int(i - ranks)) row[p.receives ? "receive_Bps" : "send_Bps"] = p.rate;
    aggregators.push_back(std::move(row));
  }
  out["aggregators"] = std::move(aggregators);
  return out;
}

Json node_value(const std::string& node, const std::optional<ops::Trouble>& error) {
  const ops::Failure* failure = nullptr;
  if (error)
    for (const ops::Failure& f : error->failures)
      if (f.node == node && f.culprit) failure = &f;
  return {{"node", node},
          {"failed_phase", failure ? Json(key_of(failure->phase)) : Json(nullptr)},
          {"cause", failure ? Json(failure->error.what) : Json(nullptr)}};
}

Json sides_value(const diagnosis::Diagnosis& d) {
  Json out = Json::array();
  for (std::size_t i = 0; i < d.sides.size() && i < d.nodes.size(); ++i)
    out.push_back({{"node", d.nodes[i]},
                   {"sends_Bps", maybe(d.sides[i].sends)},
                   {"sends_to", d.sides[i].sends_to},
                   {"receives_Bps", maybe(d.sides[i].receives)},
                   {"receives_from", d.sides[i].receives_from}});
  return out;
}

Json plan_value(const diagnosis::Plan& p) {
  return {{"kind", key_of(p.kind)},
          {"order", p.order},
          {"left_out", p.left_out},
          {"now_busbw_Bps", p.now.value},
          {"then_busbw_Bps", p.then.value},
          {"gain", p.gain()},
          {"text", sentence(p)}};
}

}  // namespace

std::string json(const ops::CheckDocument& document) {
  const diagnosis::Diagnosis& d = document.diagnosis;
  const auto& inspection = document.inspection;
  const auto rates = [](const auto& row) { return array(row, [](const auto& cell) { return maybe(cell); }); };
  return dump(
      {{"schema", "ringtrue.check/1"},
       {"verdict", key_of(d.verdict)},
       {"findings", array(diagnosis::with_groups(d.findings), finding_value)},
       {"plan", array(d.plans, plan_value)},
       {"not_checked", array(d.not_checked, not_checked_value)},
       {"nodes", array(d.nodes, [&](const auto& node) { return node_value(node, document.error); })},
       {"transport", text_or_null(document.transport)},
       {"notes", document.notes},
       {"networks", networks_value(document.networks)},
       {"inspection", inspection
                          ? Json{{"rules", array(inspection->rules,
                                                 [](diagnosis::FindingKind rule) { return key_of(rule); })},
                                 {"seconds", inspection->seconds}}
                          : Json(nullptr)},
       {"expected",
        {{"rate_Bps", maybe(d.expected.value)},
         {"origin", key_of(d.expected.origin)},
         {"source", text_or_null(d.expected.source)},
         {"of_most_Bps", maybe(d.expected.of_most)}}},
       {"ring_busbw_Bps", maybe(d.ring_busbw)},
       {"rate_Bps", array(d.rates, rates)},
       {"sides", sides_value(d)},
       {"started", document.started_us > 0 ? Json(history::rfc3339(document.started_us)) : Json(nullptr)},
       {"history", remembered_value(document.remembered)},
       {"results", array(d.runs, [&](const auto& run) { return run_value(run, d.nodes); })},
       {"coverage", {{"pairs_measured", d.coverage.pairs_measured}, {"pairs", d.coverage.pairs}}},
       {"cost",
        {{"runs", d.cost.runs},
         {"seconds", d.cost.seconds.value},
         {"budget_seconds", d.cost.budget.value},
         {"bytes", d.cost.bytes.value}}},
       {"events", array(document.events, event_value)},
       {"counters", counters_value(d.counters)},
       {"deadlines", maybe_deadlines(document.deadlines)},
       {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
