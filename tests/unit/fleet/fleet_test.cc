#include "fleet/fleet.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "run/job.h"
#include "run/report.h"
#include "tests/unit/fleet/fake_daemon.h"
#include "tests/unit/fleet/temporary.h"
#include "wire/versions.h"

namespace ringtrue::fleet {
namespace {

using Do = FakeDaemon::Do;
using testing::ElementsAre;
using testing::HasSubstr;

class Fleets : public testing::Test {
 protected:
  void start(int nodes) {
    for (int i = 0; i < nodes; ++i)
      daemons_.push_back(std::make_unique<FakeDaemon>("node" + std::to_string(i)));
    options_.phase_deadline = Seconds(0.5);
    options_.run_deadline = Seconds(0.5);
    options_.holder = "alice@login1 (check)";
  }
  std::vector<Target> targets() const {
    std::vector<Target> all;
    for (const auto& d : daemons_) all.push_back(d->target());
    return all;
  }
  // Leases, runs over all nodes and lets go.
  FleetResult<run::RunReport> play() {
    auto fleet = Fleet::lease(targets(), options_);
    if (!fleet) return tl::unexpected(fleet.error());
    return (*fleet)->run(job());
  }
  run::Job job() const {
    std::vector<int> order;
    for (std::size_t i = 0; i < daemons_.size(); ++i) order.push_back(int(i));
    return job_over(targets(), order, options_);
  }
  FakeDaemon& daemon(int node) { return *daemons_[std::size_t(node)]; }
  void expect_nothing_held() {
    for (int i = 0; i < int(daemons_.size()); ++i) {
      const Deadline soon = Deadline::in(Seconds(1));
      while (daemon(i).leased() && !soon.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(daemon(i).leased()) << i;
    }
  }

  std::vector<std::unique_ptr<FakeDaemon>> daemons_;
  Options options_;
};

Error lost(const std::string& node) {
  return {Cause::peer_lost, "lost a rank on " + node, node, ""};
}

TEST_F(Fleets, PlayAllPhasesOnAllNodes) {
  start(3);
  options_.processes = options_.ranks_per_node = 2;
  std::mutex mutex;
  std::vector<Phase> begun;
  options_.progress = [&](Phase phase, int answered, int nodes) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(nodes, 3);
    if (answered == 3) begun.push_back(phase);
  };
  const auto report = play();
  ASSERT_TRUE(report) << report.error().summary().text();
  EXPECT_THAT(begun, ElementsAre(Phase::lease, Phase::prepare, Phase::connect, Phase::barrier, Phase::run,
                                 Phase::collect));
  ASSERT_EQ(report->ranks.size(), 6u);
  EXPECT_EQ(report->ranks[5].rank, 5);
  EXPECT_DOUBLE_EQ(report->cpu_s, 1.5);
  EXPECT_THAT(daemon(1).log(), ElementsAre(Phase::lease, Phase::prepare, Phase::connect, Phase::barrier,
                                           Phase::run, Phase::collect, Phase::release));
  const wire::Acquire acquire = daemon(2).acquired();
  EXPECT_EQ(acquire.member.node, 2);
  EXPECT_EQ(acquire.holder, "alice@login1 (check)");
  EXPECT_EQ(acquire.member.secret.size(), 32u);
  EXPECT_EQ(acquire.member.secret, daemon(0).acquired().member.secret);
  const wire::Addresses addresses = daemon(0).addresses();
  ASSERT_EQ(addresses.size(), 3u);
  ASSERT_EQ(addresses[2].size(), 2u);
  EXPECT_EQ(addresses[2][1].host, "127.0.0.1");
  EXPECT_EQ(addresses[2][1].port, 5001);
  expect_nothing_held();
}

TEST_F(Fleets, SecretsDifferFromLeaseToLease) {
  start(1);
  ASSERT_TRUE(play());
  const std::string first = daemon(0).acquired().member.secret;
  expect_nothing_held();
  ASSERT_TRUE(play());
  EXPECT_NE(daemon(0).acquired().member.secret, first);
}

TEST_F(Fleets, RunSeveralJobsAndLeaveNodesOut) {
  start(3);
  auto fleet = Fleet::lease(targets(), options_);
  ASSERT_TRUE(fleet) << fleet.error().summary().text();
  const auto all = (*fleet)->run(job());
  ASSERT_TRUE(all);
  const auto pair = (*fleet)->run(job_over(targets(), {2, 0}, options_));
  ASSERT_TRUE(pair) << pair.error().summary().text();
  EXPECT_EQ(pair->ranks.size(), 2u);
  EXPECT_THAT(daemon(1).log(), ElementsAre(Phase::lease, Phase::prepare, Phase::connect, Phase::barrier,
                                           Phase::run, Phase::collect));
  EXPECT_TRUE(daemon(0).addresses()[1].empty());
  EXPECT_EQ(daemon(0).job().seats[0].node, 2);
  // All that take part sign the datagrams of a run alike, and no two runs do.
  EXPECT_EQ(daemon(0).job().run, 2u);
  EXPECT_EQ(daemon(1).job().run, 1u);
}

TEST_F(Fleets, BelieveNoDaemonOfAnotherName) {
  start(2);
  daemon(1).claim("node0");
  const auto done = play();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().summary().text(), HasSubstr("node1"));
  EXPECT_THAT(done.error().summary().text(), HasSubstr("its daemon calls itself node0"));
}

TEST_F(Fleets, SendPeersToNobodyElse) {
  start(2);
  for (const char* elsewhere : {"10.0.0.9", "169.254.169.254", "node0", "127.0.0.2"}) {
    daemon(1).want_data_at(elsewhere);
    const auto done = play();
    ASSERT_FALSE(done) << elsewhere;
    EXPECT_THAT(done.error().summary().text(), HasSubstr("node1"));
    EXPECT_THAT(done.error().summary().text(),
                HasSubstr(std::string("its daemon wants its data at ") + elsewhere));
    expect_nothing_held();
  }
  options_.data_interface = "eth0";
  for (const char* nobody : {"169.254.169.254", "0.0.0.0", "239.0.0.1", "node0", "fe80::1"}) {
    daemon(1).want_data_at(nobody);
    const auto done = play();
    ASSERT_FALSE(done) << nobody;
    EXPECT_THAT(done.error().summary().text(), HasSubstr("where no peer can reach it"));
  }
  for (const char* fine : {"10.0.0.9", "127.0.0.1", ""}) {
    daemon(1).want_data_at(fine);
    EXPECT_TRUE(play()) << fine;
  }
}

// Nothing counted is not nothing wrong.
TEST_F(Fleets, BelieveNoReportThatLeavesRanksOut) {
  start(2);
  daemon(1).leave_ranks_out();
  const auto done = play();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().failures[0].node, "node1");
  EXPECT_EQ(done.error().failures[0].error.cause, Cause::corrupted);
  EXPECT_THAT(done.error().summary().text(), HasSubstr("no report of rank 1"));
}

