// A job that only asks whether its nodes reach each other: two sessions on loopback, of two processes each.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "engine/session/session.h"

namespace ringtrue::engine {
namespace {

run::Job question() {
  run::Job job;
  job.reach = true;
  job.nodes = {"node0", "node1", "node2"};
  job.seats = {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {2, 0, 0}};
  job.transport = run::Transport::tcp;
  job.call.elements = 4;
  return job;
}

// Those of a node, by rank of the peer; `gone`: a node whose port nobody listens on.
std::vector<run::RunReport> asked(int gone = -1, const run::Job& job = question()) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<run::Address>> addresses;
  for (int node = 0; node < 3; ++node) {
    run::Member member;
    member.node = node;
    member.secret = "a secret of the lease";
    member.data_address = "127.0.0.1";
    auto session = Session::open(member);
    EXPECT_TRUE(session);
    const auto port = (*session)->prepare(job);
    EXPECT_TRUE(port) << port.error().text();
    addresses.push_back({{"127.0.0.1", *port}});
    sessions.push_back(std::move(*session));
  }
  if (gone >= 0) sessions[std::size_t(gone)].reset();
  std::vector<run::RunReport> reports(sessions.size());
  std::vector<std::thread> threads;
  for (std::size_t node = 0; node < sessions.size(); ++node)
    if (sessions[node])
      threads.emplace_back([&, node] {
        Session& session = *sessions[node];
        ASSERT_TRUE(session.connect(addresses, Deadline::in(Seconds(10))));
        ASSERT_TRUE(session.barrier(Deadline::in(Seconds(10))));
        ASSERT_TRUE(session.run(Deadline::in(Seconds(10))));
        auto report = session.collect();
        ASSERT_TRUE(report);
        reports[node] = std::move(*report);
      });
  for (std::thread& thread : threads) thread.join();
  return reports;
}

TEST(ReachJob, TellsEachPairOfNodesOnceAndTheirNetwork) {
  const auto reports = asked();
  for (int node = 0; node < 3; ++node) {
    const run::RunReport& report = reports[std::size_t(node)];
    ASSERT_EQ(report.reaches.size(), 2u) << "one of each other node, whatever ranks it has";
    for (const run::Reach& reach : report.reaches) {
      EXPECT_TRUE(reach.called && reach.taken && reach.acknowledged);
      EXPECT_NE(question().seats[std::size_t(reach.peer)].node, node);
    }
    ASSERT_EQ(report.networks.size(), 1u);
    EXPECT_EQ(report.networks[0].node, "node" + std::to_string(node));
    EXPECT_EQ(report.networks[0].address, "127.0.0.1");
    EXPECT_TRUE(report.ranks.empty());
  }
}

TEST(ReachJob, DatagramsAreTriedWhereRunsSendThem) {
  run::Job job = question();
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.transport = run::Transport::udp;
  job.call.elements = 100'000;
  job.call.omni.workers = job.call.omni.aggregators = job.call.omni.streams = 2;
  job.call.omni.acked = true;
  const auto reports = asked(-1, job);
  for (const run::RunReport& report : reports) {
    ASSERT_EQ(report.reaches.size(), 4u);
    int datagrams = 0;
    for (const run::Reach& reach : report.reaches) {
      EXPECT_TRUE(reach.called || reach.taken);
      if (!reach.datagrams) continue;
      ++datagrams;
      EXPECT_TRUE(reach.taken && reach.long_taken);
      EXPECT_GT(reach.packet, int(sizeof(float) * job.call.omni.block));
    }
    EXPECT_EQ(datagrams, 2);
  }
}

TEST(ReachJob, OneThatIsGoneCostsItselfAlone) {
  const auto reports = asked(2);
  for (int node = 0; node < 2; ++node)
    for (const run::Reach& reach : reports[std::size_t(node)].reaches) {
      const bool gone = question().seats[std::size_t(reach.peer)].node == 2;
      EXPECT_EQ(reach.called && reach.taken, !gone);
      EXPECT_EQ(reach.why.find("refused") != std::string::npos, gone) << reach.why;
    }
}

}  // namespace
}  // namespace ringtrue::engine
