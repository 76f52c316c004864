#include "daemon/lease.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "probe/live.h"
#include "run/counter_window.h"
#include "run/job.h"
#include "tests/support/sysfs_tree.h"
#include "tests/unit/daemon/fake_workers.h"

namespace ringtrue::daemon {
namespace {

class LeaseTest : public testing::Test {
 protected:
  void start(wire::Acquire acquire = some_acquire(), Limits limits = some_limits()) {
    lease_ = std::make_unique<Lease>(std::move(acquire), limits, fakes(doings_));
    ASSERT_TRUE(lease_->start(Deadline::in(Seconds(1))));
  }
  rpc::Event play(const rpc::Command& command) { return lease_->perform(command, now_ns()); }
  void expect_done(const char* phase) {
    const rpc::Event event = play(command_of(phase, 9));
    EXPECT_FALSE(event.has_error()) << phase << ": " << event.error().what();
    EXPECT_EQ(event.sequence(), 9u);
  }
  void expect_error(const rpc::Command& command, rpc::Cause cause, const std::string& part) {
    const rpc::Event event = play(command);
    ASSERT_TRUE(event.has_error()) << part;
    EXPECT_EQ(event.error().cause(), cause) << event.error().what();
    EXPECT_NE(event.error().what().find(part), std::string::npos) << event.error().what();
  }
  Doings doings_;
  std::unique_ptr<Lease> lease_;
};

TEST_F(LeaseTest, PlaysSeveralRuns) {
  start();
  EXPECT_EQ(doings_.member.secret, std::string(32, 's'));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(lease_->between_runs());
    for (const char* phase : {"prepare", "connect", "barrier", "run", "collect"}) expect_done(phase);
  }
  EXPECT_EQ(lease_->rejected_connections(), 3u);
  expect_done("release");
  EXPECT_EQ(doings_.released, 1);
  lease_.reset();
  EXPECT_EQ(doings_.alive, 0);
}

TEST_F(LeaseTest, PrepareTellsPortsAndCollectTheReport) {
  start();
  const rpc::Event prepared = play(command_of("prepare"));
  ASSERT_TRUE(prepared.has_prepared());
  ASSERT_EQ(prepared.prepared().ports_size(), 1);
  EXPECT_EQ(prepared.prepared().ports(0), 7000u);
  for (const char* phase : {"connect", "barrier", "run"}) expect_done(phase);
  const rpc::Event report = play(command_of("collect"));
  ASSERT_TRUE(report.has_report());
  EXPECT_EQ(wire::from_wire(report.report())->transports, std::vector{run::Transport::shm});
}

TEST_F(LeaseTest, CountersAreReadAroundARun) {
  test::SysfsTree tree;
  tree.file("/sys/class/net/eth0/type", "1\n");
  const std::string statistics = "/sys/class/net/eth0/statistics/";
  for (const char* counter : {"rx_crc_errors", "rx_bytes", "tx_errors"})
    tree.file(statistics + counter, "7\n");
  Limits limits = some_limits();
  lease_ = std::make_unique<Lease>(
      some_acquire(), limits, fakes(doings_),
      std::make_unique<probe::CounterWatch>(std::make_unique<probe::Files>(tree.root())));
  ASSERT_TRUE(lease_->start(Deadline::in(Seconds(1))));
  for (const char* phase : {"prepare", "connect", "barrier", "run"}) expect_done(phase);
  tree.file(statistics + "rx_crc_errors", "419\n");
  tree.file(statistics + "rx_bytes", "1048583\n");
  const auto report = wire::from_wire(play(command_of("collect")).report());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->counters.count("node0"), 1u);
  const run::CounterWindow& window = report->counters.at("node0");
  EXPECT_GT(window.seconds, 0);
  ASSERT_EQ(window.changes.size(), 2u);
  EXPECT_EQ(window.changes[0], (run::CounterChange{"eth0", "rx_crc_errors", 7, 419, false, false}));
  EXPECT_EQ(window.changes[1].counter, "rx_bytes");
  // The next run's window begins where this one ended.
  for (const char* phase : {"prepare", "connect", "barrier", "run"}) expect_done(phase);
  tree.file(statistics + "rx_crc_errors", "420\n");
  const auto next = wire::from_wire(play(command_of("collect")).report());
  ASSERT_EQ(next->counters.at("node0").changes.size(), 1u);
  EXPECT_EQ(next->counters.at("node0").changes[0].before, 419u);
}

TEST_F(LeaseTest, ANodeWithoutSysfsRunsAllTheSame) {
  test::SysfsTree nothing;
  lease_ = std::make_unique<Lease>(
      some_acquire(), some_limits(), fakes(doings_),
      std::make_unique<probe::CounterWatch>(std::make_unique<probe::Files>(nothing.root())));
  ASSERT_TRUE(lease_->start(Deadline::in(Seconds(1))));
  for (const char* phase : {"prepare", "connect", "barrier", "run"}) expect_done(phase);
  const auto report = wire::from_wire(play(command_of("collect")).report());
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->counters.at("node0").changes.empty());
}