TEST_F(Fleets, WorkOverUnixSockets) {
  const TemporaryFolder folder;
  daemons_.push_back(std::make_unique<FakeDaemon>("here", nullptr, folder.path("r.sock")));
  options_.pki = "/nowhere";  // not needed, so not read
  const auto report = play();
  ASSERT_TRUE(report) << report.error().summary().text();
}

TEST_F(Fleets, WorkOverMutualTls) {
  const TemporaryFolder folder;
  const std::string dir = folder.path("pki");
  ASSERT_TRUE(pki::init_authority(dir));
  ASSERT_TRUE(pki::issue_certificates(dir, {"node0", "node1"}, {}));
  for (const std::string node : {"node0", "node1"}) {
    const auto credentials = pki::load_node_credentials(dir, node);
    ASSERT_TRUE(credentials);
    daemons_.push_back(std::make_unique<FakeDaemon>(node, &*credentials));
  }
  options_.pki = dir;
  const auto report = play();
  ASSERT_TRUE(report) << report.error().summary().text();
  EXPECT_EQ(report->ranks.size(), 2u);

  // The same daemon under another name is not believed.
  std::vector<Target> wrong = targets();
  std::swap(wrong[0].port, wrong[1].port);
  const auto refused = Fleet::lease(wrong, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().summary().what, "node0's certificate is not for node0; also node1");

  options_.pki.clear();
  const auto plain = Fleet::lease(targets(), options_);
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().summary().what, HasSubstr("node0 wants TLS"));
}

