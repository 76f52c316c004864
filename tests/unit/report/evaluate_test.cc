#include "operator/documents/evaluate.h"
#include "campaign/score.h"
#include "report/json/json.h"
#include "report/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "paths.h"
#include "schema.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;

std::string faults_of(const nlohmann::json& value) {
  std::ifstream file(RINGTRUE_SOURCE_DIR "/packaging/schema/evaluate.json");
  std::vector<std::string> errors;
  check_schema(nlohmann::json::parse(file), value, "", errors);
  std::string out;
  for (const std::string& e : errors) out += e + "\n";
  return out;
}

campaign::Outcome outcome(const char* kind, int faults, int found, bool exact, int findings, int wrong) {
  static std::uint64_t number = 0;
  campaign::Outcome o;
  o.drawn.number = number++;
  o.drawn.kind = *campaign::find_kind(kind);
  o.drawn.severity = faults > 0 ? 0.25 : 0;
  o.drawn.world.fabric.nodes = 8;
  o.score = {faults, found, findings, wrong, exact, true};
  for (int i = 0; i < findings; ++i)
    o.score.accusations.push_back({diagnosis::FindingKind::slow_sender, 0.97, i >= wrong});
  o.verdict = findings > 0 ? diagnosis::Verdict::faulty : diagnosis::Verdict::healthy;
  o.cost = {5, Seconds(1.5), Bytes(1 << 20)};
  o.coverage = {14, 56};
  return o;
}

ops::EvaluateDocument document() {
  ops::EvaluateDocument d;
  d.seed = 7;
  d.min_nodes = 2;
  d.max_nodes = 1024;
  d.noise = 0.05;
  d.command = "ringtrue evaluate --seed 7 --cases 7";
  d.score =
      campaign::score({outcome("healthy", 0, 0, false, 0, 0), outcome("healthy-busy", 0, 0, false, 1, 1),
                       outcome("slow-out", 1, 1, true, 1, 0), outcome("slow-in", 1, 1, false, 2, 1),
                       outcome("dead", 1, 0, false, 0, 0), outcome("two", 2, 1, false, 1, 0),
                       outcome("slow-path", 1, 1, true, 1, 0)});
  return d;
}

TEST(Evaluate, GivesItsSharesWithTheirIntervals) {
  const auto value = nlohmann::json::parse(json(document()));
  EXPECT_EQ(faults_of(value), "");
  EXPECT_EQ(value["cases"], 7);
  EXPECT_EQ(value["healthy_cases"], 2);
  EXPECT_NEAR(value["recall"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_LT(value["recall_low"], value["recall"]);
  EXPECT_GT(value["recall_high"], value["recall"]);
  EXPECT_NEAR(value["scope_exact"].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_EQ(value["false_accusation_rate"], 0.5);
  EXPECT_NEAR(value["precision"].get<double>(), 4.0 / 6, 1e-12);
  EXPECT_EQ(value["two"]["recall"], 0.0);
  EXPECT_EQ(value["pair_specific"]["recall"], 1.0);
  EXPECT_EQ(value["pair_specific"]["coverage"], 0.25);
  EXPECT_TRUE(value["three"]["recall"].is_null());
  ASSERT_EQ(value["by_kind"].size(), 7u);
  EXPECT_EQ(value["by_kind"][0]["kind"], "healthy");
  EXPECT_EQ(value["by_nodes"][0]["nodes"], "5-8");
  EXPECT_EQ(value["by_severity"][0]["cases"], 3);
  EXPECT_EQ(value["by_finding"][0]["finding"], "slow-sender");
  EXPECT_EQ(value["by_finding"][0]["findings"], 6);
  EXPECT_EQ(value["by_confidence"][0]["confidence"], "95-99 %");
  EXPECT_NEAR(value["by_confidence"][0]["right"].get<double>(), 4.0 / 6, 1e-12);
  EXPECT_EQ(value["missed"].size(), 2u);
  EXPECT_EQ(value["missed"][0]["kind"], "dead");
  EXPECT_EQ(value["inexact"].size(), 1u);
  EXPECT_EQ(value["false_accusations"][0]["kind"], "healthy-busy");
  EXPECT_EQ(value["rounds"]["median"], 5);
}

TEST(Evaluate, IsATableForPeopleAndForDocumentation) {
  const ops::EvaluateDocument d = document();
  const std::string shown = text(d, {});
  EXPECT_THAT(shown, HasSubstr("7 checks of 2 to 1024 nodes at 5 % noise, 2 of them healthy"));
  EXPECT_THAT(shown, HasSubstr("findings in healthy cases:"));
  EXPECT_THAT(shown, HasSubstr("--case K"));
  const std::string table = markdown(d);
  EXPECT_THAT(table, HasSubstr("    ringtrue evaluate --seed 7 --cases 7\n"));
  EXPECT_THAT(table, HasSubstr("| slow-out | 1 | 100.00 % (20.65 % to 100.00 %) | 100.00 %"));
  EXPECT_THAT(table, testing::Not(HasSubstr("three")));
}

TEST(Evaluate, ShowsOneCaseInFull) {
  campaign::Limits limits;
  limits.max_nodes = 64;
  limits.kinds = {campaign::find_kind("slow-out").value()};
  limits.min_severity = 0.5;
  limits.fabrics = campaign::Fabrics::plain;
  const campaign::Case c = campaign::draw_case(1, 1, limits);
  ops::CaseDocument d;
  d.drawn = campaign::listed(c);
  d.fabric = c.text();
  d.faults = c.faults();
  d.check.diagnosis = campaign::check(c).diagnosis;
  d.score = campaign::score_case(c, d.check.diagnosis);
  const auto value = nlohmann::json::parse(json(d));
  EXPECT_EQ(faults_of(value), "");
  EXPECT_EQ(value["case"]["case"], 1);
  EXPECT_EQ(value["case"]["faults"].size(), 1u);
  EXPECT_EQ(value["check"]["verdict"], "faulty");
  const std::string shown = text(d, {});
  EXPECT_THAT(shown, HasSubstr("1 fault, 1 found"));
  EXPECT_THAT(shown, HasSubstr("pairwise"));
}

}  // namespace
}  // namespace ringtrue::report
