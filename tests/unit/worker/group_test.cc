// The group against a fake worker: this very program, when it was started as one. It plays no collective; the
// job's script of faults tells it how to behave.
#include "worker/group.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "run/job.h"
#include "run/member.h"
#include "wire/convert.h"
#include "worker/channel.h"

namespace ringtrue::worker {
namespace {

[[noreturn]] void play_worker() {
  Channel channel{OwnedFd(3)};
  rpc::Member open;
  std::vector<OwnedFd> descriptors;
  std::string behaviour;
  const auto answer = [&channel](rpc::Event event) { (void)channel.send(event, Deadline::in(Seconds(5))); };
  for (;;) {
    rpc::Command command;
    if (!channel.receive(command, Deadline::in(Seconds(30)))) ::_exit(1);
    rpc::Event event;
    event.set_sequence(command.sequence());
    event.mutable_done();
    if (command.has_release()) ::_exit(0);
    if (command.has_abort()) continue;
    const bool second = open.process() == 1;
    if (command.has_open()) {
      open = command.open();
      descriptors = channel.take_descriptors();
      if ((open.processes() > 1) != (descriptors.size() == std::size_t(open.processes()) + 1)) ::_exit(9);
    } else if (command.has_prepare()) {
      behaviour = wire::from_wire(command.prepare().job())->fault;
      struct stat memory {};
      if (open.processes() > 1 && (::fstat(descriptors[0].get(), &memory) != 0 || memory.st_size == 0))
        ::_exit(8);
      event.mutable_prepared()->add_ports(std::uint32_t(7000 + open.process()));
    } else if (command.has_run() && second) {
      if (behaviour == "die") ::raise(SIGKILL);
      if (behaviour == "exit") ::_exit(4);
      if (behaviour == "hang") ::pause();
      if (behaviour == "garble") {
        [[maybe_unused]] const ssize_t n = ::write(3, "\xff\xff\xff\xff\xff", 5);
        continue;
      }
      if (behaviour == "fail")
        *event.mutable_error() =
            wire::to_wire(Error{Cause::peer_lost, "connection reset by node7", "", "look there"});
    } else if (command.has_run() && behaviour != "good") {
      // A fellow that waits for the failing one, until it is told to stop.
      rpc::Command stop;
      if (!channel.receive(stop, Deadline::in(Seconds(30)))) ::_exit(1);
      *event.mutable_error() = wire::to_wire(Error{Cause::cancelled, "stopped on request", "", ""});
    } else if (command.has_collect()) {
      run::RunReport report;
      report.transports = {run::Transport::shm};
      report.cpu_s = 1;
      report.ranks = {{open.process(), 1, {0.5}, 0, 0, {}}};
      *event.mutable_report() = wire::to_wire(report);
    }
    answer(std::move(event));
  }
}

const bool worker = [] {
  std::ifstream file("/proc/self/cmdline");
  std::string name;
  std::getline(file, name, '\0');
  if (name == "ringtrue-worker") play_worker();
  return false;
}();

run::Job job_of(const std::string& behaviour) {
  run::Job job;
  job.algorithm = collective::AlgorithmId::ring;  // the sizes of shared memory are the engine's
  job.fault = behaviour;
  job.nodes = {"node0"};
  job.seats = {{0, 0, 0}, {0, 1, 1}};
  job.call.elements = 1000;
  return job;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir)) ++count;
  ::closedir(dir);
  return count;
}

class Group : public testing::Test {
 protected:
  void SetUp() override { before_ = open_descriptors(); }
  void TearDown() override {
    const std::vector<int> pids = group_ ? group_->pids() : std::vector<int>();
    group_.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), before_) << "a descriptor is left";
  }
  void start(const std::string& behaviour) {
    run::Member member;
    member.processes = 2;
    member.secret = "0123456789abcdef";
    auto started = start_workers("/proc/self/exe", member, Deadline::in(Seconds(10)),
                                 [this](End end) { ends_.push_back(end); });
    ASSERT_TRUE(started) << started.error().text();
    group_ = std::move(*started);
    auto ports = group_->prepare(job_of(behaviour), Deadline::in(Seconds(10)));
    ASSERT_TRUE(ports) << ports.error().text();
    EXPECT_EQ(*ports, (std::vector<int>{7000, 7001}));
  }
  Error failure(Seconds deadline = Seconds(10)) {
    const auto run = group_->run(Deadline::in(deadline));
    EXPECT_FALSE(run);
    return run ? Error{} : run.error();
  }
  // How the workers ended that have, in the order in which that was told.
  std::vector<End> ends() {
    group_.reset();
    return std::exchange(ends_, {});
  }
  std::vector<End> ends_;
  std::unique_ptr<WorkerGroup> group_;
  std::size_t before_ = 0;
};