TEST_F(Fleets, AnotherAuthorityIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(pki::init_authority(folder.path("a")));
  ASSERT_TRUE(pki::init_authority(folder.path("b")));
  ASSERT_TRUE(pki::issue_certificates(folder.path("a"), {"node0"}, {}));
  const auto credentials = pki::load_node_credentials(folder.path("a"), "node0");
  ASSERT_TRUE(credentials);
  daemons_.push_back(std::make_unique<FakeDaemon>("node0", &*credentials));
  options_.pki = folder.path("b");
  const auto refused = Fleet::lease(targets(), options_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().summary().what, HasSubstr("node0's certificate is from another authority"));
  EXPECT_EQ(refused.error().summary().where, Subject("node0", Phase::lease));
}

TEST_F(Fleets, LeaseAllOrNone) {
  start(3);
  daemon(1).script(Phase::lease, Do::error,
                   {Cause::refused, "the node is leased to bob@login2", "node1", ""});
  const auto refused = play();
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().failures.size(), 1u);
  EXPECT_EQ(refused.error().failures[0].node, "node1");
  EXPECT_EQ(refused.error().failures[0].error.cause, Cause::refused);
  EXPECT_EQ(refused.error().summary().text(), "node1 lease: the node is leased to bob@login2");
  expect_nothing_held();
}

TEST_F(Fleets, ADaemonsLastWordsAreTold) {
  start(2);
  daemon(1).script(Phase::lease, Do::part,
                   {Cause::refused, "this needs a certificate with the role 'run'", "node1", ""});
  const auto refused = play();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().summary().text(), "node1 lease: this needs a certificate with the role 'run'");
  daemon(1).script(Phase::lease, Do::answer);
  daemon(1).script(Phase::run, Do::part, {Cause::stopping, "ringtrued is being stopped", "node1", ""});
  expect_nothing_held();
  EXPECT_EQ(play().error().summary().text(), "node1 run: ringtrued is being stopped");
}

TEST_F(Fleets, TheSecondOperatorIsToldWhoHoldsIt) {
  start(2);
  auto first = Fleet::lease(targets(), options_);
  ASSERT_TRUE(first);
  options_.holder = "bob@login2 (run)";
  const auto second = Fleet::lease(targets(), options_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().summary().what, HasSubstr("leased to alice@login1 (check)"));
  EXPECT_TRUE((*first)->run(job()));  // and the first one is not disturbed
}

TEST_F(Fleets, ANodeThatIsNotThereIsNamed) {
  start(2);
  std::vector<Target> all = targets();
  daemon(1).stop();
  const std::int64_t begun = now_ns();
  const auto refused = Fleet::lease(all, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failures[0].node, "node1");
  EXPECT_THAT(refused.error().summary().what, HasSubstr("connection refused: is ringtrued running on node1"));
  EXPECT_LT(seconds_since(begun).value, 2.0);
}

// Each way to fail at each phase: the node is named, the others are not, and nothing stays behind.
struct Mishap {
  Phase phase;
  Do what;
};
class Mishaps : public Fleets, public testing::WithParamInterface<Mishap> {};

TEST_P(Mishaps, AreNamed) {
  start(3);
  const auto [phase, what] = GetParam();
  options_.phase_deadline = options_.run_deadline = Seconds(0.3);
  daemon(1).script(phase, what, {Cause::unavailable, "no memory left", "node1", ""});
  daemon(2).script(phase, phase == Phase::lease ? Do::answer : Do::wait);
  const std::int64_t begun = now_ns();
  const auto report = play();
  EXPECT_LT(seconds_since(begun).value, 0.3 + 5);
  ASSERT_FALSE(report);
  const std::vector<Failure>& failures = report.error().failures;
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].node, "node1");
  EXPECT_EQ(failures[0].phase, phase);
  EXPECT_TRUE(failures[0].culprit);
  const bool late = what == Do::stay_quiet || what == Do::freeze;
  if (!late) {
    EXPECT_EQ(failures.size(), 1u);
  }
  if (what == Do::error) {
    EXPECT_EQ(failures[0].error.what, "no memory left");
  }
  if (late) {
    EXPECT_EQ(failures[0].error.cause, Cause::deadline);
  }
  daemon(1).script(phase, Do::answer);
  daemon(2).script(phase, Do::answer);
  expect_nothing_held();
  EXPECT_TRUE(play());  // the next run works
}

