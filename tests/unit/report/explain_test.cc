#include "report/json/json.h"
#include "report/text/text.h"
// What is said of a simulated omnireduce: its rounds, and the grid.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "paths.h"
#include "report/style.h"
#include "schema.h"

namespace ringtrue::report {
namespace {

std::string faults_of(const std::string& name, const nlohmann::json& value) {
  std::ifstream file(RINGTRUE_SOURCE_DIR "/packaging/schema/" + name + ".json");
  std::vector<std::string> errors;
  check_schema(nlohmann::json::parse(file), value, "", errors);
  std::string out;
  for (const std::string& e : errors) out += e + "\n";
  return out;
}

std::string written(const ops::ExplainDocument& document, bool json) {
  std::string out;
  const Write write = [&](std::string_view text) {
    out += text;
    return true;
  };
  json ? write_json(document, write) : write_text(document, {}, write);
  return out;
}

// Two workers, one stream of two columns: blocks 4, 3 of worker 0 and 6 of worker 1.
ops::ExplainDocument document() {
  ops::ExplainDocument d;
  d.omni = {2, 1, 1, 1, 2, false};
  d.blocks = 7;
  d.bitmaps = {{0, 0, 0, 1, 1, 0, 0}, {0, 0, 0, 0, 0, 0, 1}};
  using Kind = ops::ExplainStep::Kind;
  d.steps = {
      {0, 1, 0, 2, Kind::send, {{4, std::nullopt}, {3, std::nullopt}}},
      {0, 1, 1, 2, Kind::silent},
      {0, 1, 2, 2, Kind::multicast, {{4, 6, false, {0}, {std::nullopt, 6}}, {3, {}, false, {0}, {{}, {}}}}}};
  d.counts.worker_packets = {1, 0};
  d.counts.worker_blocks = {2, 0};
  d.counts.multicasts = 1;
  return d;
}

TEST(Explain, TellsARound) {
  const std::string text = written(document(), false);
  for (const char* line :
       {"  worker 0    .. .# #. .\n", "stream 0: columns 0 to 1, aggregator 0 (rank 2)\n",
        "    worker 0 -> rank 2: block 4, its next is none; block 3, its next is none\n",
        "    worker 1 stays silent", "    sum of block 4 = worker 0; min(next) of [none, 6] = 6\n",
        "    rank 2 => all workers: block 4, requests 6; block 3, column done\n",
        "worker 0: 1 packet, 2 blocks\n", "results: 1 multicast, as 2 packets\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
  ops::ExplainDocument acked = document();
  acked.steps[1].kind = ops::ExplainStep::Kind::answer;
  EXPECT_NE(written(acked, false).find("worker 1 sends an empty answer"), std::string::npos);
}

TEST(Explain, FitsTheScheduleSchema) {
  const auto value = nlohmann::json::parse(written(document(), true));
  EXPECT_EQ(faults_of("schedule", value), "");
  ASSERT_EQ(value["steps"].size(), 3u);
  EXPECT_EQ(value["steps"][0]["kind"], "send");
  EXPECT_EQ(value["steps"][0]["range"]["offset"], 12);
  EXPECT_EQ(value["steps"][0]["range"]["length"], 8);
  EXPECT_EQ(value["steps"][1]["kind"], "silent");
  EXPECT_EQ(value["steps"][2]["kind"], "multicast");
  EXPECT_TRUE(value["steps"][2]["peer"].is_null());
  EXPECT_EQ(value["steps"][2]["next"], nlohmann::json::parse("[6, null]"));
  ops::ExplainDocument brief = document();
  brief.steps_omitted = true;
  const auto omitted = nlohmann::json::parse(written(brief, true));
  EXPECT_EQ(faults_of("schedule", omitted), "");
  EXPECT_FALSE(omitted.contains("steps"));
  EXPECT_EQ(written(brief, false).find("round"), std::string::npos);
}

TEST(Grid, FitsItsSchemaAndMarksWhereTheModelDoesNotApply) {
  ops::GridDocument d;
  d.bytes = 1000;
  d.placement = "dedicated";
  d.overlap = collective::Overlap::same;
  d.min_round_trips = 100;
  ops::GridCell cell;
  cell.workers = cell.aggregators = 8;
  cell.rate_Bps = 1.25e9;
  cell.density = cell.density_union = 0.05;
  cell.model_s = 4e-3;
  cell.even = {4.1e-3, 0.025};
  cell.drawn = {4.4e-3, 0.1};
  cell.ring_s = 0.14;
  cell.speedup = 34.1;
  d.cells = {cell, cell};
  d.cells[1].applies = false;
  d.worst = 0.025;
  const auto value = nlohmann::json::parse(json(d));
  EXPECT_EQ(faults_of("grid", value), "");
  EXPECT_TRUE(value["cells"][0]["model_speedup"].is_null());
  const std::string shown = text(d, {});
  EXPECT_NE(shown.find("4.10 ms  +2.5"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\n   5 %   "), std::string::npos) << shown;
  EXPECT_NE(shown.find("\n   5 %*  "), std::string::npos) << shown;
  EXPECT_NE(shown.find("34.10x        -\n"), std::string::npos) << shown;
}

TEST(Grid, IsAsWideAsATerminalAtMost) {
  ops::GridDocument d;
  d.placement = "dedicated";
  d.overlap = collective::Overlap::same;
  ops::GridCell cell;
  cell.workers = cell.aggregators = 8;
  cell.rate_Bps = 1.25e10;
  cell.density = 1;
  cell.model_s = cell.on_wire_s = 85e-6;
  cell.even = cell.drawn = {117e-6, 1.059};
  cell.on_wire_deviation = -0.9;
  cell.ring_s = 0.14;
  cell.speedup = cell.model_speedup = 165.53;
  d.cells = {cell};
  std::istringstream shown(text(d, {false, usual_width}));
  for (std::string line; std::getline(shown, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace ringtrue::report
