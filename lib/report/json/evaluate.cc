#include "operator/documents/evaluate.h"
#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

using diagnosis::ScoreGroup;

void add_rate(Json& into, const std::string& name, const diagnosis::Rate& rate) {
  into[name] = maybe(rate.value());
  into[name + "_low"] = maybe(rate.low());
  into[name + "_high"] = maybe(rate.high());
}

Json spread_value(const diagnosis::Spread& spread) {
  const auto known = [&](double value) { return spread.of > 0 ? Json(value) : Json(nullptr); };
  return {{"median", known(spread.median)}, {"p95", known(spread.p95)}, {"max", known(spread.max)}};
}

Json group_value(const ScoreGroup& group, const char* key = "name") {
  Json out = {{key, group.name}};
  if (!group.summary.empty()) out["summary"] = group.summary;
  out["cases"] = group.cases;
  add_rate(out, "recall", group.recall);
  add_rate(out, "scope_exact", group.scope_exact);
  add_rate(out, "false_accusation_rate", group.false_positives);
  add_rate(out, "unknown", group.unknown);
  out["rounds"] = spread_value(group.runs);
  out["proven_after_rounds"] = spread_value(group.proven);
  out["seconds"] = spread_value(group.seconds);
  out["bytes"] = spread_value(group.bytes);
  return out;
}

Json groups_value(const std::vector<ScoreGroup>& groups, const char* key) {
  return array(groups, [&](const ScoreGroup& group) { return group_value(group, key); });
}

Json precisions_value(const std::vector<diagnosis::Precision>& list, const char* key) {
  return array(list, [&](const diagnosis::Precision& p) {
    Json out = {{key, p.name}, {"findings", p.right.of}};
    add_rate(out, "right", p.right);
    return out;
  });
}

Json listed_value(const diagnosis::Listed& c) {
  return {{"case", c.number},
          {"seed", c.seed},
          {"kind", c.kind},
          {"nodes", c.nodes},
          {"severity", c.severity > 0 ? Json(c.severity) : Json(nullptr)}};
}

}  // namespace

std::string json(const ops::EvaluateDocument& document) {
  const diagnosis::Score& s = document.score;
  Json out = {{"schema", "ringtrue.evaluate/1"},
              {"simulated", true},
              {"seed", document.seed},
              {"noise", document.noise},
              {"nodes", {{"min", document.min_nodes}, {"max", document.max_nodes}}},
              {"interval", "Wilson, 95 %"},
              {"ended_early", document.error.has_value()},
              {"cases", s.cases},
              {"healthy_cases", s.healthy_cases}};
  add_rate(out, "recall", s.single.recall);
  add_rate(out, "false_accusation_rate", s.healthy.false_positives);
  add_rate(out, "scope_exact", s.single.scope_exact);
  add_rate(out, "precision", s.precision);
  out["rounds"] = spread_value(s.single.runs);
  out["proven_after_rounds"] = spread_value(s.single.proven);
  out["seconds"] = spread_value(s.single.seconds);
  out["bytes"] = spread_value(s.single.bytes);
  out["healthy"] = group_value(s.healthy);
  out["single"] = group_value(s.single);
  out["hosts"] = group_value(s.hosts);
  out["leaves"] = group_value(s.leaves);
  out["two"] = group_value(s.two);
  out["three"] = group_value(s.three);
  out["pair_specific"] = group_value(s.pairs);
  out["pair_specific"]["coverage"] = s.pairs.cases > 0 ? Json(s.coverage) : Json(nullptr);
  out["pair_specific"]["covered"] = group_value(s.covered);
  out["by_kind"] = groups_value(s.by_kind, "kind");
  out["by_nodes"] = groups_value(s.by_nodes, "nodes");
  out["by_severity"] = groups_value(s.by_severity, "severity");
  out["by_finding"] = precisions_value(s.by_finding, "finding");
  out["by_confidence"] = precisions_value(s.by_confidence, "confidence");
  out["missed"] = array(s.missed, listed_value);
  out["inexact"] = array(s.inexact, listed_value);
  out["false_accusations"] = array(s.false_positives, listed_value);
  out["error"] = maybe_error(document.error);
  return dump(out);
}

std::string json(const ops::CaseDocument& document) {
  const diagnosis::Listed& c = document.drawn;
  return dump({{"schema", "ringtrue.evaluate/1"},
               {"simulated", true},
               {"seed", document.campaign_seed},
               {"case",
                {{"case", c.number},
                 {"seed", c.seed},
                 {"kind", c.kind},
                 {"severity", c.severity > 0 ? Json(c.severity) : Json(nullptr)},
                 {"fabric", document.fabric},
                 {"faults", document.faults},
                 {"found", document.score.found},
                 {"exact", document.score.exact},
                 {"accusations", document.score.findings},
                 {"wrong_accusations", document.score.wrong}}},
               {"check", Json::parse(json(document.check))},
               {"error", nullptr}});
}

std::string json(const ops::YearsDocument& document) {
  return dump({{"schema", "ringtrue.evaluate-history/1"},
               {"simulated", true},
               {"seed", document.seed},
               {"years", document.years},
               {"checks", document.checks},
               {"nodes", {{"min", document.min_nodes}, {"max", document.max_nodes}}},
               {"command", document.command},
               {"rows", array(document.rows,
                              [](const ops::YearsDocument::Row& row) {
                                return Json{{"what", row.what},
                                            {"count", row.count},
                                            {"of", row.of},
                                            {"wanted", text_or_null(row.wanted)}};
                              })},
               {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