INSTANTIATE_TEST_SUITE_P(ErrorOrHangUp, Mishaps,
                         testing::Values(Mishap{Phase::lease, Do::error}, Mishap{Phase::prepare, Do::error},
                                         Mishap{Phase::connect, Do::error}, Mishap{Phase::barrier, Do::error},
                                         Mishap{Phase::run, Do::error}, Mishap{Phase::collect, Do::error},
                                         Mishap{Phase::lease, Do::hang_up},
                                         Mishap{Phase::prepare, Do::hang_up},
                                         Mishap{Phase::run, Do::hang_up}));

TEST_F(Fleets, ASilentNodeIsNamedAndThoseAffectedAreNot) {
  start(3);
  options_.run_deadline = Seconds(0.2);
  daemon(0).script(Phase::run, Do::error, lost("node1"));
  daemon(1).script(Phase::run, Do::stay_quiet);
  daemon(2).script(Phase::run, Do::error,
                   {Cause::deadline, "rank 2 waited for rank 1 on node1 (receive)", "node1", ""});
  const std::int64_t begun = now_ns();
  const auto report = play();
  EXPECT_LT(seconds_since(begun).value, 5.2);
  ASSERT_FALSE(report);
  const std::vector<Failure>& failures = report.error().failures;
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].node, "node1");
  EXPECT_TRUE(failures[0].culprit);
  EXPECT_FALSE(failures[1].culprit);
  EXPECT_FALSE(failures[2].culprit);
  EXPECT_EQ(report.error().summary().where, Subject("node1", Phase::run));
  expect_nothing_held();
}

TEST_F(Fleets, AFrozenDaemonCostsNoMoreThanTheDeadlineAndFiveSeconds) {
  start(2);
  options_.run_deadline = Seconds(0.2);
  daemon(1).script(Phase::run, Do::freeze);
  const std::int64_t begun = now_ns();
  const auto report = play();
  EXPECT_LT(seconds_since(begun).value, 5.2);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().failures[0].node, "node1");
  EXPECT_EQ(report.error().failures[0].error.cause, Cause::deadline);
  expect_nothing_held();
}

TEST_F(Fleets, OneCulpritEndsTheRunEverywhereBeforeTheDeadline) {
  start(3);
  options_.run_deadline = Seconds(30);
  daemon(0).script(Phase::run, Do::wait);
  daemon(1).script(Phase::run, Do::error, {Cause::peer_lost, "worker killed by signal 9", "", ""});
  daemon(2).script(Phase::run, Do::error, lost("node1"));
  const std::int64_t begun = now_ns();
  const auto report = play();
  EXPECT_LT(seconds_since(begun).value, 3.0);
  ASSERT_FALSE(report);
  ASSERT_EQ(report.error().failures.size(), 2u);  // node0 was told to stop: it says nothing
  EXPECT_EQ(report.error().summary().text(), "node1 run: worker killed by signal 9");
  EXPECT_THAT(daemon(0).log(), testing::Contains(Phase::abort));
}

