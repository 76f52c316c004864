#include "operator/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "history/follow.h"
#include "history/read.h"
#include "history/store.h"
#include "operator/check.h"
#include "operator/history_record.h"
#include "operator/metrics.h"
#include "scripted.h"

namespace ringtrue::ops {
namespace {

using diagnosis::StatementKind;
using testing::HasSubstr;

constexpr std::int64_t day_us = 86'400'000'000;

// Daily checks of a scripted fleet of eight.
struct Recorded {
  Recorded() {
    char name[] = "/tmp/ringtrue-use-XXXXXX";
    folder = mkdtemp(name);
    scene.fleet.nodes = 8;
    request.place = {folder + "/history.db", "lab"};
    request.version = "0.1.0";
  }
  ~Recorded() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  CheckDocument check(RecordRequest how) {
    CheckRequest asked;
    asked.setup = scene.setup();
    asked.setup.config.link_rate.value = BytesPerSecond(105e6);
    asked.budget = Seconds(3);  // it would watch a healthy fleet for a quarter of its own
    CheckDocument document = ops::check(asked, scene.control).value();
    document.started_us = wall_clock_us() - 40 * day_us + ++day * day_us;
    EXPECT_TRUE(recall(how, document));
    EXPECT_TRUE(record(how, document, "{}"));
    return document;
  }
  CheckDocument check() { return check(request); }
  void settle() {
    for (int i = 0; i < 12; ++i) check();
    const auto set = baseline_set({request.place, {}, 20, std::nullopt, "new"}).value().set;
    EXPECT_EQ(set.size(), 17u);
    for (const auto& one : set) EXPECT_TRUE(one.baseline) << one.subject.text();
  }

  Scene scene;
  std::string folder;
  RecordRequest request;
  int day = 0;
};

// What is kept says the same as what was printed.
TEST(HistoryUse, MetricsOfTheLastCheckAreThoseOfItsDocument) {
  Recorded r;
  r.settle();
  r.scene.fleet.sends[5] = 0.93;
  const CheckDocument document = r.check();
  const MetricsRequest asked{"lab", "0.1.0", r.request.place, std::nullopt, true};
  const MetricsDocument told = metrics_of(asked, &document, wall_clock_us());
  const MetricsDocument kept = metrics_recorded(asked).value();
  EXPECT_EQ(kept.verdict, told.verdict);
  EXPECT_EQ(kept.run_us, told.run_us);
  EXPECT_EQ(kept.bytes, told.bytes);
  EXPECT_EQ(kept.runs, told.runs);
  EXPECT_EQ(kept.busbw, told.busbw);
  EXPECT_EQ(kept.expected, told.expected);
  EXPECT_EQ(kept.checks, told.checks);
  EXPECT_EQ(kept.findings, told.findings);
  EXPECT_EQ(kept.infos, told.infos);
  EXPECT_EQ(kept.suspected, 1);
  ASSERT_EQ(kept.sides.size(), 8u);
  EXPECT_TRUE(kept.sides[5].sends_baseline);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(kept.sides[i].node, told.sides[i].node);
    EXPECT_EQ(kept.sides[i].sends, told.sides[i].sends);
    EXPECT_EQ(kept.sides[i].receives_baseline, told.sides[i].receives_baseline);
  }
  EXPECT_EQ(kept.paths.size(), told.paths.size());
  EXPECT_FALSE(kept.not_checked) << "the history keeps none";
}

TEST(HistoryUse, MetricsOfRailsAreNamedByTheirPorts) {
  CheckDocument document;
  diagnosis::Diagnosis& d = document.diagnosis;
  d.nodes = {"a", "b"};
  d.sides.resize(2);
  d.sides[0].rails = {{BytesPerSecond(25e9), BytesPerSecond(24e9)}, {BytesPerSecond(12e9), std::nullopt}};
  d.sides[1].rails = d.sides[0].rails;
  d.rails["a"] = {{"mlx5_0", 1}, {"mlx5_1", 2}};  // of b nobody told
  MetricsRequest asked{"lab", "0.1.0", std::nullopt, std::nullopt};
  EXPECT_TRUE(metrics_of(asked, &document, 0).rails.empty());
  asked.rails = true;
  const auto rails = metrics_of(asked, &document, 0).rails;
  ASSERT_EQ(rails.size(), 2u);
  EXPECT_EQ(rails[1].node, "a");
  EXPECT_EQ(rails[1].device, "mlx5_1/2");
  EXPECT_EQ(rails[1].sends, 12e9);
  EXPECT_FALSE(rails[1].receives);
}

TEST(HistoryUse, NoMetricsOfAFleetThatIsNotThere) {
  Recorded r;
  r.check();
  const auto other =
      metrics_recorded({"other", "0.1.0", HistoryPlace{r.request.place.file, "other"}, std::nullopt, false});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().cause, Cause::bad_input);
  EXPECT_THAT(other.error().what, HasSubstr("no check of the fleet other is recorded"));
}