TEST_F(Group, PlaysAllPhases) {
  start("good");
  ASSERT_TRUE(group_->connect({{{"127.0.0.1", 7000}, {"127.0.0.1", 7001}}}, Deadline::in(Seconds(10))));
  ASSERT_TRUE(group_->barrier(Deadline::in(Seconds(10))));
  ASSERT_TRUE(group_->run(Deadline::in(Seconds(10))));
  auto report = group_->collect(Deadline::in(Seconds(10)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->ranks.size(), 2u);
  EXPECT_EQ(report->cpu_s, 2.0);
  group_->release();
  EXPECT_EQ(group_->pids(), (std::vector<int>{0, 0}));
  EXPECT_EQ(ends(), (std::vector{End::normal, End::normal}));
}

TEST_F(Group, TellsOfAWorkerThatDiedBetweenPhases) {
  start("good");
  const int pid = group_->pids()[0];
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ends(), (std::vector{End::crashed, End::normal}));
}

TEST_F(Group, SaysHowAWorkerDied) {
  start("die");
  const Error error = failure();
  EXPECT_EQ(error.cause, Cause::peer_lost);
  EXPECT_EQ(error.what, "worker 1 was killed by signal 9 in phase run");
  const auto later = group_->collect(Deadline::in(Seconds(1)));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().what, error.what);
  EXPECT_EQ(ends(), (std::vector{End::crashed, End::normal}));
}

TEST_F(Group, SaysHowAWorkerExited) {
  start("exit");
  EXPECT_EQ(failure().what, "worker 1 exited with status 4 in phase run");
}

TEST_F(Group, KillsAWorkerThatHangs) {
  start("hang");
  const std::int64_t begun = now_ns();
  const Error error = failure(Seconds(0.1));
  EXPECT_EQ(error.cause, Cause::deadline);
  EXPECT_NE(error.what.find("did not answer in phase run"), std::string::npos) << error.what;
  // The other one waited for it, and does so still.
  EXPECT_EQ(ends(), (std::vector{End::deadline, End::deadline}));
  EXPECT_LT(seconds_since(begun).value, 3);
}

TEST_F(Group, KillsAWorkerThatWasStopped) {
  for (const Seconds deadline : {Seconds(60), Seconds(0.1)}) {
    start("good");
    ASSERT_EQ(::kill(group_->pids()[1], SIGSTOP), 0);
    const std::int64_t begun = now_ns();
    const Error error = failure(deadline);
    EXPECT_EQ(error.cause, Cause::peer_lost);
    EXPECT_NE(error.what.find("worker 1 was stopped by a signal, did not answer in phase run"),
              std::string::npos)
        << error.what;
    EXPECT_LT(seconds_since(begun).value, 4);
    EXPECT_EQ(std::ranges::count(ends(), End::hung), 1);
  }
}

TEST_F(Group, RefusesGarbage) {
  start("garble");
  const Error error = failure();
  EXPECT_EQ(error.cause, Cause::internal);
  EXPECT_NE(error.what.find("worker 1"), std::string::npos) << error.what;
}

TEST_F(Group, ReportsTheFailureAndNotTheFellows) {
  start("fail");
  const Error error = failure();
  EXPECT_EQ(error.cause, Cause::peer_lost);
  EXPECT_EQ(error.what, "connection reset by node7");
  EXPECT_EQ(error.next, "look there");
}

TEST_F(Group, AbortEndsAPhase) {
  start("hang");
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    group_->abort();
  });
  const std::int64_t begun = now_ns();
  EXPECT_EQ(failure(Seconds(60)).cause, Cause::cancelled);
  EXPECT_LT(seconds_since(begun).value, 5);
  other.join();
}

TEST_F(Group, APhaseAfterAbortIsCancelledAtOnce) {
  start("good");
  group_->abort();
  EXPECT_EQ(failure().cause, Cause::cancelled);
}

TEST_F(Group, ProgramsThatAreNoWorkers) {
  run::Member member;
  auto missing = start_workers("/nowhere/ringtrue-worker", member, Deadline::in(Seconds(1)));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().cause, Cause::unavailable);
  auto wrong = start_workers("/bin/false", member, Deadline::in(Seconds(5)));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "the worker exited with status 1 in phase open");
}

}  // namespace
}  // namespace ringtrue::worker