// Leases that outlive nodes.
class OutlivingFleets : public Fleets {
 protected:
  void lease(int nodes) {
    start(nodes);
    options_.outlive_the_dead = true;
    options_.phase_deadline = options_.run_deadline = Seconds(30);
    again();
  }
  void again() {
    auto fleet = Fleet::lease(targets(), options_);
    ASSERT_TRUE(fleet) << fleet.error().summary().text();
    fleet_ = std::move(*fleet);
  }
  FleetResult<run::RunReport> play(const std::vector<int>& order) {
    return fleet_->run(job_over(targets(), order, options_));
  }
  // The run fails for node1, and another one without it works.
  void expect_node1_alone_is_lost(const std::string& why) {
    const auto broken = play({0, 1, 2});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().summary().where.node, "node1");
    EXPECT_THAT(broken.error().summary().what, HasSubstr(why));
    ASSERT_TRUE(fleet_->can_go_on());
    ASSERT_EQ(fleet_->dead().size(), 1u);
    const std::int64_t begun = now_ns();
    const auto rest = play({2, 0});
    ASSERT_TRUE(rest) << rest.error().summary().text();
    EXPECT_EQ(rest->ranks.size(), 2u);
    EXPECT_LT(seconds_since(begun).value, 3);
    // It stays left out, and nobody asks it again.
    const auto known = play({0, 1});
    ASSERT_FALSE(known);
    EXPECT_EQ(known.error().summary().text(), broken.error().summary().text());
    EXPECT_TRUE(fleet_->can_go_on());
    EXPECT_TRUE(play({0, 2}));
    fleet_.reset();
    EXPECT_FALSE(daemon(0).leased());
    EXPECT_FALSE(daemon(2).leased());
  }

  std::unique_ptr<Fleet> fleet_;
};

TEST_F(OutlivingFleets, GoOnWithoutADaemonThatIsNotThere) {
  start(3);
  std::vector<Target> all = targets();
  daemon(1).stop();
  options_.outlive_the_dead = true;
  auto fleet = Fleet::lease(all, options_);
  ASSERT_TRUE(fleet) << fleet.error().summary().text();
  EXPECT_TRUE((*fleet)->can_go_on());
  ASSERT_EQ((*fleet)->dead().size(), 1u);
  EXPECT_EQ((*fleet)->dead()[0].node, "node1");
  const auto without = (*fleet)->run(job_over(all, {0, 2}, options_));
  ASSERT_TRUE(without) << without.error().summary().text();
  const auto with = (*fleet)->run(job_over(all, {0, 1, 2}, options_));
  ASSERT_FALSE(with);
  EXPECT_EQ(with.error().summary().where, Subject("node1", Phase::lease));
  EXPECT_THAT(with.error().summary().what, HasSubstr("connection refused"));
  EXPECT_THAT(daemon(0).log(), ElementsAre(Phase::lease, Phase::prepare, Phase::connect, Phase::barrier,
                                           Phase::run, Phase::collect));
}

TEST_F(OutlivingFleets, WaitForAConnectionNoLongerThanOthersNeed) {
  start(2);
  std::vector<Target> all = targets();
  // As the machine of a daemon that is stopped: it takes connections for it, and that is all.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  all.push_back({"node2", "127.0.0.1", ntohs(address.sin_port), ""});
  options_.outlive_the_dead = true;
  options_.phase_deadline = Seconds(30);
  const std::int64_t begun = now_ns();
  auto fleet = Fleet::lease(all, options_);
  EXPECT_LT(seconds_since(begun).value, 5);
  ASSERT_TRUE(fleet) << fleet.error().summary().text();
  ASSERT_EQ((*fleet)->dead().size(), 1u);
  EXPECT_EQ((*fleet)->dead()[0].node, "node2");
  EXPECT_THAT((*fleet)->dead()[0].error.what, HasSubstr("from the start: its daemon is stopped"));
  EXPECT_TRUE((*fleet)->run(job_over(all, {0, 1}, options_)));
  ::close(listener);
}

TEST_F(OutlivingFleets, WaitForADaemonThatTookTheConnection) {
  start(3);
  options_.outlive_the_dead = true;
  daemon(1).script(Phase::lease, Do::stay_quiet);
  const auto fleet = Fleet::lease(targets(), options_);
  ASSERT_FALSE(fleet);
  EXPECT_EQ(fleet.error().summary().where.node, "node1");
  EXPECT_EQ(fleet.error().summary().cause, Cause::deadline);
  EXPECT_FALSE(fleet.error().failures[0].dead);
}