TEST(HistoryUse, AFallIsSuspectedConfirmedAndOverAfterARepair) {
  Recorded r;
  r.settle();
  r.scene.fleet.sends[5] = 0.93;
  const CheckDocument first = r.check();
  EXPECT_EQ(first.diagnosis.findings.size(), 1u) << "as a finding, too";
  ASSERT_TRUE(first.remembered);
  EXPECT_EQ(first.remembered->baselines, 16);
  ASSERT_EQ(first.remembered->regressions.size(), 1u);
  EXPECT_EQ(first.remembered->regressions[0].subject.text(), "node5's sending side");
  EXPECT_NEAR(first.remembered->regressions[0].ratio, 0.93, 0.001);
  EXPECT_EQ(exit_code(regressions(r.request.place, {}).value()), 1);
  // In the same minute, beside good ones.
  std::vector<std::string> known;
  for (int node = 0; node < 8; ++node) known.push_back(fmt::format("node{}", node));
  const auto plan = plan_confirmation(r.request.place, {}, known).value();
  EXPECT_EQ(plan.nodes.size(), 4u);
  EXPECT_EQ(plan.nodes[0], "node5");
  EXPECT_FALSE(plan_confirmation(r.request.place, {"node4"}, known));
  RecordRequest confirming = r.request;
  confirming.confirming = true;
  confirming.fingerprint = plan.fingerprint;
  const CheckDocument second = r.check(confirming);
  EXPECT_EQ(second.remembered->regressions[0].state, history::State::confirmed);
  EXPECT_EQ(exit_code(regressions(r.request.place, {}).value()), 2);
  const auto note = history_note(r.request.place, "node5", history::EventKind::repair, "new cable").value();
  EXPECT_EQ(note.concerned, 1);
  r.scene.fleet.sends.clear();
  EXPECT_TRUE(r.check().remembered->regressions.empty());
  EXPECT_EQ(exit_code(regressions(r.request.place, {}).value()), 0);
  EXPECT_EQ(regressions(r.request.place, {history::State::recovered}).value().regressions.size(), 1u);
}

// Each time the clock is set back by days. What counts is the order in which checks were recorded.
TEST(HistoryUse, AClockThatIsSetBackBetweenChecksLosesNothing) {
  Recorded r;
  r.settle();
  r.scene.fleet.sends[5] = 0.93;
  r.check();
  EXPECT_EQ(exit_code(regressions(r.request.place, {}).value()), 1);
  r.day -= 4;
  const CheckDocument second = r.check();
  ASSERT_EQ(second.remembered->regressions.size(), 1u);
  EXPECT_EQ(second.remembered->regressions[0].state, history::State::confirmed);
  r.scene.fleet.sends.clear();
  r.day -= 4;
  r.check();
  r.day -= 4;
  r.check();
  EXPECT_EQ(regressions(r.request.place, {history::State::recovered}).value().regressions.size(), 1u);
  EXPECT_EQ(exit_code(regressions(r.request.place, {}).value()), 0);
  const HistoryDocument node = history({r.request.place, "node5", 60 * day_us}).value();
  EXPECT_EQ(node.series[0].points.size(), 16u);
  EXPECT_TRUE(history_verify(r.request.place).value().wrong.empty());
}

TEST(HistoryUse, FindingsSaySinceWhen) {
  Recorded r;
  for (int i = 0; i < 4; ++i) r.check();
  r.scene.fleet.sends[5] = 0.5;
  r.check();
  const CheckDocument document = r.check();
  ASSERT_EQ(document.diagnosis.findings.size(), 1u);
  const auto& evidence = document.diagnosis.findings[0].evidence;
  const auto since = std::find_if(evidence.begin(), evidence.end(),
                                  [](const auto& s) { return s.kind == StatementKind::since_when; });
  ASSERT_NE(since, evidence.end());
  EXPECT_EQ(since->values[2].value, diagnosis::Quantity("good", 4.0).value);
  EXPECT_EQ(since->values[3].value, diagnosis::Quantity("low", 2.0).value);
}

