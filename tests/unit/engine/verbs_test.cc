// Sessions of several nodes on a scripted fabric: which hops go over RDMA, what is said of those that do not,
// and who is named when something ends.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/session/plan.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/fake_verbs.h"
#include "tests/support/local_job.h"
#include "tests/support/refusing_verbs.h"

namespace {
std::atomic<const ringtrue::transport::verbs::FakeFabric*> watched = nullptr;
std::atomic<int> unmapped_too_soon = 0;
}  // namespace

// Stands before the C library's: a device must not be left with memory that is gone.
extern "C" int munmap(void* at, std::size_t bytes) noexcept {
  const auto* const begin = static_cast<const std::byte*>(at);
  if (const auto* const fabric = watched.load())
    for (const auto& region : fabric->regions())
      unmapped_too_soon += region.at < begin + bytes && begin < region.at + region.bytes;
  return int(::syscall(SYS_munmap, at, bytes));
}

namespace ringtrue::engine {
namespace {

using test::wrong;

namespace verbs = transport::verbs;
using verbs::FakeDevice;
using Notes = std::vector<std::string>;
using Ports = std::vector<run::RdmaPort>;

// A job over so many nodes, and the sessions that play it.
class Verbs : public testing::Test {
 protected:
  void TearDown() override {
    sessions_.clear();
    EXPECT_EQ(fabric_.complaints(), Notes());
    EXPECT_EQ(fabric_.live(), verbs::FakeFabric::Live()) << "something was left behind";
  }

  // Nodes "node0"..., each with a RoCE device unless `devices` says otherwise.
  void add_nodes(int nodes, const std::function<std::vector<FakeDevice>(int)>& devices = {}) {
    for (int n = 0; n < nodes; ++n) {
      names_.push_back("node" + std::to_string(n));
      libraries_.push_back(&fabric_.add_node(
          devices ? devices(n) : std::vector{verbs::fake_roce("mlx5_0", "10.1.0." + std::to_string(n + 1))}));
    }
  }
  run::Job job_of(const char* algorithm, int ranks_per_node, std::uint64_t elements,
                  const char* transport = "auto") const {
    run::Job job;
    job.algorithm = *parse_key<collective::AlgorithmId>(algorithm);
    job.nodes = names_;
    for (int n = 0; n < int(names_.size()); ++n)
      for (int local = 0; local < ranks_per_node; ++local) job.seats.push_back({n, 0, local});
    job.call.elements = elements;
    job.call.slice_bytes = 16 * 1024;
    job.transport = *parse_key<run::Transport>(transport);
    job.iterations = 2;
    job.warmup = 0;
    return job;
  }
  run::Member member_of(int node) const {
    run::Member member;
    member.node = node;
    member.secret = "the secret of the lease";
    member.data_address = "127.0.0.1";
    member.threads = threads_;
    member.verbs = libraries_[std::size_t(node)];
    return member;
  }

  // All phases over all nodes. A session that fails is gone, as a process that dies is, but for those whose
  // time is up. Gives the report, or the first error that is not a cancellation; errors_ has those of all
  // nodes.
  Result<run::RunReport> play(const run::Job& job, Seconds limit = Seconds(20)) {
    errors_.clear();
    const Deadline deadline = Deadline::in(limit);
    if (sessions_.empty())
      for (int n = 0; n < int(names_.size()); ++n) {
        if (members_.size() == std::size_t(n)) members_.push_back(member_of(n));
        sessions_.push_back(*Session::open(members_[std::size_t(n)]));
      }
    std::vector<std::vector<run::Address>> addresses(names_.size());
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      const auto port = sessions_[i]->prepare(job);
      if (!port) return tl::unexpected(port.error());
      addresses[std::size_t(members_[i].node)].push_back({members_[i].data_address, *port});
    }
    const auto play_phase = [&](std::size_t phase, Session& session) -> Result<void> {
      if (phase == 0) return session.connect(addresses, deadline);
      return phase == 1 ? session.barrier(deadline) : session.run(deadline);
    };
    for (std::size_t phase = 0; phase < 3; ++phase) {
      std::vector<Result<void>> done(sessions_.size());
      std::vector<std::thread> threads;
      std::mutex at_work;  // during_run_, on sessions that must not go under it
      std::unique_lock lock(at_work);
      for (std::size_t i = 0; i < sessions_.size(); ++i)
        threads.emplace_back([&, i] {
          done[i] = play_phase(phase, *sessions_[i]);
          const std::lock_guard after(at_work);
          if (!done[i] && done[i].error().cause != Cause::deadline) sessions_[i].reset();
        });
      if (phase == 2 && during_run_) during_run_();
      lock.unlock();
      for (std::thread& thread : threads) thread.join();
      for (const auto& result : done) errors_.push_back(result ? Error{} : result.error());
      const auto bad = [](const Error& e) { return !e.what.empty() && e.cause != Cause::cancelled; };
      auto worst = std::find_if(errors_.begin(), errors_.end(), bad);
      if (worst == errors_.end())
        worst = std::find_if(errors_.begin(), errors_.end(), [](const Error& e) { return !e.what.empty(); });
      if (worst != errors_.end()) {
        sessions_.clear();
        return tl::unexpected(*worst);
      }
      errors_.clear();
    }
    std::vector<run::RunReport> parts;
    for (const auto& session : sessions_) parts.push_back(*session->collect());
    return merge(std::move(parts));
  }