TEST_F(OutlivingFleets, DoNotGoOnWhereMostAreLost) {
  lease(5);
  for (const int node : {2, 3, 4}) daemon(node).script(Phase::run, Do::hang_up);
  ASSERT_FALSE(play({0, 1, 2, 3, 4}));
  EXPECT_FALSE(fleet_->can_go_on());
  fleet_.reset();
  std::vector<Target> all = targets();
  for (const int node : {2, 3, 4}) daemon(node).stop();
  EXPECT_FALSE(Fleet::lease(all, options_));
}

TEST_F(OutlivingFleets, AreNothingWhereOneIsLeft) {
  start(2);
  std::vector<Target> all = targets();
  daemon(1).stop();
  options_.outlive_the_dead = true;
  const auto fleet = Fleet::lease(all, options_);
  ASSERT_FALSE(fleet);
  EXPECT_EQ(fleet.error().summary().where.node, "node1");
  expect_nothing_held();
}

TEST_F(OutlivingFleets, GoOnAfterALostStream) {
  lease(3);
  daemon(0).script(Phase::run, Do::wait);
  daemon(1).script(Phase::run, Do::hang_up);
  daemon(2).script(Phase::run, Do::error, lost("node1"));
  const auto broken = play({0, 1, 2});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().summary().where, Subject("node1", Phase::run));
  EXPECT_THAT(broken.error().summary().what, HasSubstr("the last phase that it answered was barrier"));
  daemon(0).script(Phase::run, Do::answer);
  daemon(2).script(Phase::run, Do::answer);
  expect_node1_alone_is_lost("ended the lease");
}

TEST_F(OutlivingFleets, GoOnAfterAWorkerThatWasKilled) {
  lease(3);
  daemon(1).script(Phase::run, Do::error,
                   {Cause::peer_lost, "the worker was killed by signal 9 in phase run", "node1", ""});
  expect_node1_alone_is_lost("killed by signal 9");
}

TEST_F(OutlivingFleets, GoOnAfterSilence) {
  lease(3);
  daemon(1).script(Phase::connect, Do::freeze);
  const std::int64_t begun = now_ns();
  expect_node1_alone_is_lost("its daemon is stopped, or the network to it is down");
  EXPECT_LT(seconds_since(begun).value, 9);
}

TEST_F(OutlivingFleets, DoNotGoOnWhereItIsOnlySaidThatANodeIsLost) {
  lease(3);
  daemon(0).script(Phase::run, Do::error, lost("node1"));
  daemon(1).script(Phase::run, Do::wait);
  daemon(2).script(Phase::run, Do::error, lost("node1"));
  ASSERT_FALSE(play({0, 1, 2}));
  EXPECT_FALSE(fleet_->can_go_on());
  EXPECT_TRUE(fleet_->dead().empty());
}

TEST_F(OutlivingFleets, NameTheDeadBeforeThoseWhomTheyMayHaveSpoiled) {
  lease(4);
  daemon(0).script(Phase::run, Do::error, {Cause::unavailable, "port 1 of mlx5_0 went down", "node0", ""});
  daemon(3).script(Phase::run, Do::hang_up);
  const auto broken = play({0, 1, 2, 3});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().summary().where, Subject("node3", Phase::run));
  EXPECT_THAT(broken.error().summary().what, testing::Not(HasSubstr("node0")));
  ASSERT_TRUE(fleet_->can_go_on());
  // What was its own shows again, and then nobody is dead.
  const auto again = play({0, 1, 2});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().summary().where, Subject("node0", Phase::run));
  EXPECT_FALSE(fleet_->can_go_on());
}

TEST_F(OutlivingFleets, DoNotGoOnAfterAFaultOfAnotherKind) {
  lease(3);
  daemon(1).script(Phase::prepare, Do::error, {Cause::refused, "too much memory", "node1", ""});
  ASSERT_FALSE(play({0, 1, 2}));
  EXPECT_FALSE(fleet_->can_go_on());
}

