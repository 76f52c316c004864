// The daemon as a whole, over its Unix socket.
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>

#include <cmath>

#include "probe/recording.h"
#include "run/device_event.h"
#include "run/job.h"
#include "run/json.h"
#include "tests/unit/daemon/daemon_process.h"

namespace ringtrue::daemon {
namespace {

class RingtruedTest : public testing::Test {
 protected:
  void SetUp() override {
    daemon_ = std::make_unique<DaemonProcess>(
        std::vector<std::string>{"--state", folder_ / "state", "--node", "node0"},
        folder_ / ("log" + std::to_string(starts_++)));
    ASSERT_TRUE(daemon_->says("listening")) << daemon_->log();
    stub_ = rpc::Node::NewStub(grpc::CreateChannel("unix:" + (folder_ / "state/ringtrued.sock"),
                                                   grpc::InsecureChannelCredentials()));
  }
  rpc::DescribeReply describe() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    rpc::DescribeReply reply;
    const grpc::Status status = stub_->Describe(&context, {}, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }
  static rpc::Command acquire(const std::string& holder, double heartbeat = 1, int processes = 1) {
    wire::Acquire a;
    a.holder = holder;
    a.member.secret = std::string(32, 's');
    a.nodes = {"node0"};
    a.ranks_per_node = 2;
    a.heartbeat = Seconds(heartbeat);
    a.member.processes = processes;
    rpc::Command command;
    *command.mutable_acquire() = wire::to_wire(a);
    return command;
  }
  static rpc::Command prepare(std::uint64_t elements = 1000, int iterations = 2, int processes = 1) {
    run::Job job;
    job.nodes = {"node0"};
    job.seats = {{0, 0, 0}, {0, processes - 1, 1}};
    job.call.elements = elements;
    job.transport = run::Transport::shm;
    job.iterations = iterations;
    rpc::Command command;
    *command.mutable_prepare()->mutable_job() = wire::to_wire(job);
    return command;
  }
  // prepare, connect and barrier
  void bring_up(Operator& alice, const rpc::Command& job) {
    const rpc::Event prepared = alice.ask(job);
    ASSERT_TRUE(prepared.has_prepared()) << prepared.ShortDebugString();
    rpc::Command connect;
    rpc::NodeAddresses* node = connect.mutable_connect()->add_nodes();
    for (std::uint32_t port : prepared.prepared().ports()) {
      rpc::Address* address = node->add_processes();
      address->set_host("127.0.0.1");
      address->set_port(port);
    }
    const rpc::Event connected = alice.ask(connect);
    ASSERT_TRUE(connected.has_done()) << connected.ShortDebugString();
    rpc::Command barrier;
    barrier.mutable_barrier();
    ASSERT_TRUE(alice.ask(barrier).has_done());
  }
  static std::string user_name() {
    const passwd* user = ::getpwuid(::geteuid());
    return user ? user->pw_name : std::to_string(::geteuid());
  }
  bool free_again() {
    return eventually([&] { return describe().holder().empty() && daemon_->children().empty(); });
  }
  TemporaryFolder folder_;
  int starts_ = 0;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<rpc::Node::Stub> stub_;
};

TEST_F(RingtruedTest, DescribesItself) {
  const rpc::DescribeReply reply = describe();
  EXPECT_EQ(reply.protocol(), wire::protocol_version);
  EXPECT_EQ(reply.node(), "node0");
  EXPECT_EQ(reply.holder(), "");
  EXPECT_EQ(reply.role(), "run");
  EXPECT_GT(reply.cores(), 0);
  EXPECT_FALSE(reply.version().empty());
  struct stat s {};
  ASSERT_EQ(::stat((folder_ / "state/ringtrued.sock").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0660u);
  ASSERT_EQ(::stat((folder_ / "state").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0027, 0u);
  daemon_->signal(SIGTERM);
  EXPECT_EQ(daemon_->exit_status(), 0);
  EXPECT_NE(::stat((folder_ / "state/ringtrued.sock").c_str(), &s), 0) << "the socket is left";
}

TEST_F(RingtruedTest, OneDaemonAFolder) {
  DaemonProcess second({"--state", folder_ / "state", "--node", "node0"}, folder_ / "second");
  EXPECT_EQ(second.exit_status(), 1);
  EXPECT_NE(second.log().find("another ringtrued (process " + std::to_string(daemon_->pid()) + ")"),
            std::string::npos)
      << second.log();
  EXPECT_EQ(describe().node(), "node0");
}

TEST_F(RingtruedTest, TakesOverFromOneThatWasKilled) {
  daemon_->signal(SIGKILL);
  daemon_->exit_status();
  SetUp();
  EXPECT_EQ(describe().node(), "node0");
}

class RingtruedRuns : public RingtruedTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Processes, RingtruedRuns, testing::Values(1, 2));

TEST_P(RingtruedRuns, GiveRightResults) {
  Operator alice(*stub_);
  const rpc::Event acquired = alice.ask(acquire("alice", 1, GetParam()));
  ASSERT_TRUE(acquired.has_acquired()) << acquired.ShortDebugString();
  EXPECT_EQ(daemon_->children().size(), std::size_t(GetParam()));
  EXPECT_EQ(acquired.acquired().node(), "node0");
  for (int i = 0; i < 2; ++i) {
    bring_up(alice, prepare(1000, 2, GetParam()));
    rpc::Command run, collect;
    run.mutable_run();
    const rpc::Event done = alice.ask(run);
    ASSERT_TRUE(done.has_done()) << done.ShortDebugString();
    collect.mutable_collect();
    const rpc::Event event = alice.ask(collect);
    ASSERT_TRUE(event.has_report()) << event.ShortDebugString();
    const auto report = wire::from_wire(event.report());
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_EQ(report->ranks.size(), 2u);
    EXPECT_EQ(report->ranks[0].wrong + report->ranks[1].wrong, 0u);
    EXPECT_EQ(report->ranks[0].time_s.size(), 2u);
  }
  rpc::Command release;
  release.mutable_release();
  EXPECT_TRUE(alice.ask(release).has_done());
  EXPECT_TRUE(alice.finish().ok());
  EXPECT_TRUE(free_again());
}

TEST_F(RingtruedTest, TellsTheSecondOperatorWhoHoldsTheLease) {
  Operator alice(*stub_), bob(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice@login1 (check)")).has_acquired());
  const rpc::Event refused = bob.ask(acquire("bob"));
  EXPECT_EQ(refused.error().cause(), rpc::CAUSE_REFUSED);
  // By the kernel's word, not by hers.
  const std::string alice_is = "user " + user_name();
  EXPECT_NE(refused.error().what().find("leased to " + alice_is), std::string::npos)
      << refused.error().what();
  EXPECT_EQ(refused.error().where().node(), "node0");
  bob.finish();
  EXPECT_EQ(describe().holder(), alice_is);
  EXPECT_TRUE(daemon_->says("taken by " + alice_is));
  alice.finish();
  EXPECT_TRUE(free_again());
}

TEST_F(RingtruedTest, RefusesAnotherVersion) {
  Operator old(*stub_);
  rpc::Command command = acquire("alice");
  command.mutable_acquire()->set_protocol(wire::protocol_version + 1);
  command.mutable_acquire()->set_version("9.9.9");
  const rpc::Event event = old.ask(command);
  EXPECT_EQ(event.error().cause(), rpc::CAUSE_REFUSED);
  EXPECT_NE(event.error().what().find("9.9.9"), std::string::npos) << event.error().what();
  EXPECT_NE(event.error().what().find(describe().version()), std::string::npos) << event.error().what();
  old.finish();
}

TEST_F(RingtruedTest, RefusesWhatDoesNotBeginWithAcquire) {
  Operator stranger(*stub_);
  rpc::Command run;
  run.mutable_run();
  EXPECT_EQ(stranger.ask(run).error().cause(), rpc::CAUSE_BAD_INPUT);
  stranger.finish();
  EXPECT_EQ(describe().holder(), "");
}

TEST_F(RingtruedTest, AKilledWorkerCostsTheRunOnly) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  bring_up(alice, prepare());
  ASSERT_EQ(daemon_->children().size(), 1u);
  ::kill(daemon_->children().front(), SIGKILL);
  rpc::Command run;
  run.mutable_run();
  const rpc::Event event = alice.ask(run);
  EXPECT_EQ(event.error().what(), "the worker was killed by signal 9 in phase run");
  EXPECT_EQ(event.error().where().node(), "node0");
  alice.finish();
  EXPECT_TRUE(free_again());
}

TEST_F(RingtruedTest, AStoppedWorkerIsKilledBeforeTheDeadline) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  bring_up(alice, prepare());
  ::kill(daemon_->children().front(), SIGSTOP);
  rpc::Command run;
  run.mutable_run();
  run.set_deadline_s(60);
  const std::int64_t begun = now_ns();
  const rpc::Event event = alice.ask(run);
  EXPECT_LT(seconds_since(begun).value, 4);
  EXPECT_EQ(event.error().cause(), rpc::CAUSE_PEER_LOST);
  EXPECT_NE(event.error().what().find("did not answer in phase run"), std::string::npos)
      << event.error().what();
  alice.finish();
  EXPECT_TRUE(free_again());
}

TEST_F(RingtruedTest, ABrokenStreamEndsTheRun) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  bring_up(alice, prepare(1 << 20, 1'000'000));
  rpc::Command run;
  run.mutable_run();
  run.set_sequence(77);
  run.set_deadline_s(60);
  alice.write(run);
  ASSERT_TRUE(eventually([&] { return describe().phase() == "run"; }));
  alice.cancel();
  EXPECT_TRUE(
      eventually([&] { return describe().holder().empty() && daemon_->children().empty(); }, Seconds(4)));
}

TEST_F(RingtruedTest, AbortEndsTheRun) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  bring_up(alice, prepare(1 << 20, 1'000'000));
  rpc::Command run, abort;
  run.mutable_run();
  run.set_sequence(77);
  run.set_deadline_s(60);
  alice.write(run);
  ASSERT_TRUE(eventually([&] { return describe().phase() == "run"; }));
  abort.mutable_abort();
  abort.set_sequence(78);
  abort.set_deadline_s(5);
  const std::int64_t begun = now_ns();
  alice.write(abort);
  EXPECT_EQ(alice.answer(77).error().cause(), rpc::CAUSE_CANCELLED);
  EXPECT_TRUE(alice.answer(78).has_done());
  EXPECT_LT(seconds_since(begun).value, 3);
  alice.finish();
  EXPECT_TRUE(free_again());
}