  verbs::FakeFabric fabric_;
  std::vector<std::string> names_;
  std::vector<verbs::Library*> libraries_;
  std::vector<run::Member> members_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Error> errors_;
  std::function<void()> during_run_;
  int threads_ = 1;
};

TEST_F(Verbs, AutoTakesRdmaBetweenNodesAndSaysHow) {
  add_nodes(4);
  fabric_.shuffle(7);
  for (const char* algorithm : {"ring", "double-tree", "hierarchical"})
    for (const std::uint64_t elements : {0ul, 1ul, 50'001ul}) {
      const auto report = play(job_of(algorithm, 2, elements));
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(wrong(*report), 0u) << algorithm;
      EXPECT_EQ(run::to_text(report->transports), "shm+verbs");
      EXPECT_EQ(report->notes, Notes());
      EXPECT_EQ(report->congestion, "");
      ASSERT_EQ(report->rdma.size(), 4u);
      EXPECT_EQ(report->rdma[1].node, "node1");
      EXPECT_EQ(report->rdma[1].ports, (Ports{{"mlx5_0", 1}}));
      EXPECT_EQ(report->rdma[1].gid, "10.1.0.2");
      EXPECT_EQ(report->rdma[1].memory, "host");
      EXPECT_EQ(report->rdma[1].mtu, 1024);
      std::size_t between = 0;
      for (const run::Hop& hop : report->trace.hops) {
        EXPECT_EQ(hop.rdma.has_value(), hop.source / 2 != hop.destination / 2);
        between += hop.rdma && hop.rdma->writes > 0;
      }
      EXPECT_EQ(between > 0, elements > 0);
    }
}

TEST_F(Verbs, OmnireduceIsExactAndWakesSeveralThreads) {
  add_nodes(3);
  threads_ = 3;
  run::Job job = job_of("omnireduce", 2, 100'000, "verbs");
  job.call.omni = {3, 3, 256, 12, 4, false};
  for (const bool acked : {false, true}) {
    job.call.omni.acked = acked;
    const auto report = play(job);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u);
    EXPECT_EQ(run::to_text(report->transports), "verbs");
  }
  const auto ring = play(job_of("ring", 2, 200'000, "verbs"));
  ASSERT_TRUE(ring) << ring.error().text();
  EXPECT_EQ(wrong(*ring), 0u);
}

TEST_F(Verbs, BuffersThatGrowAreRegisteredAnew) {
  add_nodes(2);
  watched = &fabric_;
  for (const std::uint64_t elements : {1000ul, 300'000ul, 10ul, 900'000ul}) {
    const auto report = play(job_of("ring", 1, elements));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u) << elements;
    EXPECT_EQ(run::to_text(report->transports), "verbs");
  }
  sessions_.clear();
  watched = nullptr;
  EXPECT_EQ(unmapped_too_soon, 0) << "memory that was still registered";
}

TEST_F(Verbs, NodesThatSeeEachOthersDevicesTakeTheirOwn) {
  add_nodes(2, [](int) {
    return std::vector{verbs::fake_roce("rxe0", "127.0.0.1"), verbs::fake_roce("rxe1", "127.0.0.2")};
  });
  for (const int n : {0, 1}) members_.push_back(member_of(n));
  members_[1].data_address = "127.0.0.2";
  const auto report = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->rdma[0].ports, (Ports{{"rxe0", 1}}));
  EXPECT_EQ(report->rdma[1].ports, (Ports{{"rxe1", 1}}));
  // Where both are reached at one address, nothing tells whose is whose.
  sessions_.clear();
  members_[1].data_address = "127.0.0.1";
  const auto both = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ(both->rdma[1].ports, (Ports{{"rxe0", 1}, {"rxe1", 1}}));
}

TEST_F(Verbs, RanksTakeThePortsThatTheyAreGiven) {
  add_nodes(2, [](int n) {
    const std::string at = "." + std::to_string(n + 1);
    return std::vector{verbs::fake_roce("mlx5_0", "10.1.0" + at), verbs::fake_roce("mlx5_1", "10.2.0" + at)};
  });
  run::Job job = job_of("ring", 1, 10'000, "verbs");
  const auto both = play(job);
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ(both->rdma[0].ports, (Ports{{"mlx5_0", 1}, {"mlx5_1", 1}}));
  job.ports = {{{"mlx5_1", 1}}, {{"mlx5_0", 1}}};
  const auto crossed = play(job);
  ASSERT_TRUE(crossed) << crossed.error().text();
  EXPECT_EQ(crossed->rdma[0].ports, (Ports{{"mlx5_1", 1}}));
  EXPECT_EQ(crossed->rdma[1].ports, (Ports{{"mlx5_0", 1}}));
  job.verbs.ports = {{"mlx5_1", 1}};
  job.ports.clear();
  const auto one = play(job);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->rdma[0].ports, (Ports{{"mlx5_1", 1}}));
  EXPECT_EQ(one->rdma[0].gid, "10.2.0.1");
}

TEST_F(Verbs, WhatCarriesNoDataIsToldOnce) {
  add_nodes(3, [](int n) {
    const std::string at = "." + std::to_string(n + 1);
    std::vector<FakeDevice> devices = {verbs::fake_roce("mlx5_0", "10.1.0" + at),
                                       verbs::fake_roce("mlx5_1", "10.2.0" + at),
                                       verbs::fake_roce("irdma0", "10.3.0" + at)};
    devices[2].ports[0].state.rate = BytesPerSecond(1.25e9);
    if (n > 0) devices[1].ports[0].state.rate = BytesPerSecond(6.25e9);
    return devices;
  });
  static_cast<verbs::FakeLibrary*>(libraries_[0])->set_active("mlx5_1", 1, false);
  const auto report = play(job_of("ring", 2, 10'000, "verbs"));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(
      report->notes,
      (Notes{"RDMA leaves out ports of node0: mlx5_1:1 is down",
             "RDMA leaves out ports of node[1-2]: mlx5_1:1 runs at 50 Gbit/s, others at 100 Gbit/s",
             "ports of another kind carry no RDMA on node0 and 2 others: irdma0:1 (Ethernet, 10 Gbit/s)"}));
}

// A hostile peer's GID is where queue pairs would send to.
TEST_F(Verbs, PeersOutsideOfTheDaemonsNetworksAreNotReached) {
  add_nodes(2,
            [](int n) { return std::vector{verbs::fake_roce("mlx5_0", n == 0 ? "10.1.0.1" : "192.0.2.7")}; });
  for (const int n : {0, 1}) members_.push_back(member_of(n));
  members_[0].peers = std::vector{*parse_network("10.1.0.0/16")};
  const auto report = play(job_of("ring", 1, 10'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "tcp");
  const std::string why =
      "node1 is said to be at 192.0.2.7 (mlx5_0:1), outside of this node's networks (10.1.0.0/16)";
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_NE(report->notes[0].find(why), std::string::npos) << report->notes[0];
  const auto refused = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_FALSE(refused);
  const auto& said = errors_[0];
  EXPECT_EQ(said.cause, Cause::refused) << said.text();
  EXPECT_EQ(said.what, why);
  EXPECT_EQ(said.where.node, "node0");
  EXPECT_EQ(said.next, "if it is there, add its network to peers under [daemon] in node0's configuration");
  members_[0].peers->push_back(*parse_network("192.0.2.0/24"));
  const auto told = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_TRUE(told) << told.error().text();
}

// As of a daemon on a node all of whose interfaces are down, or have link-local addresses alone.
TEST_F(Verbs, ADaemonWithoutNetworksReachesNobody) {
  add_nodes(2,
            [](int n) { return std::vector{verbs::fake_roce("mlx5_0", "10.1.0." + std::to_string(n + 1))}; });
  for (const int n : {0, 1}) members_.push_back(member_of(n));
  members_[0].peers.emplace();
  ASSERT_FALSE(play(job_of("ring", 1, 10'000, "verbs")));
  EXPECT_EQ(errors_[0].what,
            "node1 is said to be at 10.1.0.2 (mlx5_0:1), outside of this node's networks (none)");
}

TEST_F(Verbs, AutoNamesTheNodeWithoutRdmaOnce) {
  add_nodes(4, [](int n) {
    return n == 2 ? std::vector<FakeDevice>()
                  : std::vector{verbs::fake_roce("mlx5_0", "10.1.0." + std::to_string(n + 1))};
  });
  const auto report = play(job_of("ring", 1, 10'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "tcp+verbs");
  EXPECT_EQ(report->notes, Notes{"TCP is used to and from node2: no RDMA device"});
  for (const run::Hop& hop : report->trace.hops)
    EXPECT_EQ(hop.rdma.has_value(), hop.source != 2 && hop.destination != 2);

  sessions_.clear();
  const auto asked = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().cause, Cause::unavailable);
  EXPECT_NE(asked.error().what.find("no RDMA device"), std::string::npos) << asked.error().text();
}

TEST_F(Verbs, AutoSaysInOneLineThatNobodyHasRdma) {
  add_nodes(4, [](int) { return std::vector<FakeDevice>(); });
  for (int run = 0; run < 2; ++run) {
    const auto report = play(job_of("ring", 2, 10'000));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(run::to_text(report->transports), "shm+tcp");
    EXPECT_EQ(report->notes, Notes{"TCP is used to and from node0 and 3 others: no RDMA device"});
    EXPECT_TRUE(report->rdma.empty());
  }
}

TEST_F(Verbs, OtherTransportsNeverAsk) {
  names_ = {"node0", "node1"};
  test::RefusingLibrary refusing(fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.1")}));
  libraries_ = {&refusing, &refusing};
  const auto tcp = play(job_of("ring", 1, 1000, "tcp"));
  ASSERT_TRUE(tcp) << tcp.error().text();
  EXPECT_EQ(run::to_text(tcp->transports), "tcp");
  EXPECT_EQ(refusing.asked, 0);
  sessions_.clear();
  members_.clear();
  names_ = {"node0"};
  const auto shared = play(job_of("ring", 4, 1000, "auto"));
  ASSERT_TRUE(shared) << shared.error().text();
  EXPECT_EQ(run::to_text(shared->transports), "shm");
  EXPECT_EQ(shared->notes, Notes());
  EXPECT_EQ(refusing.asked, 0);
}

TEST_F(Verbs, EndsThatDoNotFitAreNamedTogether) {
  add_nodes(2, [](int n) {
    return std::vector{n == 0 ? verbs::fake_roce("mlx5_0", "10.1.0.1") : verbs::fake_infiniband("mlx5_2", 5)};
  });
  const auto report = play(job_of("ring", 1, 10'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "tcp");
  EXPECT_EQ(report->notes,
            Notes{"TCP is used between node0 and node1: mlx5_0:1 is Ethernet, mlx5_2:1 InfiniBand"});

  const auto asked = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().cause, Cause::unavailable) << asked.error().text();
  EXPECT_NE(asked.error().what.find("no RDMA between node0 and node1"), std::string::npos);
}

TEST_F(Verbs, OneEndThatCannotConnectMakesBothFallBack) {
  names_ = {"node0", "node1"};
  test::RefusingLibrary refusing(fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.2")}));
  libraries_ = {&fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.1")}), &refusing};
  const auto report = play(job_of("ring", 1, 10'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "tcp");
  EXPECT_EQ(report->notes, Notes{"TCP is used to and from node1: no route to that GID; look at ip route"});

  const auto asked = play(job_of("ring", 1, 10'000, "verbs"));
  ASSERT_FALSE(asked);
  ASSERT_EQ(errors_.size(), 2u);
  for (const Error& error : errors_)
    EXPECT_NE(error.what.find("no route to that GID"), std::string::npos) << error.text();
  EXPECT_EQ(errors_[0].where, "node1");
}

TEST_F(Verbs, ANodeThatDoesNotAnswerIsTriedOnce) {
  names_ = {"node0", "node1"};
  test::RefusingLibrary refusing(fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.2")}));
  refusing.cause = Cause::unreachable;
  libraries_ = {&fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.1")}), &refusing};
  const auto report = play(job_of("naive", 3, 1000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "shm+tcp");
  EXPECT_EQ(report->notes, Notes{"TCP is used to and from node1: no route to that GID; look at ip route"});
  EXPECT_EQ(refusing.refused, 1) << "not once a hop";
}

TEST_F(Verbs, WhoMakesConnectingLastIsNamed) {
  names_ = {"node0", "node1"};
  test::RefusingLibrary refusing(fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.2")}));
  refusing.cause = Cause::unreachable;
  refusing.takes = std::chrono::milliseconds(1100);
  libraries_ = {&fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.1")}), &refusing};
  EXPECT_FALSE(play(job_of("naive", 2, 1000, "verbs"), Seconds(1)));
  ASSERT_EQ(errors_.size(), 2u);
  EXPECT_EQ(errors_[1].cause, Cause::deadline) << errors_[1].text();
  EXPECT_EQ(errors_[1].where, "node0") << "it did not answer";
  EXPECT_EQ(errors_[1].what, "RDMA was not connected in time: no route to that GID");
}

TEST_F(Verbs, APortWithoutAPartnerShiftsNoOther) {
  add_nodes(3, [](int n) {
    std::vector<FakeDevice> devices;
    for (const int d : {0, 1, 2})
      if (n != 1 || d != 1)
        devices.push_back(
            verbs::fake_roce("mlx5_" + std::to_string(d), fmt::format("10.{}.0.{}", d + 1, n + 1)));
    return devices;
  });
  const auto report = play(job_of("ring", 1, 200'000, "verbs"));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(report->notes, Notes{"other nodes' ports have no partner on node1: mlx5_1:1"});
}

TEST_F(Verbs, ATrafficClassWithoutAGrhIsTold) {
  add_nodes(2, [](int n) { return std::vector{verbs::fake_infiniband("mlx5_0", std::uint16_t(n + 1))}; });
  run::Job job = job_of("ring", 1, 10'000, "verbs");
  job.verbs.traffic_class = 106;
  auto report = play(job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->notes,
            Notes{"a setting has no effect on node0 and node1: traffic class 106: packets of mlx5_0:1 go "
                  "by LID and carry none; set --gid-index or --service-level"});
  job.verbs.gid_index = 0;
  report = play(job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->notes, Notes());
}

TEST_F(Verbs, LittleLockedMemoryExplainsItself) {
  add_nodes(2, [](int n) {
    auto device = verbs::fake_roce("mlx5_0", "10.1.0." + std::to_string(n + 1));
    if (n == 1) device.max_pinned = 8192;
    return std::vector{device};
  });
  const auto report = play(job_of("ring", 1, 100'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(run::to_text(report->transports), "tcp");
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_NE(report->notes[0].find("node1"), std::string::npos) << report->notes[0];
  EXPECT_NE(report->notes[0].find("memlock"), std::string::npos) << report->notes[0];
  EXPECT_EQ(report->notes[0].find('\n'), std::string::npos);
  sessions_.clear();
  const auto asked = play(job_of("ring", 1, 100'000, "verbs"));
  ASSERT_FALSE(asked);
  ASSERT_EQ(errors_.size(), 2u);
  EXPECT_EQ(errors_[1].cause, Cause::refused) << errors_[1].text();
  EXPECT_EQ(errors_[0].where, "node1");
  EXPECT_NE(errors_[0].what.find("memlock"), std::string::npos) << errors_[0].text();
}

TEST_F(Verbs, APeerThatDiesIsNamedAtOnce) {
  add_nodes(3);
  run::Job job = job_of("ring", 1, 400'000, "verbs");
  job.fault = "stall@0>1:after=64K";
  during_run_ = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sessions_[1]->abort();  // and is gone
  };
  const std::int64_t began = now_ns();
  const auto report = play(job);
  ASSERT_FALSE(report);
  EXPECT_LT(seconds_since(began).value, 10.0);
  ASSERT_EQ(errors_.size(), 3u);
  EXPECT_EQ(errors_[1].cause, Cause::cancelled);
  // The others lose it, or one another as they go.
  EXPECT_EQ(report.error().cause, Cause::peer_lost) << report.error().text();
  const auto blames = [](const Error& e) { return e.cause == Cause::peer_lost && e.where == "node1"; };
  EXPECT_TRUE(blames(errors_[0]) || blames(errors_[2])) << errors_[0].text() << "\n" << errors_[2].text();
  during_run_ = {};
  job.fault.clear();
  const auto next = play(job);
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(wrong(*next), 0u);
}

TEST_F(Verbs, ASilentPeerIsNamedWhenTimeIsUp) {
  add_nodes(3);
  run::Job job = job_of("ring", 1, 400'000, "verbs");
  job.fault = "stall@0>1:after=64K";
  const auto report = play(job, Seconds(1));
  ASSERT_FALSE(report);
  ASSERT_EQ(errors_.size(), 3u);
  EXPECT_EQ(errors_[1].cause, Cause::deadline) << errors_[1].text();
  EXPECT_EQ(errors_[1].where, "node0");
  EXPECT_NE(errors_[1].what.find("waited for rank 0 on node0 to send"), std::string::npos);
}

TEST_F(Verbs, APortThatGoesDownEndsTheRun) {
  add_nodes(2);
  run::Job job = job_of("ring", 1, 400'000);
  job.fault = "stall@0>1:after=64K";
  during_run_ = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    static_cast<verbs::FakeLibrary*>(libraries_[1])->set_active("mlx5_0", 1, false);
  };
  const auto report = play(job);
  ASSERT_FALSE(report);
  ASSERT_EQ(errors_.size(), 2u);
  EXPECT_EQ(errors_[1].where, "node1") << errors_[1].text();
  EXPECT_NE(errors_[1].what.find("mlx5_0"), std::string::npos) << errors_[1].text();
  // From then on there is none, and auto says so.
  during_run_ = {};
  job.fault.clear();
  const auto next = play(job);
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(run::to_text(next->transports), "tcp");
  ASSERT_EQ(next->notes.size(), 1u);
  EXPECT_EQ(next->notes[0].find("TCP is used to and from node1: "), 0u) << next->notes[0];
}

TEST_F(Verbs, ProcessesOfANodeMeetOverItsOwnPort) {
  names_ = {"node0"};
  libraries_ = {&fabric_.add_node({verbs::fake_roce("mlx5_0", "10.1.0.1")})};
  run::Job job = job_of("ring", 4, 50'000, "verbs");
  for (int r = 0; r < 4; ++r) job.seats[std::size_t(r)] = {0, r / 2, r};
  const int memory = ::memfd_create("verbs_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(memory, off_t(Session::shared_bytes(job, 0))), 0);
  const std::vector<int> doorbells = {::eventfd(0, EFD_NONBLOCK), ::eventfd(0, EFD_NONBLOCK)};
  for (int process = 0; process < 2; ++process) {
    run::Member member = member_of(0);
    member.process = process;
    member.processes = 2;
    member.shared_memory = memory;
    member.doorbells = doorbells;
    members_.push_back(member);
    sessions_.push_back(*Session::open(member));
  }
  const auto report = play(job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(run::to_text(report->transports), "verbs");
  EXPECT_EQ(report->rdma.size(), 2u);
  sessions_.clear();
  for (const int fd : {memory, doorbells[0], doorbells[1]}) ::close(fd);
}

}  // namespace
}  // namespace ringtrue::engine