TEST_F(Fleets, CancelEndsARun) {
  start(2);
  options_.run_deadline = Seconds(30);
  daemon(0).script(Phase::run, Do::wait);
  daemon(1).script(Phase::run, Do::wait);
  auto fleet = Fleet::lease(targets(), options_);
  ASSERT_TRUE(fleet);
  std::thread interrupter([&] {
    const Deadline limit = Deadline::in(Seconds(3));
    while ((daemon(0).log().empty() || daemon(0).log().back() != Phase::run) && !limit.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (*fleet)->cancel();
  });
  const std::int64_t begun = now_ns();
  const auto report = (*fleet)->run(job());
  interrupter.join();
  EXPECT_LT(seconds_since(begun).value, 3.0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().summary().cause, Cause::cancelled);
  EXPECT_THAT(daemon(1).log(), testing::Contains(Phase::abort));
  fleet->reset();
  expect_nothing_held();
}

TEST_F(Fleets, DescribeAsksEveryNode) {
  start(3);
  const std::vector<Target> all = targets();
  auto fleet = Fleet::lease({all[0]}, options_);
  ASSERT_TRUE(fleet);
  daemon(0).speak_as({"9.9.9", 99, 90});
  daemon(2).stop();
  const auto described = describe(all, options_);
  ASSERT_TRUE(described);
  const std::vector<NodeState>& states = *described;
  ASSERT_EQ(states.size(), 3u);
  EXPECT_TRUE(states[0].reachable);
  EXPECT_EQ(states[0].version, "9.9.9");
  EXPECT_FALSE(states[0].compatible);
  EXPECT_TRUE(states[1].compatible);
  EXPECT_EQ(states[0].lease, "alice@login1 (check)");
  EXPECT_TRUE(states[1].reachable);
  EXPECT_EQ(states[1].lease, "");
  EXPECT_FALSE(states[2].reachable);
  EXPECT_EQ(states[2].node, "node2");
  EXPECT_THAT(states[2].cause, HasSubstr("connection refused"));
  EXPECT_THAT(states[2].next, HasSubstr("start it there"));
}

TEST_F(Fleets, WhoAsksAllDayKeepsItsConnections) {
  start(2);
  const std::vector<Target> all = targets();
  const auto dialer = make_dialer(all, options_);
  ASSERT_TRUE(dialer);
  const auto reachable = [&] {
    std::vector<bool> out;
    for (const NodeState& state : describe(**dialer, all, Seconds(3), Gently{.keep = true}))
      out.push_back(state.reachable);
    return out;
  };
  for (int round = 0; round < 3; ++round) EXPECT_EQ(reachable(), std::vector<bool>({true, true}));
  EXPECT_EQ(daemon(0).askers().size(), 1u);
  daemon(1).stop();
  EXPECT_EQ(reachable(), std::vector<bool>({true, false}));
  daemon(1).start_again();
  EXPECT_EQ(reachable(), std::vector<bool>({true, true})) << "no back-off is waited for";
  daemon(0).stop();
  daemon(0).start_again();
  EXPECT_EQ(reachable(), std::vector<bool>({true, true})) << "what was kept is dead";
  EXPECT_EQ(daemon(0).askers().size(), 2u);
}

TEST_F(Fleets, WithoutCredentialsNobodyIsAsked) {
  start(1);
  options_.pki = "/nonexistent";
  const auto described = describe(targets(), options_);
  ASSERT_FALSE(described);
  EXPECT_THAT(described.error().what, HasSubstr("/nonexistent"));
}

TEST_F(Fleets, BadInputIsRefusedBeforeAnyoneIsAsked) {
  start(1);
  options_.processes = 2;
  EXPECT_EQ(Fleet::lease(targets(), options_).error().summary().cause, Cause::bad_input);
  options_.processes = 1;
  EXPECT_EQ(Fleet::lease({}, options_).error().summary().cause, Cause::bad_input);
  Target far{"node9", "192.0.2.1", 7464, ""};
  EXPECT_THAT(Fleet::lease({daemon(0).target(), far}, options_).error().summary().what,
              HasSubstr("of this machine alone"));
  options_.pki = "/nowhere";
  EXPECT_THAT(Fleet::lease(targets(), options_).error().summary().what, HasSubstr("no folder /nowhere"));
  EXPECT_TRUE(daemon(0).log().empty());
}

TEST(FleetErrors, NameAllCulpritsOnOneLine) {
  FleetError error;
  for (const char* node : {"node1", "node2", "node3", "node4", "node5", "node6"})
    error.failures.push_back(
        {node, Phase::run, {Cause::peer_lost, "gone", "", "look"}, std::string_view(node) != "node6"});
  EXPECT_EQ(error.summary().what, "gone; also node[2-5]");
  EXPECT_EQ(error.summary().where, Subject("node1", Phase::run));
  EXPECT_EQ(error.summary().next, "look");
}

TEST(FleetErrors, SayHowManyMoreWhereNamesDoNotFold) {
  FleetError error;
  for (char c = 'a'; c <= 'z'; ++c)
    error.failures.push_back({std::string(20, c), Phase::run, {Cause::peer_lost, "gone", "", ""}, true});
  EXPECT_THAT(error.summary().what, testing::EndsWith(" and 22 more"));
  EXPECT_LT(error.summary().what.size(), 200u);
}

TEST_F(Fleets, TheReleaseBeforeIsLeased) {
  start(3);
  daemon(0).speak_as({"0.1.0", 9, 0});
  daemon(1).speak_as({"0.2.0", 10, 9});
  const wire::Program here = wire::this_program();
  wire::speak_as({"0.2.0", 10, 9});
  const auto report = play();
  const std::vector<std::string> notes = version_notes(describe(targets(), options_).value());
  wire::speak_as(here);
  EXPECT_TRUE(report) << report.error().summary().text();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("run ringtrued 0.1.0, and this is ringtrue 0.2.0: they work together"));
}