TEST_F(RingtruedTest, SilenceEndsTheLease) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice", 0.1)).has_acquired());
  const std::int64_t begun = now_ns();
  EXPECT_TRUE(eventually([&] { return describe().holder().empty(); }, Seconds(3)));
  EXPECT_GT(seconds_since(begun).value, 0.2);
  EXPECT_TRUE(daemon_->says("nothing was heard of the operator"));
}

TEST_F(RingtruedTest, HeartbeatsKeepTheLease) {
  Operator alice(*stub_);
  // Three that stay away end a lease: on a busy machine a tenth of a second would be too short.
  ASSERT_TRUE(alice.ask(acquire("alice", 0.3)).has_acquired());
  rpc::Event event;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(alice.read(event));
    EXPECT_TRUE(event.has_heartbeat());
    alice.write(Operator::beat());
  }
  EXPECT_EQ(describe().holder(), "user " + user_name());
  alice.finish();
}

TEST_F(RingtruedTest, TerminationEndsTheLease) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  daemon_->signal(SIGTERM);
  const grpc::Status status = alice.wait_for_end();
  EXPECT_NE(status.error_message().find("being stopped"), std::string::npos) << status.error_message();
  EXPECT_EQ(daemon_->exit_status(Seconds(8)), 0);
}

TEST_F(RingtruedTest, AKilledDaemonTakesItsWorkersAlong) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  const std::vector<pid_t> workers = daemon_->children();
  ASSERT_EQ(workers.size(), 1u);
  daemon_->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] {
    return ::kill(workers.front(), 0) != 0 || [&] {
      std::ifstream file("/proc/" + std::to_string(workers.front()) + "/stat");
      std::string pid, name, state;
      file >> pid >> name >> state;
      return state == "Z" || state.empty();
    }();
  }));
}

