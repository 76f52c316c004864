#include "operator/measurer.h"
#include "run/job.h"
#include "run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

// Answers every job with the same report, or the same failure.
struct Script {
  Outcome<run::RunReport> answer = run::RunReport{};
  run::Job asked;
  int left_ms = 0;
};

class ScriptedRunner final : public Runner {
 public:
  explicit ScriptedRunner(Script& script)
      : Runner({.nodes = {"a", "b", "c"}, .worker_nodes = 3, .text = "here"}), script_(script) {}

  run::Job job() const override { return {}; }
  void add_aggregators(run::Job&) const override {}
  Outcome<run::RunReport> play(const run::Job& job, Deadline until) override {
    script_.asked = job;
    script_.left_ms = until.left_ms();
    return script_.answer;
  }

 private:
  Script& script_;
};

Outcome<run::RunReport> failing(fleet::Failure failure) {
  return tl::unexpected(trouble_of(fleet::FleetError{{std::move(failure)}}));
}

// A measurer over a script, with what it tells.
struct Measuring {
  explicit Measuring(Script& script, MeasurerOptions options = {})
      : measurer(std::make_unique<ScriptedRunner>(script), std::move(options),
                 Control(stop, [this](const progress::Event& event) { events.push_back(event); })) {}

  Stop stop;
  std::vector<progress::Event> events;
  RunMeasurer measurer;
};

run::RunReport three_ranks() {
  run::RunReport report;
  for (int r = 0; r < 3; ++r) report.ranks.push_back({r, 1, {0.5, 0.25 + 0.25 * r, 0.5}, 0, 0, {}});
  run::Hop hop;
  hop.source = 0, hop.destination = 1;
  hop.bytes = Bytes(1000), hop.busy = Seconds(2);
  hop.tcp = run::TcpHop{.busy = Seconds(1.9),
                        .rwnd_limited = Seconds(0.5),
                        .sndbuf_limited = Seconds(0.25),
                        .retransmits = 7,
                        .min_rtt = Seconds(1e-4),
                        .delivery_rate = {}};
  report.trace.hops.push_back(hop);
  hop.receiver = true;  // the other end's view of the same hop
  report.trace.hops.push_back(hop);
  hop = {};
  hop.source = 2, hop.destination = 0;
  hop.bytes = Bytes(500), hop.busy = Seconds(1);
  report.trace.hops.push_back(hop);
  return report;
}

TEST(RunMeasurer, TurnsAnExperimentIntoAJob) {
  Script script;
  script.answer = three_ranks();
  Measuring measuring(script, {.transport = run::Transport::tcp, .warmup = 3});
  RunMeasurer& measurer = measuring.measurer;
  EXPECT_EQ(measurer.nodes(), 3);
  EXPECT_EQ(measurer.name(1), "b");
  diagnosis::Experiment experiment;
  experiment.algorithm = collective::AlgorithmId::pairwise;
  experiment.order = {2, 0, 1};
  experiment.bytes = Bytes(4003);
  experiment.iterations = 4;
  experiment.shift = 2;
  experiment.slice = Bytes(8192);
  ASSERT_TRUE(measurer.measure(experiment));
  const run::Job& job = script.asked;
  EXPECT_EQ(job.algorithm, collective::AlgorithmId::pairwise);
  EXPECT_EQ(job.nodes.size(), 3u);
  ASSERT_EQ(job.seats.size(), 3u);
  EXPECT_EQ(job.seats[0].node, 2);
  EXPECT_EQ(job.call.bytes(), 4000u);  // whole elements
  EXPECT_EQ(job.call.shift, 2);
  EXPECT_EQ(job.call.slice_bytes, 8192u);
  EXPECT_EQ(job.iterations, 4);
  EXPECT_EQ(job.warmup, 3);
  EXPECT_EQ(job.transport, run::Transport::tcp);
  EXPECT_TRUE(job.check);
}

TEST(RunMeasurer, TurnsSendersHopsIntoReadings) {
  Script script;
  script.answer = three_ranks();
  Measuring measuring(script);
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {2, 0, 1};
  const auto observation = measurer.measure(experiment);
  ASSERT_TRUE(observation);
  EXPECT_DOUBLE_EQ(observation->time.value, 0.5);  // samples on the slowest rank: 0.5, 0.75, 0.5
  ASSERT_EQ(observation->hops.size(), 2u);
  const diagnosis::HopReading& hop = observation->hops[0];
  EXPECT_EQ(hop.source, 2);
  EXPECT_EQ(hop.destination, 0);
  EXPECT_EQ(hop.bytes, Bytes(1000));
  EXPECT_EQ(hop.busy, Seconds(2));
  EXPECT_EQ(hop.receiver_limited, Seconds(0.5));
  EXPECT_EQ(hop.sender_limited, Seconds(0.25));
  EXPECT_EQ(hop.retransmits, 7u);
  EXPECT_EQ(hop.latency, Seconds(1e-4));
  EXPECT_EQ(observation->hops[1].source, 1);
  EXPECT_EQ(observation->hops[1].latency, std::nullopt);
}