TEST_F(Fleets, NodesOfAnOlderReleaseAreNamedInOneLine) {
  start(6);
  for (const int lagging : {1, 2, 3, 5}) daemon(lagging).speak_as({"0.1.7", 9, 9});
  const wire::Program here = wire::this_program();
  wire::speak_as({"0.3.0", 10, 10});
  for (const int current : {0, 4}) daemon(current).speak_as({"0.3.0", 10, 10});
  const auto report = play();
  const std::vector<std::string> notes = version_notes(describe(targets(), options_).value());
  wire::speak_as(here);
  ASSERT_FALSE(report);
  EXPECT_EQ(
      report.error().summary().what,
      "ringtrued is version 0.1.7 (protocol 9), the operator's ringtrue is version 0.3.0 (protocol 10); also "
      "node2, node3, node5");
  EXPECT_EQ(report.error().summary().where.node, "node1");
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("node[1-3,5] run ringtrued 0.1.7, and this is ringtrue 0.3.0: too far")));
}

TEST(Jobs, OverNodesDealTheirRanksInBlocks) {
  const std::vector<Target> targets = {{"a", "", 0, ""}, {"b", "", 0, ""}, {"c", "", 0, ""}};
  Options options;
  options.ranks_per_node = 3;
  options.processes = 2;
  const run::Job job = job_over(targets, {2, 0}, options);
  EXPECT_THAT(job.nodes, ElementsAre("a", "b", "c"));
  ASSERT_EQ(job.seats.size(), 6u);
  EXPECT_EQ(job.seats[0], (run::Seat{2, 0, 0}));
  EXPECT_EQ(job.seats[2], (run::Seat{2, 1, 2}));
  EXPECT_EQ(job.seats[3], (run::Seat{0, 0, 0}));
}

TEST_F(Fleets, HaveAsManySpareRanksAsEveryNodeAllows) {
  start(3);
  options_.spare_ranks = 7;
  {
    const auto fleet = Fleet::lease(targets(), options_);
    ASSERT_TRUE(fleet) << fleet.error().summary().text();
    EXPECT_EQ((*fleet)->ranks_per_node(), 8);
  }
  expect_nothing_held();
  daemon(1).allow_ranks(3);
  const auto fleet = Fleet::lease(targets(), options_);
  ASSERT_TRUE(fleet) << fleet.error().summary().text();
  EXPECT_EQ((*fleet)->ranks_per_node(), 3);
}

}  // namespace
}  // namespace ringtrue::fleet
