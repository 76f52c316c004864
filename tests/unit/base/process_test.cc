#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace ringtrue {
namespace {

const Seconds patience{10};

// A shell script; what it prints, until it ends.
struct Shell {
  explicit Shell(const std::string& script, bool channel = false)
      : pipe(*open_pipe()), pair(*open_socket_pair()) {
    ChildFiles files{.output = pipe.theirs.get(), .errors = pipe.theirs.get()};
    if (channel) files.channel = pair.theirs.get();
    auto started = ChildProcess::start("/bin/sh", {"sh", "-c", script}, files);
    EXPECT_TRUE(started);
    if (started) child = std::move(*started);
    pipe.theirs.reset();
    pair.theirs.reset();
  }
  std::string printed() { return read_up_to(pipe.ours.get(), 1 << 16).value_or("nothing"); }

  Ends pipe, pair;
  ChildProcess child;
};

TEST(ChildProcess, RunsAProgramAndTellsHowItEnded) {
  Shell shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(shell.printed(), "out\nerr\n");
  ASSERT_TRUE(shell.child.ended(Deadline::in(patience)));
  EXPECT_EQ(shell.child.pid(), 0);
  ASSERT_TRUE(WIFEXITED(shell.child.status()));
  EXPECT_EQ(WEXITSTATUS(shell.child.status()), 3);
}

TEST(ChildProcess, ThatCannotBeStartedSaysWhy) {
  EXPECT_EQ(ChildProcess::start("/nowhere/program", {"program"}, {}).error(), ENOENT);
  EXPECT_EQ(ChildProcess::start("/etc/passwd", {"passwd"}, {}).error(), EACCES);
}

TEST(ChildProcess, HasNothingOpenButWhatItIsGiven) {
  const OwnedFd inherited(::fcntl(2, F_DUPFD, 20));  // without FD_CLOEXEC
  const std::string list = "for fd in 0 1 2 3 4 5 " + std::to_string(inherited.get()) +
                           "; do [ -e /proc/$$/fd/$fd ] && printf '%s ' $fd; done";
  EXPECT_EQ(Shell(list).printed(), "0 1 2 ");
  EXPECT_EQ(Shell(list, true).printed(), "0 1 2 3 ");
  EXPECT_EQ(Shell("readlink /proc/$$/fd/0").printed(), "/dev/null\n");
}

TEST(ChildProcess, TalksOverItsChannel) {
  Shell shell("read word <&3; echo \"$word back\" >&3", true);
  ASSERT_EQ(::write(shell.pair.ours.get(), "there\n", 6), 6);
  EXPECT_EQ(read_up_to(shell.pair.ours.get(), 11), "there back\n");
}

// A program whose own standard streams are closed gives its children low descriptors.
TEST(ChildProcess, GetsItsFilesRightWhateverTheirNumbers) {
  const OwnedFd saved(::fcntl(0, F_DUPFD_CLOEXEC, 100)), saved_2(::fcntl(2, F_DUPFD_CLOEXEC, 100));
  ::close(0);
  ::close(2);
  std::string printed, said;
  {
    Shell shell("echo said >&3; echo printed", true);
    printed = shell.printed();
    said = read_up_to(shell.pair.ours.get(), 5).value_or("nothing");
  }
  ::dup2(saved.get(), 0);
  ::dup2(saved_2.get(), 2);
  EXPECT_EQ(printed, "printed\n");
  EXPECT_EQ(said, "said\n");
}

TEST(ChildProcess, IsInAGroupOfItsOwnWithFreshSignals) {
  struct sigaction ignored {
  }, before{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGTERM, &ignored, &before);
  sigset_t blocked, mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  Shell shell("kill -TERM $$; echo alive");
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGTERM, &before, nullptr);
  EXPECT_EQ(shell.printed(), "");
  ASSERT_TRUE(shell.child.ended(Deadline::in(patience)));
  EXPECT_EQ(WTERMSIG(shell.child.status()), SIGTERM);

  Shell sleeper("echo ready; sleep 60");
  EXPECT_EQ(::getpgid(sleeper.child.pid()), sleeper.child.pid());
}

TEST(ChildProcess, IsKilledOnRequestAndWhenItGoes) {
  Shell shell("sleep 60");
  EXPECT_FALSE(shell.child.ended());
  EXPECT_FALSE(shell.child.ended(Deadline::in(Seconds(0.02))));
  shell.child.kill(patience);
  EXPECT_EQ(shell.child.pid(), 0);
  EXPECT_EQ(WTERMSIG(shell.child.status()), SIGKILL);
  { Shell dropped("sleep 60"); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(ChildProcess, SaysWhetherASignalHasStoppedIt) {
  Shell shell("sleep 60");
  EXPECT_FALSE(shell.child.stopped());
  ASSERT_EQ(::kill(shell.child.pid(), SIGSTOP), 0);
  const Deadline soon = Deadline::in(patience);
  while (!shell.child.stopped() && !soon.passed()) ::usleep(1000);
  EXPECT_TRUE(shell.child.stopped());
  EXPECT_TRUE(shell.child.stopped());  // as long as it is
  EXPECT_FALSE(shell.child.ended());
  ASSERT_EQ(::kill(shell.child.pid(), SIGCONT), 0);
  EXPECT_FALSE(shell.child.stopped());
  EXPECT_FALSE(ChildProcess().stopped());
}

TEST(ChildProcess, HasOneOwner) {
  Shell shell("sleep 60");
  const pid_t pid = shell.child.pid();
  ChildProcess other = std::move(shell.child);
  EXPECT_EQ(shell.child.pid(), 0);
  EXPECT_EQ(other.pid(), pid);
  EXPECT_EQ(::kill(pid, 0), 0);
  other = ChildProcess();
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcess, MayAskToDieWithItsParent) {
  int before = 0, after = 0;
  ASSERT_EQ(::prctl(PR_GET_PDEATHSIG, &before), 0);
  die_with_parent();
  ASSERT_EQ(::prctl(PR_GET_PDEATHSIG, &after), 0);
  ::prctl(PR_SET_PDEATHSIG, before);
  EXPECT_EQ(after, SIGKILL);
}

}  // namespace
}  // namespace ringtrue