TEST(HistoryUse, TellsOfANodeAndOfTheFleet) {
  Recorded r;
  r.settle();
  HistoryRequest asked{r.request.place, "node3", 60 * day_us};
  const HistoryDocument node = history(asked).value();
  ASSERT_EQ(node.series.size(), 2u);
  EXPECT_EQ(node.series[0].points.size(), 12u);
  EXPECT_TRUE(node.series[0].baseline);
  asked.node.reset();
  const HistoryDocument fleet = history(asked).value();
  EXPECT_EQ(fleet.sessions.size(), 12u);
  EXPECT_EQ(fleet.series[0].metric, history::Metric::busbw);
  asked.node = "node99";
  EXPECT_EQ(history(asked).error().cause, Cause::bad_input);
  asked.place.fleet = "another";
  EXPECT_THAT(history(asked).error().text(), HasSubstr("no fleet another"));
  EXPECT_TRUE(history_verify(r.request.place).value().wrong.empty());
}

TEST(HistoryUse, ComparesWhatChanged) {
  Recorded r;
  r.check();
  r.scene.fleet.sends[2] = 0.8;
  r.scene.fleet.rate = 99e6;
  r.check();
  const CompareDocument d = history_compare(r.request.place, "1", "last").value();
  ASSERT_FALSE(d.rates.empty());
  EXPECT_NEAR(d.level, 0.99, 0.002);
  EXPECT_NEAR(*d.rates[0].after / *d.rates[0].before, 0.8 * 0.99, 0.01);
  EXPECT_EQ(d.come.size(), 1u);
  EXPECT_TRUE(d.gone.empty());
  EXPECT_TRUE(d.same_fingerprint);
  EXPECT_FALSE(history_compare(r.request.place, "1", "7"));
}

TEST(HistoryUse, AFleetOrNodeThatIsNotThereIsNamed) {
  Recorded r;
  r.settle();
  HistoryPlace other = r.request.place;
  other.fleet = "nope";
  const auto wrong = [](const auto& result) { return result ? "none" : result.error().text(); };
  const auto fleet = HasSubstr("knows no fleet nope; it has lab");
  EXPECT_THAT(wrong(regressions(other, {})), fleet);
  EXPECT_THAT(wrong(baseline_list(other, false)), fleet);
  EXPECT_THAT(wrong(baseline_retire({other, {}, 20, std::nullopt, ""})), fleet);
  EXPECT_THAT(wrong(history_note(other, std::nullopt, history::EventKind::note, "x")), fleet);
  EXPECT_THAT(wrong(baseline_retire({r.request.place, {"nope"}, 20, std::nullopt, ""})),
              HasSubstr("knows no node nope"));
}

TEST(HistoryUse, NoWordOfTheFileMovesACursor) {
  Recorded r;
  r.check();
  ASSERT_TRUE(history_note(r.request.place, std::nullopt, history::EventKind::note, "a\x1b[31m\nb"));
  const auto text = history({r.request.place, std::nullopt, 30 * day_us}).value().events.back().text;
  EXPECT_EQ(text.find_first_of("\x1b\n"), text.npos) << text;
}

TEST(HistoryUse, ExportsReadings) {
  Recorded r;
  r.check();
  HistoryRequest asked{r.request.place, std::nullopt, 60 * day_us};
  std::string out;
  const auto write = [&](std::string_view text) { return out += text, true; };
  ASSERT_TRUE(history_export(asked, ExportFormat::openmetrics, write));
  EXPECT_THAT(out, HasSubstr("# TYPE ringtrue_side_rate_bytes_per_second gauge\n"));
  EXPECT_THAT(out, HasSubstr("{fleet=\"lab\",node=\"node5\",side=\"sender\"} "));
  EXPECT_TRUE(out.ends_with("# EOF\n"));
  out.clear();
  asked.node = "node5";
  ASSERT_TRUE(history_export(asked, ExportFormat::csv, write));
  EXPECT_THAT(out, HasSubstr(",sender,node5,,,rate_Bps,"));
  EXPECT_EQ(out.find("sender,node4"), out.npos);
}

// ---- documents as JSON