TEST_F(RingtruedTest, ReloadIsLogged) {
  daemon_->signal(SIGHUP);
  EXPECT_TRUE(daemon_->says("reloaded the configuration"));
  EXPECT_EQ(describe().node(), "node0");
}

TEST_F(RingtruedTest, TellsWhatIsInItsNodeWhoeverHoldsIt) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  const auto inspect = [&](double window) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    rpc::InspectRequest request;
    request.set_window_s(window);
    rpc::InspectReply reply;
    const grpc::Status status = stub_->Inspect(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  };
  const rpc::InspectReply reply = inspect(0.1);
  ASSERT_FALSE(reply.has_error()) << reply.error().what();
  EXPECT_EQ(reply.node(), "node0");
  const auto cluster = probe::read_any(reply.recording(), "reply");
  ASSERT_TRUE(cluster) << cluster.error().text();
  ASSERT_EQ(cluster->nodes.size(), 1u);
  EXPECT_EQ(cluster->nodes[0].name, "node0");
  EXPECT_TRUE(cluster->nodes[0].system.kernel.known());
  ASSERT_TRUE(cluster->nodes[0].window);
  EXPECT_GE(cluster->nodes[0].window->seconds, 0.1);

  const auto recording = probe::read_recording(inspect(0).recording());
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_EQ(recording->node, "node0");
  EXPECT_EQ(wire::from_wire(inspect(61).error()).cause, Cause::bad_input);
  EXPECT_EQ(wire::from_wire(inspect(std::nan("")).error()).cause, Cause::bad_input);
}

