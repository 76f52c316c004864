#include "daemon/lease_manager.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/daemon/fake_workers.h"

namespace ringtrue::daemon {
namespace {

class FakeClient final : public LeaseManager::Client {
 public:
  void send(rpc::Event event) override {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  void ended(const Error& why) override {
    std::lock_guard lock(mutex_);
    why_ = why;
    changed_.notify_all();
  }
  rpc::Event event(std::size_t index) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return events_.size() > index; })) return {};
    return events_[index];
  }
  std::optional<Error> end() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return why_.has_value(); });
    return why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rpc::Event> events_;
  std::optional<Error> why_;
};

class LeaseManagerTest : public testing::Test {
 protected:
  Result<LeaseManager::Ticket> acquire(const std::shared_ptr<FakeClient>& client, const std::string& holder) {
    return leases_.acquire(some_acquire(holder), 1, Deadline::in(Seconds(5)), client);
  }
  void up_to_run(LeaseManager::Ticket ticket) {
    for (const char* phase : {"prepare", "connect", "barrier", "run"})
      leases_.command(ticket, command_of(phase, 5));
  }
  void wait_for_phase(const std::string& phase) {
    const Deadline deadline = Deadline::in(Seconds(10));
    while (leases_.status().phase != phase && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(leases_.status().phase, phase);
  }
  Doings doings_;
  LeaseManager leases_{"node0", some_limits(), fakes(doings_)};
  std::shared_ptr<FakeClient> alice_ = std::make_shared<FakeClient>(), bob_ = std::make_shared<FakeClient>();
};

TEST_F(LeaseManagerTest, LendsToOneAtATime) {
  const auto first = acquire(alice_, "alice");
  ASSERT_TRUE(first);
  ASSERT_TRUE(alice_->event(0).has_acquired());
  EXPECT_EQ(alice_->event(0).acquired().node(), "node0");
  EXPECT_EQ(leases_.status().holder, "alice");
  const auto second = acquire(bob_, "bob");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().cause, Cause::refused);
  EXPECT_NE(second.error().what.find("leased to alice for"), std::string::npos) << second.error().what;
  leases_.command(*first, command_of("release", 2));
  ASSERT_TRUE(alice_->end());
  EXPECT_TRUE(alice_->end()->what.empty());
  ASSERT_TRUE(leases_.wait_until_free(Deadline::in(Seconds(5))));
  EXPECT_EQ(doings_.alive, 0);
  EXPECT_EQ(leases_.status().holder, "");
  EXPECT_TRUE(acquire(bob_, "bob"));
}

TEST_F(LeaseManagerTest, CountsLeasesByTheirEndsAndRuns) {
  const auto ended = [&](LeaseEnd end) { return leases_.tally().leases[std::size_t(end)].load(); };
  EXPECT_FALSE(leases_.tally().held);
  const auto first = acquire(alice_, "alice");
  ASSERT_TRUE(first);
  EXPECT_TRUE(leases_.tally().held);
  EXPECT_FALSE(acquire(bob_, "bob"));
  up_to_run(*first);
  leases_.command(*first, command_of("release", 6));
  ASSERT_TRUE(alice_->end());
  const auto second = acquire(bob_, "bob");
  ASSERT_TRUE(second);
  leases_.leave(*second, "the operator's stream ended");
  ASSERT_TRUE(bob_->end());
  ASSERT_TRUE(leases_.wait_until_free(Deadline::in(Seconds(5))));
  EXPECT_FALSE(leases_.tally().held);
  EXPECT_EQ(ended(LeaseEnd::refused), 1u);
  EXPECT_EQ(ended(LeaseEnd::released), 1u);
  EXPECT_EQ(ended(LeaseEnd::lost), 1u);
  EXPECT_EQ(ended(LeaseEnd::failed), 0u);
  EXPECT_EQ(leases_.tally().runs, 1u);
  doings_.fail_start = true;
  alice_ = std::make_shared<FakeClient>();
  ASSERT_TRUE(acquire(alice_, "alice"));
  ASSERT_TRUE(alice_->end());
  EXPECT_EQ(ended(LeaseEnd::failed), 1u);
}

TEST_F(LeaseManagerTest, CountsWorkersByTheirEnds) {
  const auto ended = [&](worker::End end) { return leases_.tally().workers[std::size_t(end)].load(); };
  for (const bool fails : {false, true}) {
    doings_.fail_run = fails;
    alice_ = std::make_shared<FakeClient>();
    const auto ticket = acquire(alice_, "alice");
    ASSERT_TRUE(ticket);
    up_to_run(*ticket);
    leases_.command(*ticket, command_of("release", 6));
    ASSERT_TRUE(alice_->end());
    ASSERT_TRUE(leases_.wait_until_free(Deadline::in(Seconds(5))));
  }
  EXPECT_EQ(ended(worker::End::normal), 1u);
  EXPECT_EQ(ended(worker::End::crashed), 1u);
}