TEST_F(LeaseTest, PhasesKeepTheirOrder) {
  const char* const phases[] = {"prepare", "connect", "barrier", "run", "collect"};
  for (int done = 0; done < 5; ++done) {
    for (int next = 0; next < 5; ++next) {
      if (next == done) continue;
      start();
      for (int i = 0; i < done; ++i) expect_done(phases[i]);
      expect_error(command_of(phases[next]), rpc::CAUSE_BAD_INPUT,
                   std::string("phase ") + phases[next] + " before");
      EXPECT_EQ(lease_->state(), Lease::State::failed);
    }
  }
}

TEST_F(LeaseTest, AfterAFailureOnlyRelease) {
  start();
  for (const char* phase : {"prepare", "connect", "barrier"}) expect_done(phase);
  doings_.fail_run = true;
  expect_error(command_of("run"), rpc::CAUSE_PEER_LOST, "killed by signal 9 in phase run");
  expect_error(command_of("prepare"), rpc::CAUSE_REFUSED, "only be released");
  expect_done("release");
}

TEST_F(LeaseTest, AbortEndsThePhaseInProgress) {
  start();
  for (const char* phase : {"prepare", "connect", "barrier"}) expect_done(phase);
  doings_.block_run = true;
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lease_->abort();
  });
  expect_error(command_of("run", 1, 60), rpc::CAUSE_CANCELLED, "stopped");
  other.join();
  expect_error(command_of("prepare"), rpc::CAUSE_CANCELLED, "stopped");
}

TEST_F(LeaseTest, DeadlinesAreChecked) {
  for (double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    start();
    expect_error(command_of("prepare", 1, bad), rpc::CAUSE_BAD_INPUT, "deadline");
  }
  start();
  expect_error(command_of("prepare", 1, 601), rpc::CAUSE_REFUSED, "leases end after 600 s");
}

TEST_F(LeaseTest, DeadlinesCountFromArrival) {
  start();
  for (const char* phase : {"prepare", "connect", "barrier"}) expect_done(phase);
  doings_.block_run = true;
  const std::int64_t begun = now_ns();
  const rpc::Event event = lease_->perform(command_of("run", 1, 10), begun - 10'000'000'000);
  EXPECT_EQ(event.error().cause(), rpc::CAUSE_DEADLINE);
  EXPECT_LT(seconds_since(begun).value, 5);
}

rpc::Command job_command(const std::function<void(run::Job&)>& change) {
  run::Job job = some_job();
  change(job);
  rpc::Command command = command_of("prepare");
  *command.mutable_prepare()->mutable_job() = wire::to_wire(job);
  return command;
}

TEST_F(LeaseTest, JobsAreHeldToTheLease) {
  start();
  expect_error(job_command([](run::Job& j) { j.nodes[1] = "node9"; }), rpc::CAUSE_BAD_INPUT,
               "not those of the lease");
  start();
  expect_error(job_command([](run::Job& j) {
                 j.seats = {{1, 0, 0}};
               }),
               rpc::CAUSE_BAD_INPUT, "no rank on this node");
  start();
  expect_error(job_command([](run::Job& j) { j.seats[0].process = 1; }), rpc::CAUSE_BAD_INPUT, "process 1");
  start();
  expect_error(job_command([](run::Job& j) {
                 j.seats = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}};
               }),
               rpc::CAUSE_BAD_INPUT, "3 ranks here");
  start();
  expect_error(job_command([](run::Job& j) { j.algorithm = collective::AlgorithmId::barrier; }),
               rpc::CAUSE_BAD_INPUT, "barrier");
}

TEST_F(LeaseTest, MemoryIsLimited) {
  Limits limits = some_limits();
  limits.bytes = Bytes(1 << 20);
  start(some_acquire(), limits);
  expect_error(job_command([](run::Job& j) { j.call.elements = 1 << 20; }), rpc::CAUSE_REFUSED,
               "1M are allowed");
  start(some_acquire(), limits);
  expect_error(job_command([](run::Job& j) { j.call.elements = std::uint64_t(1) << 47; }), rpc::CAUSE_REFUSED,
               "1M are allowed");
  start(some_acquire(), limits);
  expect_done("prepare");
}

TEST_F(LeaseTest, MemoryOfAnAggregatorIsItsSlots) {
  Limits limits = some_limits();
  limits.bytes = Bytes(1 << 20);
  const auto with = [](int worker, int aggregator, std::uint32_t streams, bool input) {
    return job_command([=](run::Job& j) {
      j.algorithm = collective::AlgorithmId::omnireduce;
      j.seats = {{worker, 0, 0}, {aggregator, 0, 0}};
      j.call.elements = input ? 150'000 : 1 << 20;
      j.call.omni = {1, 1, 256, streams, 1, false};
      if (!input) return;
      auto own = std::make_shared<run::Input>();
      own->elements = j.call.elements;
      own->rows.emplace_back(j.call.bytes());
      j.input = own;
    });
  };
  start(some_acquire(), limits);
  EXPECT_FALSE(play(with(1, 0, 2, false)).has_error());
  start(some_acquire(), limits);
  expect_error(with(1, 0, 4096, false), rpc::CAUSE_REFUSED, "1M are allowed");
  start(some_acquire(), limits);
  expect_error(with(0, 1, 2, false), rpc::CAUSE_REFUSED, "1M are allowed");
  start(some_acquire(), limits);
  expect_error(with(0, 1, 2, true), rpc::CAUSE_REFUSED,
               "1M are allowed");  // the data, and where it came from
}

