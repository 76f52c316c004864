#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "paths.h"
#include "report/json/json.h"
#include "report/text/chart.h"
#include "report/text/text.h"
#include "schema.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;

constexpr std::int64_t start_us = 1'795'010'527'000'000, day_us = 86'400'000'000;

void fits(const std::string& name, const std::string& text) {
  std::ifstream in(RINGTRUE_SOURCE_DIR "/packaging/schema/" + name + ".json");
  std::vector<std::string> errors;
  check_schema(nlohmann::json::parse(in), nlohmann::json::parse(text), "", errors);
  EXPECT_THAT(errors, testing::IsEmpty()) << name;
}

ops::HistoryDocument node_document() {
  ops::HistoryDocument d;
  d.place = {"/var/lib/ringtrue/history.db", "lab"};
  d.node = "node5";
  d.since_us = start_us;
  d.now_us = start_us + 30 * day_us;
  ops::HistorySeries series;
  series.subject = {history::SubjectType::sender, "node5", "", ""};
  for (int i = 0; i < 30; ++i)
    series.points.push_back({i, start_us + i * day_us, i < 27 ? 59.8e6 : 55e6, 7, 1.0, true});
  history::Baseline b;
  b.subject = series.subject;
  b.median = 60e6;
  b.mad = 0.3e6;
  b.n = 20;
  b.set_us = start_us;
  b.set_by = "anna";
  series.baseline = b;
  series.since = history::Since{59.8e6, start_us + 26 * day_us, start_us + 27 * day_us, 27, 3, 1};
  series.days.push_back({20000, 3, 1, 2, 3});
  d.series.push_back(series);
  history::Regression r;
  r.subject = series.subject;
  r.state = history::State::confirmed;
  r.first_us = start_us + 27 * day_us;
  r.ratio = 0.92;
  r.low = 3;
  d.regressions.push_back(r);
  d.events.push_back({1, "lab", history::SubjectKey{history::SubjectType::node, "node5", "", ""}, start_us,
                      history::EventKind::repair, "anna", "new cable"});
  history::Session s;
  s.id = 7;
  s.verdict = "healthy";
  s.started_us = start_us;
  d.sessions.push_back(s);
  return d;
}

TEST(History, FitsEightyColumnsAndItsSchema) {
  const ops::HistoryDocument d = node_document();
  const std::string out = text(d, Style{false, 80});
  EXPECT_THAT(out, HasSubstr("59.8 MB/s until 2026-12-14 14:02 UTC, 27 checks; since then 3 checks low"));
  EXPECT_THAT(out, HasSubstr("confirmed: node5's sending side, 8.0 % below its baseline"));
  EXPECT_THAT(out, HasSubstr("!"));
  EXPECT_THAT(out, HasSubstr("..o"));
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = out.find('\n', at);
    EXPECT_LE(end - at, 80u) << out.substr(at, end - at);
    at = end + 1;
  }
  fits("history", json(d));
  const std::string drawing = svg(d);
  EXPECT_TRUE(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
  EXPECT_THAT(drawing, HasSubstr("fill=\"#cc0000\""));
}

TEST(History, TheOthersFitTheirSchemas) {
  const ops::HistoryDocument node = node_document();
  ops::SessionDocument session;
  session.session = node.sessions[0];
  session.readings.push_back({node.series[0].subject, history::Metric::rate, std::nullopt, 0});
  session.findings.push_back({node.series[0].subject, "critical", "slow-sender", 0.5, 0.9});
  session.facts.push_back({"node5", "mlx5_0", "firmware", "20.35"});
  fits("history-session", json(session));
  session.document = "{\"a\": 1}";
  fits("history-session", json(session));
  EXPECT_THAT(text(session, {}), HasSubstr("slow-sender of node5's sending side"));
  ops::CompareDocument compare;
  compare.before = compare.after = session.session;
  compare.rates.push_back({node.series[0].subject, history::Metric::rate, 60e6, 54e6});
  compare.facts.push_back({session.facts[0], "20.34"});
  compare.come = session.findings;
  fits("history-compare", json(compare));
  EXPECT_THAT(text(compare, {}), HasSubstr("node5 mlx5_0 firmware: 20.34 -> 20.35"));
  EXPECT_THAT(text(compare, {}), HasSubstr("-10.0 %"));
  ops::ImportDocument import;
  import.rows.push_back({"a.json", 3, "", false});
  import.rows.push_back({"b.json", std::nullopt, "it is not JSON", false});
  fits("history-import", json(import));
  EXPECT_THAT(text(import, {}), HasSubstr("1 of 2 files imported"));
  ops::PruneDocument prune;
  prune.pruned.documents_for_size = 2;
  fits("history-prune", json(prune));
  EXPECT_THAT(text(prune, {}), HasSubstr("because of its size"));
  ops::VerifyDocument verify;
  verify.wrong.push_back("row 3 missing from index");
  fits("history-verify", json(verify));
  EXPECT_THAT(text(verify, {}), HasSubstr("damaged"));
  ops::NoteDocument note;
  note.event = node.events[0];
  note.concerned = 1;
  fits("history-note", json(note));
  EXPECT_THAT(text(note, {}), HasSubstr("1 regression recovered"));
  ops::BaselineDocument baselines;
  baselines.baselines.push_back(*node.series[0].baseline);
  baselines.set.push_back({node.series[0].subject, *node.series[0].baseline, {}, 58e6});
  baselines.set.push_back({node.series[0].subject, std::nullopt, {12, 0.05}, std::nullopt});
  fits("baseline", json(baselines));
  EXPECT_THAT(text(baselines, {}), HasSubstr("refused: more than 3 %"));
  ops::RegressionsDocument regressions;
  regressions.regressions = node.regressions;
  fits("regressions", json(regressions));
  fits("regressions", json(ops::Trouble{{Cause::bad_input, "x", "", ""}, {}}, "regressions"));
}

TEST(History, OfACheckIsToldBesideItsFindings) {
  ops::CheckDocument check;
  check.started_us = start_us;
  check.remembered = ops::Remembered{{"h.db", "lab"}, 16, 0.93, node_document().regressions, {}, {}};
  check.remembered->regressions[0].state = history::State::suspected;
  check.diagnosis.nodes = {"node5"};
  check.diagnosis.sides = {{BytesPerSecond(1e6), std::nullopt, 3, 0}};
  fits("check", json(check));
  const std::string out = text(check, {});
  EXPECT_THAT(out, HasSubstr("regression suspected: node5's sending side"));
  EXPECT_THAT(out, HasSubstr("check --confirm"));
  EXPECT_THAT(out, HasSubstr("93.0 % of its baselines"));
}

TEST(Chart, OfFewPointsAndOfNone) {
  EXPECT_EQ(chart_text({}, 80, {}), "");
  Chart one;
  one.points.push_back({0.5, 0});
  EXPECT_THAT(chart_text(one, 20, {}), HasSubstr("o"));
  EXPECT_THAT(chart_svg({{"a < b & \"c\"", one}}), HasSubstr("a &lt; b &amp; &quot;c&quot;"));
}

}  // namespace
}  // namespace ringtrue::report