TEST(RunMeasurer, ReadsHopsOfRdma) {
  Script script;
  run::RunReport report = three_ranks();
  run::Hop& hop = report.trace.hops[0];  // from rank 0 on c
  hop.tcp.reset();
  hop.rdma = run::RdmaHop{Seconds(1.5), Seconds(0.5), Seconds(0.25), 9};
  hop.rdma->rails = {{{"mlx5_1", 2}, Bytes(600), Seconds(1.5)},
                     {{"mlx5_0", 1}, Bytes(400), Seconds(0.5)},
                     {{"mlx5_9", 1}, Bytes(1), Seconds(1)}};  // no rail of ours
  report.rdma = {{"c", {{"mlx5_0", 1}, {"mlx5_1", 2}}, "10.1.0.3", 1024, "host"},
                 {"c", {{"mlx5_0", 1}}, "", 0, "host"}};
  report.counters["c"].changes = {{"mlx5_0/1", "packet_seq_err", 1, 5, false, false},
                                  {"mlx5_1/2", "rcvd_seq_err", 0, 2, false, false},
                                  {"mlx5_7/1", "packet_seq_err", 0, 100, false, false},  // no rail of ours
                                  {"mlx5_0/1", "symbol_error", 0, 9, false, false}};
  script.answer = report;
  Measuring measuring(script, {.transport = run::Transport::verbs});
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {2, 0, 1};
  const auto seen = measurer.measure(experiment);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->hops[0].busy, Seconds(1.5));
  EXPECT_EQ(seen->hops[0].receiver_limited, Seconds(0.5));
  EXPECT_EQ(seen->hops[0].sender_limited, Seconds(0.25));
  EXPECT_EQ(seen->hops[0].retransmits, 6u);
  EXPECT_EQ(seen->hops[0].source_rank, 0);
  EXPECT_EQ(seen->hops[0].destination_rank, 1);
  EXPECT_EQ(seen->hops[0].latency, std::nullopt);
  const std::vector<diagnosis::RdmaPort> rails = {{"mlx5_0", 1}, {"mlx5_1", 2}};
  EXPECT_EQ(seen->rails.at("c"), rails);
  ASSERT_EQ(seen->hops[0].rails.size(), 2u);
  EXPECT_EQ(seen->hops[0].rails[0].rail, 1);
  EXPECT_EQ(seen->hops[0].rails[0].bytes, Bytes(600));
  EXPECT_EQ(seen->hops[0].rails[1].rail, 0);
  EXPECT_EQ(seen->hops[0].rails[1].busy, Seconds(0.5));
  ASSERT_EQ(seen->times.size(), 3u);
  EXPECT_DOUBLE_EQ(seen->times[2][1], 0.75);
}

TEST(RunMeasurer, GivesEachRankItsPortAlsoTwiceOnANode) {
  Script script;
  Measuring measuring(script, {.transport = run::Transport::verbs});
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.algorithm = collective::AlgorithmId::pairwise;
  experiment.order = {0, 2, 0, 2};
  experiment.ports = {{"mlx5_0", 1}, {"mlx5_0", 1}, {"mlx5_1", 2}, {"mlx5_0", 1}};
  ASSERT_TRUE(measurer.measure(experiment));
  const std::vector<run::Seat> seats = {{0, 0, 0}, {2, 0, 0}, {0, 0, 1}, {2, 0, 1}};
  EXPECT_EQ(script.asked.seats, seats);
  ASSERT_EQ(script.asked.ports.size(), 4u);
  ASSERT_EQ(script.asked.ports[2].size(), 1u);
  EXPECT_EQ(script.asked.ports[2][0].device, "mlx5_1");
  EXPECT_EQ(script.asked.ports[2][0].port, 2);
  experiment.ports.clear();
  ASSERT_TRUE(measurer.measure(experiment));
  EXPECT_TRUE(script.asked.ports.empty());
}

TEST(RunMeasurer, TellsHowBusyTheProgramsWere) {
  Script script;
  script.answer = three_ranks();
  script.answer->cpu_s = 1.35;  // of one call, over all ranks; it took 0.5 s
  Measuring measuring(script);
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {2, 0, 1};
  const auto observation = measurer.measure(experiment);
  ASSERT_TRUE(observation);
  EXPECT_NEAR(observation->cpu_busy, 0.9, 1e-12);
}