constexpr const char* document = R"({"schema": "ringtrue.check/1", "verdict": "faulty", "transport": "tcp",
  "started": "2026-11-18T14:02:07Z", "error": null, "nodes": [{"node": "a"}, {"node": "b"}, {"node": "c"}],
  "expected": {"rate_Bps": 59.8e6, "origin": "declared", "of_most_Bps": null}, "ring_busbw_Bps": 30e6,
  "rate_Bps": [[null, 30e6, 31e6], [60e6, null, 61e6], [59e6, 60e6, null]],
  "findings": [{"severity": "critical", "kind": "slow-sender", "ratio": 0.5, "confidence": 0.9,
                "scope": {"type": "sender", "node": "a", "peer": null, "device": null}}],
  "results": [{"algorithm": "ring"}], "cost": {"runs": 18, "seconds": 9.1, "bytes": 1000}})";

TEST(RecordOfJson, TakesWhatEarlierDocumentsHave) {
  const auto record = record_of_json(document, {"lab", "0.1.0"}, 5);
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_EQ(record->session.started_us, 1'795'010'527'000'000);
  EXPECT_EQ(record->session.fingerprint, "tcp ring auto 3-4 nodes 59800000 B/s");
  EXPECT_EQ(record->session.runs, 18);
  EXPECT_TRUE(record->session.accepted);
  ASSERT_GE(record->readings.size(), 6u);
  EXPECT_EQ(record->readings[0].subject.text(), "a's sending side");
  EXPECT_EQ(record->readings[0].value, 31e6);
  EXPECT_EQ(record->readings[0].n, 2);
  ASSERT_EQ(record->findings.size(), 1u);
  EXPECT_EQ(record->findings[0].subject.node, "a");
  EXPECT_EQ(record_of_json(document, {"lab", "0.1.0"}, 9)->session.uuid, record->session.uuid);
}

TEST(RecordOfJson, OfAGroupEachMemberIsAFinding) {
  std::string text = document;
  text.replace(text.find("\"scope\": {"), 0, R"("members": [{"node": "a", "ratio": 0.5, "confidence": 0.9},
      {"node": "b", "ratio": 0.55, "confidence": 0.8}, 7], )");
  const auto record = record_of_json(text, {"lab", "0.1.0"}, 5);
  ASSERT_TRUE(record) << record.error().text();
  ASSERT_EQ(record->findings.size(), 3u);
  EXPECT_EQ(record->findings[1].subject.text(), "b's sending side");
  EXPECT_EQ(record->findings[1].ratio, 0.55);
  EXPECT_EQ(record->findings[2].subject.node, "");
}

// Both ways to a record have the same rule: of a check that could not tell, sides are judged where nothing
// else explains what they read.
TEST(RecordOf, WhatCouldNotTellIsJudgedWhereNothingElseExplainsIt) {
  struct Case {
    const char* verdict;
    const char* more;  // of the JSON
    bool error, others, shared, judged;
  };
  constexpr Case cases[] = {
      {"healthy", "", false, false, false, false},
      {"unknown", "", false, false, false, true},
      {"unknown", R"(, "error": {"what": "x"})", true, false, false, false},
      {"unknown", R"(, "findings": [{"severity": "info", "kind": "others-traffic"}])", false, true, false,
       false},
      {"unknown", R"(, "not_checked": [{"kind": "shared-links"}])", false, false, true, false},
  };
  for (const Case& c : cases) {
    CheckDocument document;
    diagnosis::Diagnosis& d = document.diagnosis;
    d.verdict = *parse_key<diagnosis::Verdict>(c.verdict);
    if (c.error) document.error.emplace();
    if (c.others) d.findings.emplace_back().kind = diagnosis::FindingKind::others_traffic;
    if (c.shared) d.not_checked.push_back({StatementKind::shared_links, {}, {}});
    EXPECT_EQ(record_of(document, {"lab", "1"}).judged, c.judged) << c.verdict << c.more;
    const std::string text =
        std::string(R"({"schema": "ringtrue.check/1", "verdict": ")") + c.verdict + "\"" + c.more + "}";
    EXPECT_EQ(record_of_json(text, {"lab", "1"}, 0).value().judged, c.judged) << text;
  }
}