TEST_F(LeaseManagerTest, CountsWhatRunsSendFromHere) {
  run::Hop hop;  // from node0, which is here
  hop.source = 0;
  hop.destination = 1;
  hop.bytes = Bytes(1000);
  hop.tcp.emplace();
  run::Hop back = hop;  // what the other node sends is its own to count
  back.source = 1;
  back.destination = 0;
  back.receiver = true;
  run::Hop inside = hop;
  inside.destination = 0;
  inside.bytes = Bytes(7);
  inside.tcp.reset();
  doings_.hops = {hop, back, inside};
  const auto ticket = acquire(alice_, "alice");
  ASSERT_TRUE(ticket);
  for (int run = 0; run < 2; ++run) {
    up_to_run(*ticket);
    leases_.command(*ticket, command_of("collect", 6));
  }
  leases_.command(*ticket, command_of("release", 7));
  ASSERT_TRUE(alice_->end());
  ASSERT_TRUE(alice_->end()->what.empty());
  const auto sent = [&](run::Transport t) { return leases_.tally().sent[std::size_t(t)].load(); };
  EXPECT_EQ(sent(run::Transport::tcp), 2000u);
  EXPECT_EQ(sent(run::Transport::shm), 14u);
  EXPECT_EQ(sent(run::Transport::verbs), 0u);
}

TEST_F(LeaseManagerTest, TheNextOneWaitsUntilTheLastHasGone) {
  doings_.block_run = true;
  const auto first = acquire(alice_, "alice");
  ASSERT_TRUE(first);
  up_to_run(*first);
  wait_for_phase("run");
  leases_.leave(*first, "the operator's stream ended");
  ASSERT_TRUE(acquire(bob_, "bob"));
  ASSERT_TRUE(bob_->event(0).has_acquired());
  EXPECT_EQ(alice_->end()->what, "the operator's stream ended");
  EXPECT_EQ(doings_.alive, 1);
  EXPECT_EQ(leases_.status().holder, "bob");
}

TEST_F(LeaseManagerTest, WorkersThatDoNotStartFreeTheNode) {
  doings_.fail_start = true;
  ASSERT_TRUE(acquire(alice_, "alice"));
  EXPECT_EQ(alice_->event(0).error().what(), "no worker");
  EXPECT_EQ(alice_->event(0).error().where().node(), "node0");
  EXPECT_EQ(alice_->end()->cause, Cause::unavailable);
  EXPECT_TRUE(leases_.wait_until_free(Deadline::in(Seconds(5))));
}

TEST_F(LeaseManagerTest, AbortOvertakesTheQueue) {
  doings_.block_run = true;
  const auto ticket = acquire(alice_, "alice");
  ASSERT_TRUE(ticket);
  up_to_run(*ticket);
  wait_for_phase("run");
  leases_.command(*ticket, command_of("abort", 6));
  EXPECT_EQ(alice_->event(4).error().cause(), rpc::CAUSE_CANCELLED);
  EXPECT_TRUE(alice_->event(5).has_done());
  EXPECT_EQ(alice_->event(5).sequence(), 6u);
}

TEST_F(LeaseManagerTest, DrainLetsTheRunFinish) {
  doings_.block_run = true;
  const auto ticket = acquire(alice_, "alice");
  ASSERT_TRUE(ticket);
  up_to_run(*ticket);
  wait_for_phase("run");
  leases_.drain();
  EXPECT_FALSE(acquire(bob_, "bob"));
  EXPECT_FALSE(leases_.wait_until_free(Deadline::in(Seconds(0.05))));
  doings_.block_run = false;
  leases_.command(*ticket, command_of("collect", 7));
  EXPECT_TRUE(alice_->event(5).has_report());
  EXPECT_TRUE(leases_.wait_until_free(Deadline::in(Seconds(5))));
  EXPECT_EQ(alice_->end()->cause, Cause::stopping);
  EXPECT_EQ(alice_->end()->what, "ringtrued is being stopped or upgraded");
}

TEST_F(LeaseManagerTest, StopEndsTheRun) {
  doings_.block_run = true;
  const auto ticket = acquire(alice_, "alice");
  ASSERT_TRUE(ticket);
  up_to_run(*ticket);
  wait_for_phase("run");
  leases_.stop();
  EXPECT_EQ(doings_.alive, 0);
  // The run was cut short by this node, and it says so: its peers, which lose it, are not to blame.
  EXPECT_EQ(alice_->event(4).error().cause(), rpc::CAUSE_STOPPING);
  EXPECT_EQ(alice_->event(4).error().where().node(), "node0");
  EXPECT_TRUE(alice_->end());
  EXPECT_FALSE(acquire(bob_, "bob"));
}

TEST_F(LeaseManagerTest, LeasesEnd) {
  Limits limits = some_limits();
  limits.lease = Seconds(0.05);
  leases_.set_limits(limits);
  ASSERT_TRUE(acquire(alice_, "alice"));
  ASSERT_TRUE(alice_->end());
  EXPECT_NE(alice_->end()->what.find("as long as this node allows"), std::string::npos);
}

TEST_F(LeaseManagerTest, FloodsOfCommandsEndTheLease) {
  doings_.block_run = true;
  const auto ticket = acquire(alice_, "alice");
  ASSERT_TRUE(ticket);
  up_to_run(*ticket);
  wait_for_phase("run");
  for (int i = 0; i < 100; ++i) leases_.command(*ticket, command_of("barrier", 10 + std::uint64_t(i)));
  ASSERT_TRUE(alice_->end());
  EXPECT_NE(alice_->end()->what.find("faster than"), std::string::npos) << alice_->end()->what;
}

}  // namespace
}  // namespace ringtrue::daemon
