// What systemd is told, and how a daemon that cannot start ends.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>

#include "base/fd.h"
#include "daemon_process.h"

namespace ringtrue::daemon {
namespace {

// Where systemd listens, for daemons that are started meanwhile.
class Systemd {
 public:
  explicit Systemd(const std::string& path, const char* watchdog = nullptr)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (watchdog) ::setenv("WATCHDOG_USEC", watchdog, 1);
  }
  ~Systemd() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
  }
  // The next message, "" after 15 s without one.
  std::string next() {
    pollfd polled{socket_.get(), POLLIN, 0};
    if (::poll(&polled, 1, 15'000) != 1) return "";
    char text[4096];
    const ssize_t length = ::recv(socket_.get(), text, sizeof text, 0);
    return {text, std::size_t(std::max<ssize_t>(length, 0))};
  }
  // The next one that is no sign of life.
  std::string next_state() {
    std::string state;
    do state = next();
    while (state == "WATCHDOG=1");
    return state;
  }

 private:
  OwnedFd socket_;
};

TEST(ToldToSystemd, ReadyReloadingStopping) {
  TemporaryFolder folder;
  Systemd systemd(folder / "notify");
  DaemonProcess daemon({"--state", folder / "state", "--node", "n"}, folder / "log");
  EXPECT_EQ(systemd.next(), "READY=1");
  daemon.signal(SIGHUP);
  EXPECT_EQ(systemd.next(), "RELOADING=1");
  EXPECT_EQ(systemd.next(), "READY=1");
  daemon.signal(SIGTERM);
  EXPECT_EQ(systemd.next(), "STOPPING=1");
  EXPECT_EQ(daemon.exit_status(), 0);
}

TEST(ToldToSystemd, SignsOfLifeAsLongAsItLives) {
  TemporaryFolder folder;
  Systemd systemd(folder / "notify", "200000");
  DaemonProcess daemon({"--state", folder / "state", "--node", "n"}, folder / "log");
  EXPECT_EQ(systemd.next_state(), "READY=1");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(systemd.next(), "WATCHDOG=1");
}

TEST(ToldToSystemd, WhyItDoesNotStart) {
  TemporaryFolder folder;
  Systemd systemd(folder / "notify");
  DaemonProcess daemon(
      {"--state", folder / "state", "--node", "n", "--listen", "127.0.0.1:7464", "--pki", folder / "nowhere"},
      folder / "log");
  const std::string status = systemd.next();
  EXPECT_EQ(status.rfind("STATUS=", 0), 0u) << status;
  EXPECT_NE(status.find("nowhere"), std::string::npos) << status;
  EXPECT_EQ(daemon.exit_status(), 3);
}

// systemd starts it again for 1, and not for 3 (RestartPreventExitStatus=).
TEST(ExitStatus, IsThreeForWhatStaysWrong) {
  TemporaryFolder folder;
  DaemonProcess first({"--state", folder / "state", "--node", "n"}, folder / "log");
  ASSERT_TRUE(first.says("listening on"));
  DaemonProcess second({"--state", folder / "state", "--node", "n"}, folder / "log2");
  EXPECT_EQ(second.exit_status(), 1) << "the other one may end";
  DaemonProcess wrong({"--state", folder / "s", "--node", "a b"}, folder / "log3");
  EXPECT_EQ(wrong.exit_status(), 3);
}

}  // namespace
}  // namespace ringtrue::daemon