TEST(RecordOfJson, RefusesWhatIsNoCheckAndSurvivesOddOnes) {
  for (const char* const text :
       {"", "{", "[1]", "{\"schema\": \"ringtrue.run/1\"}", "{\"schema\": \"ringtrue.check/1\"}",
        R"({"schema": "ringtrue.check/1", "verdict": "fine"})"})
    EXPECT_FALSE(record_of_json(text, {"lab", "1"}, 0)) << text;
  for (
      const char* const text :
      {R"({"schema": "ringtrue.check/1", "verdict": "healthy"})",
       R"({"schema": "ringtrue.check/1", "verdict": "healthy", "nodes": 7, "rate_Bps": "x", "findings": {}, "cost": []})",
       R"({"schema": "ringtrue.check/1", "verdict": "healthy", "nodes": [1, null, "a"], "rate_Bps": [[], 3],
            "sides": [5], "findings": [1, {"severity": 3}], "cost": {"runs": -1e300, "seconds": 1e300, "bytes": 1e300}})"})
    EXPECT_TRUE(record_of_json(text, {"lab", "1"}, 0)) << text;
}

TEST(HistoryUse, ImportsDocumentsOnce) {
  Recorded r;
  std::ofstream(r.folder + "/a.json") << document;
  std::ofstream(r.folder + "/b.json") << "{}";
  const std::vector<std::string> files = {r.folder + "/a.json", r.folder + "/b.json", r.folder + "/none"};
  const ImportDocument first = history_import(r.request.place, files, "1").value();
  EXPECT_EQ(first.rows[0].session, 1);
  EXPECT_FALSE(first.rows[1].detail.empty());
  EXPECT_FALSE(first.rows[2].detail.empty());
  EXPECT_TRUE(history_import(r.request.place, files, "1").value().rows[0].known);
  EXPECT_THAT(history_show(r.request.place, "1").value().document, HasSubstr("slow-sender"));
}

TEST(HistoryUse, ImportsNoCheckThatWasRecorded) {
  Recorded r;
  CheckDocument check;
  check.started_us = 1'790'000'000'123'456;
  check.diagnosis.nodes = {"a", "b"};
  check.diagnosis.sides.resize(2);
  check.diagnosis.verdict = diagnosis::Verdict::healthy;
  check.diagnosis.cost.seconds = Seconds(2.3456789012);
  const std::string json = R"({"schema": "ringtrue.check/1", "verdict": "healthy", "nodes": ["a", "b"],
      "started": "2026-09-21T14:13:20Z", "cost": {"seconds": 2.3456789012}})";
  const RecordRequest live{.place = r.request.place, .version = "1"};
  ASSERT_TRUE(record(live, check, json));
  std::ofstream(r.folder + "/a.json") << json;
  const ImportDocument imported = history_import(r.request.place, {r.folder + "/a.json"}, "1").value();
  EXPECT_TRUE(imported.rows[0].known) << imported.rows[0].detail;

  // An older one comes out of turn: no clock went back, and what is open stays as it is.
  std::string older = json;
  older.replace(older.find("2026-"), 5, "2025-");
  std::ofstream(r.folder + "/b.json") << older;
  EXPECT_EQ(history_import(r.request.place, {r.folder + "/b.json"}, "1").value().rows[0].session, 2);
  EXPECT_FALSE(history_show(r.request.place, "2").value().session.clock_went_back);
}

TEST(HistoryUse, TheLastOfAFleetIsItsOwn) {
  Recorded r;
  std::ofstream(r.folder + "/a.json") << document;
  ASSERT_TRUE(history_import(r.request.place, {r.folder + "/a.json"}, "1"));
  HistoryPlace other = r.request.place;
  EXPECT_TRUE(history_show(other, "last"));
  other.fleet = "other";
  EXPECT_FALSE(history_show(other, "last"));
  EXPECT_TRUE(history_show(other, "1")) << "a number is one of any fleet";
}

TEST(HistoryPlaces, ComeFromFlagsTheConfigurationAndTheHome) {
  config::Config config;
  config.history.value = "/somewhere/h.db";
  EXPECT_EQ(history_place(config, std::nullopt, std::nullopt)->file, "/somewhere/h.db");
  EXPECT_EQ(history_place(config, "/else/h.db", "x")->file, "/else/h.db");
  EXPECT_EQ(history_place(config, "/else/h.db", "x")->fleet, "x");
  config.history.value = "none";
  EXPECT_FALSE(history_place(config, std::nullopt, std::nullopt));
  EXPECT_FALSE(history_place_needed(config, std::nullopt, std::nullopt));
}

}  // namespace
}  // namespace ringtrue::ops