TEST_F(LeaseTest, RanksAreLimited) {
  Limits limits = some_limits();
  limits.ranks = 1;
  Lease lease(some_acquire(), limits, fakes(doings_));
  const auto started = lease.start(Deadline::in(Seconds(1)));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().cause, Cause::refused);
  EXPECT_EQ(doings_.alive, 0);
}

TEST_F(LeaseTest, ProcessesAreLimited) {
  Limits limits = some_limits();
  limits.ranks = 16;
  wire::Acquire many = some_acquire();
  many.member.processes = 128;
  Lease lease(many, limits, fakes(doings_));
  const auto started = lease.start(Deadline::in(Seconds(1)));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().cause, Cause::refused);
  EXPECT_EQ(started.error().what, "128 processes are asked for, 16 ranks are allowed on this node");
  EXPECT_EQ(doings_.alive, 0);
}

TEST_F(LeaseTest, PeersStayWhereTheyAre) {
  start();
  for (const char* phase : {"prepare", "connect", "barrier", "run", "collect", "prepare"}) expect_done(phase);
  rpc::Command elsewhere = command_of("connect");
  *elsewhere.mutable_connect() = wire::to_wire(wire::Addresses{{{"10.0.0.1", 7000}}, {{"192.0.2.7", 25}}});
  expect_error(elsewhere, rpc::CAUSE_REFUSED, "node1 was at 10.0.0.2");
  start();
  expect_done("prepare");
  // Neither to others' services nor to this machine's, by a number or by a name.
  for (const char* host :
       {"192.0.2.7", "169.254.169.254", "127.0.0.1", "10.0.1.2", "node1", "255.255.255.255"}) {
    start();
    expect_done("prepare");
    rpc::Command foreign = command_of("connect");
    *foreign.mutable_connect() = wire::to_wire(wire::Addresses{{{"10.0.0.1", 7000}}, {{host, 22}}});
    expect_error(foreign, rpc::CAUSE_REFUSED, "node1 is said to be at");
  }
  start();
  expect_done("prepare");
  rpc::Command own = command_of("connect");
  *own.mutable_connect() = wire::to_wire(wire::Addresses{{{"10.0.0.1", 22}}, {{"10.0.0.2", 7000}}});
  expect_error(own, rpc::CAUSE_BAD_INPUT, "not the one that it listens on");
  start();
  expect_done("prepare");
  rpc::Command fewer = command_of("connect");
  *fewer.mutable_connect() = wire::to_wire(wire::Addresses{{{"10.0.0.1", 7000}}});
  expect_error(fewer, rpc::CAUSE_BAD_INPUT, "not those of the lease's nodes");
}

TEST_F(LeaseTest, WithoutAListOfNetworksThereIsNone) {
  Limits limits = some_limits();
  limits.peers =
      Peers({}, [] { return fail(Cause::unavailable, "cannot list this node's interfaces: why"); });
  Lease lease(some_acquire(), limits, fakes(doings_));
  const auto started = lease.start(Deadline::in(Seconds(1)));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().what, "cannot list this node's interfaces: why");
  EXPECT_EQ(doings_.alive, 0);
}

TEST(InterfaceAddress, LoopbackAndUnknown) {
  const auto address = interface_address("lo");
  ASSERT_TRUE(address) << address.error().text();
  EXPECT_EQ(*address, "127.0.0.1");
  const auto unknown = interface_address("nowhere7");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().next.find("lo"), std::string::npos) << unknown.error().next;
}

TEST_F(LeaseTest, GivesSpareRanksAsFarAsTheyAreAllowed) {
  wire::Acquire acquire = some_acquire();
  acquire.spare_ranks = 6;
  Limits limits = some_limits();
  limits.ranks = 256;
  start(acquire, limits);
  EXPECT_EQ(lease_->ranks(), 8);
  limits.ranks = 3;
  start(acquire, limits);
  EXPECT_EQ(lease_->ranks(), 3);
  run::Job job = some_job();
  job.seats = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {1, 0, 0}};
  rpc::Command command = command_of("prepare");
  *command.mutable_prepare()->mutable_job() = wire::to_wire(job);
  expect_error(command, rpc::CAUSE_BAD_INPUT, "4 ranks here, the lease is for 3");
}

}  // namespace
}  // namespace ringtrue::daemon