TEST(RingtruedStart, RefusesTcpWithoutCertificates) {
  TemporaryFolder folder;
  DaemonProcess daemon({"--state", folder / "state", "--node", "node0", "--listen", "127.0.0.1:0x"},
                       folder / "log");
  EXPECT_EQ(daemon.exit_status(), 3);
  DaemonProcess open({"--state", folder / "state", "--node", "node0", "--listen", "127.0.0.1:7464"},
                     folder / "log2");
  EXPECT_EQ(open.exit_status(), 3);
  EXPECT_NE(open.log().find("no certificates"), std::string::npos) << open.log();
  EXPECT_NE(open.log().find("--insecure"), std::string::npos) << open.log();
}

TEST(RingtruedStart, RefusesFoldersThatOthersPrepared) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "open");
  ASSERT_EQ(::chmod((folder / "open").c_str(), 0777), 0);
  DaemonProcess open({"--state", folder / "open", "--node", "n"}, folder / "log1");
  EXPECT_EQ(open.exit_status(), 3);
  EXPECT_NE(open.log().find("belongs to this user alone"), std::string::npos) << open.log();
  // A link to a file of value, where the lock is due.
  std::filesystem::create_directory(folder / "linked");
  std::ofstream(folder / "value") << "of value";
  std::filesystem::create_hard_link(folder / "value", folder / "linked/ringtrued.lock");
  DaemonProcess linked({"--state", folder / "linked", "--node", "n"}, folder / "log2");
  EXPECT_EQ(linked.exit_status(), 3);
  EXPECT_EQ(std::filesystem::file_size(folder / "value"), 8u);
}

TEST(RingtruedStart, BadFlagsAndFolders) {
  TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  const std::vector<std::vector<std::string>> bad = {
      {"--nonsense", ""},
      {"--state", folder / "file", "--node", "n"},
      {"--state", folder / "s", "--node", "a b"},
      {"--state", folder / "s", "--node", "n", "--config", folder / "missing.toml"},
      {"--state", folder / "s", "--node", "n", "--listen", "1.2.3.4.5:99", "--insecure"},
      {"--state", folder / "s", "--node", "n", "--listen", "127.0.0.1:7464", "--pki", folder / "nowhere"},
      {"--state", folder / std::string(200, 'x'), "--node", "n"},
      {"--state", folder / "s", "--node", ""},
      {"--state", folder / "s", "--node", "n", "--listen", ""},
      {"--state", folder / "s", "--node", "n", "--insecure"},
      {"--state", folder / "s", "--node", "n", "--listen", "127.0.0.1:7464", "--pki", folder / "p",
       "--insecure"},
  };
  int number = 0;
  for (const auto& arguments : bad) {
    DaemonProcess daemon(arguments, folder / ("log" + std::to_string(number++)));
    EXPECT_EQ(daemon.exit_status(), 3) << arguments.back();  // nobody starts it again
    const std::string log = daemon.log();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  }
}

// What a former daemon recorded is told by the next one, and a stopped one leaves its own.
TEST(DeviceEvents, OutliveTheDaemon) {
  const TemporaryFolder folder;
  const std::int64_t then = ::time(nullptr) - 2 * 24 * 3600;
  std::filesystem::create_directories(folder / "events");
  std::ofstream(folder / "events/events") << then << ' ' << then + 9 << " mlx5_0/1 link_downed 3\n";
  std::ofstream(folder / "config.toml") << "[daemon]\nevents = \"" << folder / "events"
                                        << "\"\n";
  DaemonProcess daemon({"--state", folder / "state", "--node", "node0", "--config", folder / "config.toml"},
                       folder / "log");
  ASSERT_TRUE(daemon.says("listening")) << daemon.log();
  const auto stub = rpc::Node::NewStub(
      grpc::CreateChannel("unix:" + (folder / "state/ringtrued.sock"), grpc::InsecureChannelCredentials()));
  const auto ask = [&](std::int64_t seconds) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    rpc::EventsRequest request;
    request.set_seconds(seconds);
    rpc::EventsReply reply;
    const grpc::Status status = stub->Events(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.node(), "node0");
    return run::from_json<run::DeviceEvents>(reply.record());
  };
  const auto days = ask(3 * 24 * 3600);
  ASSERT_TRUE(days) << days.error().what;
  ASSERT_GE(days->events.size(), 1u);
  EXPECT_EQ(days->events[0], (run::DeviceEvent{then, then + 9, "mlx5_0/1", "link_downed", 3}));
  EXPECT_LE(days->watched, then);
  const auto hour = ask(3600);
  ASSERT_TRUE(hour);
  for (const run::DeviceEvent& e : hour->events) EXPECT_NE(e.device, "mlx5_0/1");
}

}  // namespace
}  // namespace ringtrue::daemon
