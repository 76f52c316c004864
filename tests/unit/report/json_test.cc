#include "report/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <set>

#include "hop.h"
#include "paths.h"
#include "run/fields.h"
#include "schema.h"

namespace ringtrue::report {
namespace {

nlohmann::json schema_of(const std::string& name) {
  std::ifstream file(RINGTRUE_SOURCE_DIR "/packaging/schema/" + name + ".json");
  EXPECT_TRUE(file.good()) << name;
  return nlohmann::json::parse(file);
}

std::string faults_of(const std::string& name, const nlohmann::json& value) {
  std::vector<std::string> errors;
  check_schema(schema_of(name), value, "", errors);
  std::string out;
  for (const std::string& e : errors) out += e + "\n";
  return out;
}

nlohmann::json valid(const std::string& name, const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  EXPECT_EQ(faults_of(name, value), "") << text;
  EXPECT_EQ(value["schema"], "ringtrue." + name + "/1");
  return value;
}

// A record's schema has each field of the record's table, and `besides`.
template <class T>
void expect_table(const nlohmann::json& schema, const char* at, std::set<std::string> besides = {},
                  const std::string& without = "") {
  fields([&](const char* key, const About&, const auto&) { besides.insert(key); },
         std::as_const(*std::make_unique<T>()));
  besides.erase(without);
  std::set<std::string> properties;
  for (const auto& [key, value] : schema[nlohmann::json::json_pointer(at)]["properties"].items())
    properties.insert(key);
  EXPECT_EQ(properties, besides) << at;
}

TEST(Schema, HasTheFieldsOfTheRecord) {
  const nlohmann::json schema = schema_of("run");
  expect_table<run::GpuUse>(schema, "/properties/gpus/items");
  expect_table<run::RdmaUse>(schema, "/properties/rdma/items");
  expect_table<run::Event>(schema, "/properties/events/items");
  expect_table<run::RdmaHop>(schema, "/properties/hops/items/properties/rdma", {}, "busy_s");
  expect_table<run::RdmaRail>(schema, "/properties/hops/items/properties/rdma/properties/rails/items",
                              {"rate_Bps"});
  expect_table<run::CounterChange>(schema, "/properties/counters/items/properties/changes/items",
                                   {"class", "delta"});
}

ops::RunDocument run_document() {
  ops::RunDocument d;
  d.nodes = {"node0", "node1"};
  using collective::AlgorithmId;
  d.choices = {{1024,
                {&collective::algorithm_of(AlgorithmId::ring),
                 "ring: because",
                 {{AlgorithmId::ring, Seconds(1e-3)}, {AlgorithmId::naive, Seconds(2e-3)}}}}};
  ops::RunResult r;
  r.algorithm = collective::AlgorithmId::ring;
  r.transports = {run::Transport::tcp};
  r.congestion = "cubic";
  r.ranks = 2;
  r.bytes = 1024;
  r.count = 256;
  r.type = "float32";
  r.op = "sum";
  r.iterations = 5;
  r.time_s = ops::Spread{1e-3, 2e-3, 3e-3};
  r.algbw_Bps = 512e3;
  r.busbw_Bps = 512e3;
  r.cpu_s = 1e-4;
  r.wrong = 0;
  r.wrong_by_rank = {0, 0};
  d.results = {r};
  d.hops = {hop(0, 1, 1000, 1e-3), hop(1, 0)};
  d.hops[0].tcp.emplace().retransmits = 3;
  d.rank_nodes = {"node0", "node1"};
  d.events = {run::Event{0, 1, 0, 0, 512, 10, 20, 30}};
  d.counters["node1"] = {1.5, {{"mlx5_0/1", "symbol_error", 5, 417, false, false}}};
  return d;
}

TEST(Json, RunFitsItsSchema) {
  const auto value = valid("run", json(run_document()));
  EXPECT_TRUE(value["results"][0]["ideal_busbw_Bps"].is_null());
  EXPECT_DOUBLE_EQ(value["results"][0]["time_s"]["median"], 2e-3);
  EXPECT_EQ(value["hops"][0]["rate_Bps"], 1e6);
  EXPECT_EQ(value["hops"][0]["retransmits"], 3);
  EXPECT_EQ(value["hops"][0]["destination_node"], "node1");
  EXPECT_EQ(value["hops"][1]["rate_Bps"], nullptr);
  EXPECT_FALSE(value["hops"][0].contains("source_role"));
  EXPECT_EQ(value["error"], nullptr);
  EXPECT_EQ(value["choice"][0]["predicted_s"]["naive"], 2e-3);
  const auto& counters = value["counters"];
  EXPECT_EQ(counters[0]["node"], "node1");
  EXPECT_EQ(counters[0]["seconds"], 1.5);
  EXPECT_EQ(counters[0]["changes"][0]["delta"], 412);
  EXPECT_EQ(counters[0]["changes"][0]["class"], "error");
  EXPECT_TRUE(value["results"][0]["above_ideal"].is_null());
}

TEST(Json, AResultAboveItsIdealSaysWhy) {
  ops::RunDocument d = run_document();
  d.results[0].ideal_origin = "declared";
  d.results[0].above = ideal::AboveIdeal{"one of 8 rails", true};
  const auto value = valid("run", json(d));
  EXPECT_EQ(value["results"][0]["above_ideal"]["likely"], "one of 8 rails");
  EXPECT_EQ(value["results"][0]["above_ideal"]["wrong_model"], true);
  EXPECT_EQ(value["results"][0]["ideal_origin"], "declared");
}

TEST(Json, IdealSaysWhereEveryNumberComesFrom) {
  ops::IdealDocument d;
  d.inputs.nodes = 2;
  d.inputs.gpus_per_node = 8;
  d.inputs.inter = {BytesPerSecond(100e9), ideal::Origin::declared, {}};
  d.inputs.intra = {BytesPerSecond(450e9), ideal::Origin::probed, "18 NVLinks x 25 GB/s = 450 GB/s (nvml)"};
  d.ideal = *ideal::compute(d.inputs);
  d.facts.emplace();
  ideal::NodeFacts node;
  node.node = "node0";
  node.gpus = 8;
  node.rails = {{"mlx5_0", 1, BytesPerSecond(50e9), std::nullopt, BytesPerSecond(50e9), "port"}};
  d.facts->nodes = {node};
  d.facts->notes = {"mlx5_7 is down and no rail"};
  const auto value = valid("ideal", json(d));
  EXPECT_EQ(value["bound_busbw_Bps"], 187.5e9);
  EXPECT_EQ(value["inputs"]["intra_Bps"]["origin"], "probed");
  EXPECT_EQ(value["inputs"]["intra_Bps"]["source"], "18 NVLinks x 25 GB/s = 450 GB/s (nvml)");
  EXPECT_EQ(value["inputs"]["inter_Bps"]["origin"], "declared");
  EXPECT_EQ(value["nodes"][0]["rails"][0]["rate_Bps"], 50e9);
  EXPECT_TRUE(value["nodes"][0]["rails"][0]["pcie_Bps"].is_null());
  EXPECT_EQ(value["notes"][0], "mlx5_7 is down and no rail");
  EXPECT_NE(value["algorithm_arithmetic"]["ring"].get<std::string>().find("100 GB/s"), std::string::npos);
}

ops::RunDocument omni_document() {
  ops::RunDocument d = run_document();
  ops::RunResult& r = d.results[0];
  r.algorithm = collective::AlgorithmId::omnireduce;
  ops::OmniResult o;
  o.shape.workers = 2;
  o.shape.aggregators = 1;
  o.placement = "dedicated";
  o.shape.block = 64;
  o.shape.streams = 2;
  o.shape.fusion = 2;
  o.density = 0.25;
  o.density_union = 0.5;
  o.bytes_sent = 512;
  o.bytes_dense = 2048;
  o.counts.worker_packets = {3, 4};
  o.counts.worker_blocks = {5, 6};
  o.counts.multicasts = 4;
  o.model = ops::OmniModel{1e-3, 4.0, 1e-3, 2e-3};
  o.ring = ops::OmniRing{{run::Transport::tcp}, 6e-3, 170e3, 3.0, 0};
  o.share = 0.75;
  o.receive = {{2, "node9", 512, 1e6}};
  r.omni = o;
  d.notes = {"blocks of 64 elements"};
  d.hops[0].destination = o.shape.workers;
  return d;
}

TEST(Json, OmnireduceFitsItsSchema) {
  const auto value = valid("run", json(omni_document()));
  for (const auto& at : {value, value["results"][0]}) {
    EXPECT_EQ(at["worker_packets"], (nlohmann::json{3, 4}));
    EXPECT_EQ(at["worker_blocks"], (nlohmann::json{5, 6}));
    EXPECT_EQ(at["multicasts"], 4);
    EXPECT_EQ(at["aggregator_packets"], 8);
    EXPECT_FALSE(at.contains("streams"));
  }
  const auto& omni = value["results"][0]["omnireduce"];
  EXPECT_EQ(omni["streams"], 2);
  EXPECT_DOUBLE_EQ(omni["model"]["speedup"], 4.0);
  EXPECT_DOUBLE_EQ(omni["ring"]["speedup"], 3.0);
  EXPECT_DOUBLE_EQ(omni["share"], 0.75);
  EXPECT_EQ(omni["receive"][0]["node"], "node9");
  EXPECT_EQ(value["notes"][0], "blocks of 64 elements");
  EXPECT_EQ(value["hops"][0]["source_role"], "worker");
  EXPECT_EQ(value["hops"][0]["destination_role"], "aggregator");
  EXPECT_EQ(value["hops"][1]["source_role"], "worker");
}

TEST(Json, OmnireduceKnowsNoModelWithoutARate) {
  ops::RunDocument d = omni_document();
  d.results[0].omni->model.reset();
  d.results[0].omni->ring.reset();
  d.results[0].omni->share.reset();
  const auto value = valid("run", json(d));
  for (const char* key : {"model", "ring", "share"})
    EXPECT_TRUE(value["results"][0]["omnireduce"][key].is_null()) << key;
}

TEST(Json, SimulatedOmnireduceShowsItsOrder) {
  ops::RunDocument d = omni_document();
  d.simulated = true;
  d.results[0].omni->order = {{2, {0, 1, 4}}, {1, {2}}};
  const auto value = valid("simulate", json(d));
  EXPECT_EQ(value["streams"][0]["rounds"], 2);
  EXPECT_EQ(value["results"][0]["streams"][0]["order"], (nlohmann::json{0, 1, 4}));
}

TEST(Json, UnknownIsNullAndNeverZero) {
  ops::RunDocument d;
  d.results.emplace_back();
  d.results[0].type = "int32";
  d.results[0].op = "avg";
  d.results[0].ratio = std::nan("");
  const auto value = valid("run", json(d));
  for (const char* key : {"time_s", "algbw_Bps", "busbw_Bps", "ratio", "cpu_s", "wrong"}) {
    EXPECT_TRUE(value["results"][0][key].is_null()) << key;
  }
}

TEST(Json, SimulateFitsItsSchema) {
  ops::RunDocument d = run_document();
  d.simulated = true;
  d.results[0].messages = 12;
  d.results[0].bytes_sent = 4096;
  const auto value = valid("simulate", json(d));
  EXPECT_EQ(value["messages"], 12);
  EXPECT_EQ(value["results"][0]["bytes_sent"], 4096);
}

TEST(Json, FailuresNameNodeAndPhase) {
  ops::RunDocument d;
  d.error = ops::Trouble{{Cause::deadline, "no answer within 10 s", {"node3", Phase::connect}, "look at it"},
                         {{"node3", Phase::connect, {Cause::deadline, "no answer", "", ""}, true},
                          {"node4", Phase::connect, {Cause::cancelled, "waited", "", ""}, false}}};
  const auto value = valid("run", json(d));
  EXPECT_EQ(value["error"]["cause"], "deadline");
  EXPECT_EQ(value["error"]["where"], "node3 connect");
  EXPECT_EQ(value["error"]["node"], "node3");
  EXPECT_EQ(value["error"]["phase"], "connect");
  EXPECT_EQ(value["error"]["rank"], nullptr);
  EXPECT_EQ(value["error"]["failures"][0]["node"], "node3");
  EXPECT_EQ(value["error"]["failures"][1]["culprit"], false);
  for (const char* command :
       {"run", "check", "sweep", "nodes", "events", "simulate", "schedule", "ideal", "config", "pki"}) {
    valid(command, json(*d.error, command));
  }
}

TEST(Json, EventsOfDevices) {
  ops::EventsDocument d;
  d.seconds = 3600;
  d.nodes = {"node4", "node5"};
  d.events = {{"node5", {1764072000, 1764073800, "mlx5_0/1", "link_downed", 3}}};
  d.notes = {"node4 has watched for 5 minutes only"};
  d.error = ops::Trouble{{Cause::deadline, "no answer within 10 s", "node6", ""}, {}};
  const auto value = valid("events", json(d));
  EXPECT_EQ(value["events"][0]["node"], "node5");
  EXPECT_EQ(value["events"][0]["device"], "mlx5_0/1");
  EXPECT_EQ(value["events"][0]["counter"], "link_downed");
  EXPECT_EQ(value["events"][0]["count"], 3);
  EXPECT_EQ(value["events"][0]["last_s"], 1764073800);
  EXPECT_EQ(value["error"]["cause"], "deadline");
  ops::CheckDocument check;
  check.diagnosis.nodes = {"node4", "node5"};
  EXPECT_TRUE(valid("check", json(check))["events"].empty());
  check.events = d.events;
  EXPECT_EQ(valid("check", json(check))["events"][0]["count"], 3);
}

ops::CheckDocument check_document() {
  ops::CheckDocument d;
  diagnosis::Diagnosis& g = d.diagnosis;
  g.verdict = diagnosis::Verdict::faulty;
  g.nodes = {"node0", "node1"};
  diagnosis::Finding f;
  f.severity = diagnosis::Severity::critical;
  f.kind = diagnosis::FindingKind::slow_sender;
  f.scope.type = diagnosis::ScopeType::sender;
  f.scope.node = 1;
  f.scope.subject.node = "node1";
  f.measured = BytesPerSecond(30e6);
  f.expected = BytesPerSecond(60e6);
  f.ratio = 0.5;
  f.confidence = 0.99;
  f.evidence = {"it was slow twice"};
  f.impact = "fixing it: 30 MB/s -> 60 MB/s";
  f.next = "look at its port";
  g.findings = {f};
  g.not_checked = {{diagnosis::StatementKind::unread_node, {"node1"}, {}, "no daemon"}};
  g.expected = {BytesPerSecond(60e6), ideal::Origin::declared, "500 Mbit"};
  g.rates = {{std::nullopt, BytesPerSecond(60e6)}, {BytesPerSecond(30e6), std::nullopt}};
  diagnosis::RunRecord record;
  record.stage = diagnosis::Stage::pairs;
  record.experiment.algorithm = collective::AlgorithmId::pairwise;
  record.experiment.order = {0, 1};
  record.experiment.bytes = Bytes(1 << 20);
  record.time = Seconds(0.1);
  g.runs = {record};
  g.coverage = {2, 2};
  g.cost = {1, Seconds(0.5), Bytes(1 << 21)};
  d.transport = "tcp";
  d.deadlines = ops::Deadlines{10, 60};
  return d;
}

TEST(Json, CheckFitsItsSchema) {
  const auto value = valid("check", json(check_document()));
  EXPECT_EQ(value["verdict"], "faulty");
  EXPECT_EQ(value["findings"][0]["scope"]["type"], "sender");
  EXPECT_EQ(value["findings"][0]["scope"]["node"], "node1");
  EXPECT_EQ(value["findings"][0]["scope"]["peer"], nullptr);
  EXPECT_DOUBLE_EQ(value["findings"][0]["measured_Bps"], 30e6);
  EXPECT_EQ(value["rate_Bps"][0][0], nullptr);
  EXPECT_EQ(value["results"][0]["order"][1], "node1");
  EXPECT_EQ(value["deadlines"]["run_s"], 60);
  valid("check", json(ops::CheckDocument{}));
}

TEST(Json, TheOthersFitTheirSchemas) {
  ops::SweepDocument sweep;
  sweep.nodes = {"a", "b"};
  sweep.rate_Bps = {{std::nullopt, 1e6}, {2e6, std::nullopt}};
  sweep.latency_s = {{std::nullopt, 1e-6}, {std::nullopt, std::nullopt}};
  EXPECT_EQ(valid("sweep", json(sweep))["rate_Bps"][0][0], nullptr);
  const ops::SweepEnd a{"a", run::RdmaPort{"rxe0", 1}}, b{"b", run::RdmaPort{"rxe1", 1}};
  sweep.ports = {a, b};
  sweep.port_pairs = 2;
  sweep.notes = {"a note"};
  sweep.pairs = {{a, b, 1e6, 2e-6, 0.5, {}}, {a, a, {}, {}, {}, {}, "rxe0:1 is down"}};
  sweep.pairs[0].counters["a"] = {1.5, {{"rxe0/1", "rcvd_seq_err", 1, 8, false, false}}};
  const auto swept = valid("sweep", json(sweep));
  EXPECT_EQ(swept["pairs"][0]["source"]["port"], "rxe0:1");
  EXPECT_EQ(swept["pairs"][0]["counters"][0]["changes"][0]["delta"], 7);
  EXPECT_EQ(swept["pairs"][0]["error"], nullptr);
  EXPECT_EQ(swept["pairs"][1]["latency_s"], nullptr);
  EXPECT_EQ(swept["pairs"][1]["error"], "rxe0:1 is down");
  EXPECT_EQ(swept["coverage"]["port_pairs_measured"], 1);

  ops::IdealDocument ideal;
  ideal.inputs.nodes = 2;
  ideal.inputs.gpus_per_node = 8;
  ideal.inputs.inter = ideal::Rate{BytesPerSecond(100e9), ideal::Origin::declared};
  ideal.inputs.intra = ideal::Rate{BytesPerSecond(450e9), ideal::Origin::declared};
  ideal.ideal = ideal::compute(ideal.inputs).value();
  const auto value = valid("ideal", json(ideal));
  EXPECT_NEAR(value["bound_busbw_Bps"].get<double>(), 187.5e9, 1e3);
  EXPECT_EQ(value["inputs"]["nodes"]["origin"], "declared");

  valid("nodes",
        json(ops::NodesDocument{{{"a", true, "0.1.0", "", ""}, {"b", false, "", "", "no route"}}, {}}));
  valid("config", json(ops::ConfigDocument{{{"hosts", "", "built in"}, {"pki", "/p", "--pki"}}}));
  valid("pki", json(ops::PkiDocument{{{"node0", "/p/node0", "2028-01-01"}}}));
}

TEST(Json, ScheduleIsWrittenInPieces) {
  ops::ScheduleDocument d;
  d.algorithm = collective::AlgorithmId::double_tree;
  d.ranks = 2;
  d.trees = {{{-1, {1}}, {0, {}}}, {{1, {}}, {-1, {0}}}};
  d.each_step = [](const collective::Recorder::Sink& visit) {
    visit({0, 0, collective::Step::Kind::send, 1, 0, {collective::Space::data, 0, 512}, {}});
    visit({1, 0, collective::Step::Kind::reduce_last, 0, 0, {collective::Space::scratch, 512, 512}, {}});
  };
  std::string text;
  const Write write = [&](std::string_view piece) { return text += piece, true; };
  write_json(d, write);
  const auto value = valid("schedule", text);
  EXPECT_EQ(value["trees"][0][0]["parent"], nullptr);
  EXPECT_EQ(value["trees"][1][1]["children"][0], 0);
  EXPECT_EQ(value["steps"][1]["range"]["space"], "scratch");

  d.steps_omitted = true;
  text.clear();
  write_json(d, write);
  EXPECT_FALSE(valid("schedule", text).contains("steps"));

  int pieces = 0;
  d.steps_omitted = false;
  write_json(d, [&](std::string_view) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);  // nobody listens any more: nothing more is written
}

TEST(Json, StrangeBytesStayJson) {
  ops::NodesDocument d{{{"a\xff\n", false, "", "", "\x01"}}, {}};
  EXPECT_EQ(valid("nodes", json(d))["nodes"][0]["node"], "a\xef\xbf\xbd\n");
}

// The checker itself: every kind of departure is seen.
TEST(Schema, SeesWhatDoesNotFit) {
  const auto good = nlohmann::json::parse(json(check_document()));
  const auto broken = [&](const char* pointer, const nlohmann::json& value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return faults_of("check", bad) != "";
  };
  EXPECT_TRUE(broken("/verdict", "fine"));
  EXPECT_TRUE(broken("/schema", "ringtrue.check/2"));
  EXPECT_TRUE(broken("/findings/0/confidence", 1.5));
  EXPECT_TRUE(broken("/findings/0/measured_Bps", "fast"));
  EXPECT_TRUE(broken("/findings/0/measured_Bps", -1));
  EXPECT_TRUE(broken("/rate_Bps/0/1", "x"));
  EXPECT_TRUE(broken("/surprise", 1));
  EXPECT_TRUE(broken("/error", 7));
  auto lacking = good;
  lacking["findings"][0].erase("kind");
  EXPECT_NE(faults_of("check", lacking), "");
  lacking = good;
  lacking.erase("cost");
  lacking.erase("error");
  EXPECT_NE(faults_of("check", lacking), "");
}

}  // namespace
}  // namespace ringtrue::report
