// OmniReduce over udp: whole runs in one process whose datagrams are lost, doubled, reordered and broken by a
// script. The results are exact all the same.
#include <gtest/gtest.h>

#include <thread>

#include "collective/omnireduce/omnireduce.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/local_job.h"

namespace ringtrue::engine {
namespace {

using test::wrong;

run::Job job_of(int workers, int aggregators, std::uint64_t elements) {
  run::Job job;
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.transport = run::Transport::udp;
  job.nodes = {"local"};
  for (int r = 0; r < workers + aggregators; ++r) job.seats.push_back({0, 0, r});
  job.call.elements = elements;
  job.call.omni.workers = workers;
  job.call.omni.aggregators = aggregators;
  job.call.omni.block = 64;
  job.call.omni.streams = std::uint32_t(4 * aggregators);
  job.call.omni.fusion = 4;
  job.call.omni.acked = true;
  job.sparsity.block = 64;
  job.sparsity.density = 0.3;
  job.sparsity.overlap = collective::Overlap::random;
  job.iterations = 2;
  job.warmup = 1;
  return job;
}

collective::PacketCounts counts(const run::RunReport& report) {
  collective::PacketCounts sum;
  for (const run::RankReport& rank : report.ranks) {
    sum.packets += rank.counts.packets;
    sum.blocks += rank.counts.blocks;
    sum.multicasts += rank.counts.multicasts;
    sum.resent += rank.counts.resent;
    sum.dropped += rank.counts.dropped;
  }
  return sum;
}

TEST(Datagrams, AreExactWithoutLoss) {
  for (const int workers : {1, 2, 8})
    for (const int aggregators : {1, 3}) {
      const run::Job job = job_of(workers, aggregators, 60'000);
      const auto report = run_locally(job, Deadline::in(Seconds(20)));
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(run::to_text(report->transports), "udp");
      EXPECT_EQ(wrong(*report), 0u) << workers << " " << aggregators;
      EXPECT_EQ(report->rejected_connections, 0u);
    }
}

struct Case {
  const char* name;
  const char* fault;
  bool resends;
};

class Lossy : public testing::TestWithParam<Case> {};

TEST_P(Lossy, ExactInBoundedTime) {
  for (const int workers : {2, 5, 8}) {
    run::Job job = job_of(workers, 2, 30'000);
    job.fault = GetParam().fault;
    job.iterations = 1;
    job.warmup = 0;
    const std::int64_t began = now_ns();
    const auto report = run_locally(job, Deadline::in(Seconds(20)));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u) << workers;
    EXPECT_LT(seconds_since(began).value, 10);
    const collective::PacketCounts sum = counts(*report);
    if (GetParam().resends) {
      EXPECT_GT(sum.resent, 0u);
    }
    // Whatever is lost, a round is answered by all and multicast once.
    EXPECT_EQ(sum.packets, sum.multicasts * std::uint64_t(workers));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Lossy,
    testing::Values(
        Case{"Loss1", "loss@*>*:share=1%", true}, Case{"Loss10", "loss@*>*:share=10%", true},
        Case{"LossOneWay", "loss@0>*:share=10%,seed=5", true},
        Case{"Duplicates", "duplicate@*>*:share=30%", false},
        Case{"Reordered", "reorder@*>*:share=20%", false}, Case{"Corrupted", "corrupt@*>*:share=1%", true},
        Case{"Everything",
             "loss@*>*:share=5%;duplicate@*>*:share=5%;reorder@*>*:share=10%;corrupt@*>*:share=1%", true},
        Case{"CorruptedByCount", "corrupt-frame@*>*:nth=5;corrupt-value@*>*:nth=7;drop@*>*:nth=9", true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Datagrams, EveryTypeAndOperationStandsLoss) {
  for (const collective::Type type : collective::all_types)
    for (const collective::Operation operation : collective::all_operations) {
      run::Job job = job_of(3, 2, 5'000);
      job.call.omni.block = job.sparsity.block = 32;
      job.call.type = type;
      job.call.operation = operation;
      job.fault = "loss@*>*:share=3%";
      job.iterations = 1;
      job.warmup = 0;
      const auto report = run_locally(job, Deadline::in(Seconds(20)));
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(wrong(*report), 0u) << key_of(type) << " " << key_of(operation);
    }
}

// Far more streams than the socket's buffer and the windows hold: workers must not lose each other.
TEST(Datagrams, ManyWorkersDoNotDrownTheSocket) {
  run::Job job = job_of(12, 8, 1'000'000);
  job.call.omni.block = job.sparsity.block = 172;
  job.call.omni.streams = 1384;
  job.call.omni.fusion = 2;
  job.sparsity.density = 0.9;
  job.iterations = 1;
  job.warmup = 0;
  const auto report = run_locally(job, Deadline::in(Seconds(30)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
}

TEST(Datagrams, ASilentAggregatorIsNamed) {
  run::Job job = job_of(3, 2, 10'000);
  job.fault = "stall@*>4";
  const std::int64_t began = now_ns();
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::peer_lost);
  EXPECT_NE(report.error().what.find("aggregator 1 on local (rank 4)"), std::string::npos)
      << report.error().what;
  EXPECT_LT(seconds_since(began).value, 8);
}

TEST(Datagrams, TheDeadlineNamesWhoIsWaitedFor) {
  run::Job job = job_of(3, 2, 10'000);
  job.fault = "stall@*>4:after=20K";
  const std::int64_t began = now_ns();
  const auto report = run_locally(job, Deadline::in(Seconds(0.5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_NE(report.error().what.find("aggregator 1"), std::string::npos) << report.error().what;
  EXPECT_LT(seconds_since(began).value, 2);
}

TEST(Datagrams, TheTraceCountsWhatWasSent) {
  run::Job job = job_of(2, 1, 20'000);
  job.iterations = 1;
  job.events = true;
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  std::uint64_t up = 0, down = 0, events = 0;
  for (const run::Hop& hop : report->trace.hops) {
    if (hop.receiver) continue;
    EXPECT_GT(hop.busy.value, 0) << hop.source << ">" << hop.destination;
    (hop.destination == 2 ? up : down) += hop.messages;
  }
  const collective::PacketCounts sum = counts(*report);
  EXPECT_GE(up, sum.packets);
  EXPECT_LE(up, sum.packets + sum.resent);
  EXPECT_GE(down, 2 * sum.multicasts);
  for (const run::Event& event : report->trace.events) events += event.lane == collective::packet_lane;
  // Either end of each.
  EXPECT_GT(events, sum.packets + 2 * sum.multicasts);
  EXPECT_LE(events, 2 * (up + down));
}

void expect_refused(const run::Job& job, const std::string& what, const std::string& next) {
  const auto report = run_locally(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::bad_input);
  EXPECT_NE(report.error().what.find(what), std::string::npos) << report.error().what;
  EXPECT_NE(report.error().next.find(next), std::string::npos) << report.error().next;
}

TEST(Datagrams, WhatDoesNotFitIsRefused) {
  run::Job job = job_of(2, 1, 100'000);
  job.call.omni.block = 256;
  expect_refused(job, "do not fit an MTU of 1500", "--block 87 or less");
  job.mtu = 9000;
  EXPECT_TRUE(run_locally(job, Deadline::in(Seconds(20))));
  job = job_of(2, 1, 100'000);
  job.call.omni.acked = false;
  expect_refused(job, "without acknowledgements", "--acked");
  job = run::Job();
  job.nodes = {"local"};
  job.seats = {{0, 0, 0}, {0, 0, 1}};
  job.call.elements = 100;
  job.transport = run::Transport::udp;
  expect_refused(job, "only omnireduce recovers", "--transport tcp");
  job.transport = run::Transport::tcp;
  job.fault = "loss@0>1:share=1%";
  expect_refused(job, "loss@0>1:share=1% needs a transport that may lose packets", "--transport udp");
}

// One session, several jobs: each begins with clean counters and its own peers.
TEST(Datagrams, ASessionPlaysSeveralJobs) {
  run::Member member;
  member.secret = "secret";
  member.data_address = "127.0.0.1";
  auto session = Session::open(member);
  ASSERT_TRUE(session);
  int port = 0;
  for (const char* fault : {"", "reorder@*>*:share=30%;duplicate@*>*:share=30%", ""}) {
    for (const char* transport : {"udp", "auto"}) {
      run::Job job = job_of(3, 1, 20'000);
      job.transport = *parse_key<run::Transport>(transport);
      if (job.transport == run::Transport::udp) job.fault = fault;
      const auto prepared = (*session)->prepare(job);
      ASSERT_TRUE(prepared) << prepared.error().text();
      if (job.transport == run::Transport::udp && port != 0) {
        EXPECT_EQ(*prepared, port);
      }
      if (job.transport == run::Transport::udp) port = *prepared;
      const Deadline deadline = Deadline::in(Seconds(20));
      ASSERT_TRUE((*session)->connect({{{"127.0.0.1", *prepared}}}, deadline));
      ASSERT_TRUE((*session)->barrier(deadline));
      const auto ran = (*session)->run(deadline);
      ASSERT_TRUE(ran) << ran.error().text();
      const auto report = (*session)->collect();
      ASSERT_TRUE(report);
      EXPECT_EQ(wrong(*report), 0u);
    }
  }
}

// Workers on one node, aggregators on the other: datagrams beside tcp on the same ports.
TEST(Datagrams, TwoNodesMeetOnOnePortEach) {
  run::Job job = job_of(3, 2, 30'000);
  job.nodes = {"north", "south"};
  for (int r = 0; r < 5; ++r) job.seats[std::size_t(r)] = r < 3 ? run::Seat{0, 0, r} : run::Seat{1, 0, r - 3};
  job.fault = "loss@*>*:share=2%";
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<run::Address>> addresses;
  for (int node = 0; node < 2; ++node) {
    run::Member member;
    member.node = node;
    member.secret = "the lease's";
    member.data_address = "127.0.0.1";
    auto session = Session::open(member);
    ASSERT_TRUE(session);
    const auto port = (*session)->prepare(job);
    ASSERT_TRUE(port) << port.error().text();
    addresses.push_back({{"127.0.0.1", *port}});
    sessions.push_back(std::move(*session));
  }
  std::vector<run::RunReport> reports(2);
  std::vector<Result<void>> played(2);
  const auto play = [&](std::size_t node) -> Result<void> {
    Session& session = *sessions[node];
    const Deadline deadline = Deadline::in(Seconds(20));
    if (auto r = session.connect(addresses, deadline); !r) return r;
    if (auto r = session.barrier(deadline); !r) return r;
    if (auto r = session.run(deadline); !r) return r;
    auto report = session.collect();
    if (!report) return tl::unexpected(report.error());
    reports[node] = std::move(*report);
    return {};
  };
  std::thread south([&] { played[1] = play(1); });
  played[0] = play(0);
  south.join();
  for (const Result<void>& result : played) ASSERT_TRUE(result) << result.error().text();
  const run::RunReport report = merge(std::move(reports));
  EXPECT_EQ(run::to_text(report.transports), "udp");
  EXPECT_EQ(report.ranks.size(), 5u);
  EXPECT_EQ(wrong(report), 0u);
  EXPECT_EQ(report.rejected_connections, 0u);
  EXPECT_GT(counts(report).resent, 0u);
}

}  // namespace
}  // namespace ringtrue::engine