TEST(RunMeasurer, NamesTheRankWithAWrongResult) {
  Script script;
  run::RunReport report = three_ranks();
  report.ranks[1].wrong = 12;
  script.answer = report;
  Measuring measuring(script);
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {2, 0, 1};
  const auto observation = measurer.measure(experiment);
  ASSERT_FALSE(observation);
  EXPECT_EQ(observation.error().cause, Cause::corrupted);
  EXPECT_EQ(observation.error().where, "a");
  EXPECT_THAT(observation.error().what, HasSubstr("rank 1 on a got 12 wrong elements"));
  EXPECT_TRUE(measurer.failures().empty());
}

TEST(RunMeasurer, KeepsTheFleetsFailure) {
  Script script;
  script.answer = failing({"b", Phase::run, {Cause::peer_lost, "gone", "", ""}, true});
  Measuring measuring(script);
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {0, 1, 2};
  const auto observation = measurer.measure(experiment);
  ASSERT_FALSE(observation);
  EXPECT_EQ(observation.error().where, Subject("b", Phase::run));
  ASSERT_EQ(measurer.failures().size(), 1u);
  EXPECT_EQ(measurer.failures()[0].node, "b");
  script.answer = three_ranks();
  ASSERT_TRUE(measurer.measure(experiment));
  EXPECT_TRUE(measurer.failures().empty());
  experiment.order = {0, 3};
  EXPECT_FALSE(measurer.measure(experiment));
}

TEST(RunMeasurer, SaysThatAnExperimentWasCut) {
  Script script;
  const Error late{Cause::deadline, "the run did not end within 0.1 s", "", "see its load"};
  script.answer = failing({"b", Phase::run, late, true});
  Measuring measuring(script);
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.order = {0, 1, 2};
  EXPECT_EQ(measurer.measure(experiment).error().what, late.what) << "nobody said when to end";
  EXPECT_EQ(script.left_ms, -1);
  measurer.end_by(Deadline::in(Seconds(30)));
  EXPECT_EQ(measurer.measure(experiment).error().what, late.what) << "a fault, not the budget";
  EXPECT_GT(script.left_ms, 29'000);
  measurer.end_by(Deadline::in(Seconds(0)));
  const Error cut = measurer.measure(experiment).error();
  EXPECT_EQ(script.left_ms, 0);
  EXPECT_EQ(cut.cause, Cause::deadline);
  EXPECT_EQ(cut.what,
            "ring over 3 nodes was aborted, as the time for all experiments was over: " + late.what);
  EXPECT_EQ(cut.where, Subject("b", Phase::run));
  EXPECT_THAT(cut.next, HasSubstr("--budget"));
}

TEST(RunMeasurer, GivesAnOmnireduceItsRoles) {
  Script script;
  script.answer = run::RunReport{};
  run::Hop hop;
  hop.source = 1, hop.destination = 2;  // worker on b to the first aggregator, beside the worker on a
  hop.bytes = Bytes(1000), hop.busy = Seconds(1);
  script.answer->trace.hops.push_back(hop);
  Measuring measuring(script, {.link_rate = BytesPerSecond(12.5e6)});
  RunMeasurer& measurer = measuring.measurer;
  diagnosis::Experiment experiment;
  experiment.algorithm = collective::AlgorithmId::omnireduce;
  experiment.order = {0, 1, 0, 2};
  experiment.workers = 2;
  experiment.bytes = Bytes(1 << 20);
  const auto seen = measurer.measure(experiment);
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(script.asked.workers(), 2);
  EXPECT_EQ(script.asked.call.omni.aggregators, 2);
  EXPECT_GE(script.asked.call.omni.streams, 2u);
  const std::vector<run::Seat> seats = {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {2, 0, 0}};
  EXPECT_EQ(script.asked.seats, seats);
  EXPECT_EQ(fleet::place_of(script.asked, 1), "b");
  EXPECT_EQ(fleet::place_of(script.asked, 3), "aggregator 1 on c");
  ASSERT_EQ(seen->hops.size(), 1u);
  EXPECT_EQ(seen->hops[0].source, 1);
  EXPECT_EQ(seen->hops[0].destination, 0);
}

TEST(RunMeasurer, TellsReadingsAsTheyComeIn) {
  Script script;
  script.answer = three_ranks();
  Measuring measuring(script);
  diagnosis::Experiment experiment;
  experiment.order = {2, 0, 1};
  ASSERT_TRUE(measuring.measurer.measure(experiment));
  ASSERT_TRUE(measuring.measurer.measure(experiment));
  ASSERT_EQ(measuring.events.size(), 2u);
  const auto& reading = std::get<progress::Reading>(measuring.events[1]);
  EXPECT_EQ(reading.nodes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(reading.observation.hops.size(), 2u);
  EXPECT_EQ(reading.runs, 2u);
  EXPECT_EQ(reading.bytes, 3000u);
}

}  // namespace
}  // namespace ringtrue::ops
