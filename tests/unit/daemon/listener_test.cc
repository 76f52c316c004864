#include "daemon/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace ringtrue::daemon {
namespace {

TEST(ParseListen, Forms) {
  const auto expect = [](const char* text, const char* host, int port) {
    const auto address = parse_listen(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->host, host) << text;
    EXPECT_EQ(address->port, port) << text;
  };
  expect("0.0.0.0:7464", "0.0.0.0", 7464);
  expect("10.0.0.4", "10.0.0.4", 7464);
  expect(":80", "", 80);
  expect("*:80", "", 80);
  expect("[::1]:7465", "::1", 7465);
  expect("[::]", "::", 7464);
  for (const char* bad :
       {"1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:x", "::1", "[::1", "[::1]x", "[::1]:", "a:-1"}) {
    const auto address = parse_listen(bad);
    ASSERT_FALSE(address) << bad;
    EXPECT_EQ(address.error().cause, Cause::bad_input) << bad;
  }
}

class ListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    // A port that is free: the kernel names one, and we take it over.
    OwnedFd probe(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = loopback(0);
    ASSERT_EQ(::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  Result<Listener> listen(Listener::Opening opening) {
    return Listener::tcp({"127.0.0.1", port_}, opening, [this](int, int fd) { taken_.emplace_back(fd); });
  }
  OwnedFd client(std::string_view says) {
    OwnedFd fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = loopback(port_);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL), ssize_t(says.size()));
    return fd;
  }
  void serve(Listener& listener, Seconds time = Seconds(0.2)) {
    const Deadline deadline = Deadline::in(time);
    while (!deadline.passed()) {
      std::vector<pollfd> polled;
      listener.add_to(polled);
      ::poll(polled.data(), polled.size(), 10);
      listener.serve();
    }
  }
  int port_ = 0;
  std::vector<OwnedFd> taken_;
};

TEST_F(ListenerTest, HandsOverWhatBeginsRight) {
  auto listener = listen(Listener::Opening::tls);
  ASSERT_TRUE(listener) << listener.error().text();
  const OwnedFd good = client("\x16\x03\x01hello"), bad = client("GET / HTTP/1.1\r\n"), silent = client("");
  serve(*listener);
  EXPECT_EQ(taken_.size(), 1u);
  EXPECT_EQ(listener->dropped(), 1u);
  // What was looked at is still there for whoever took the connection.
  char first = 0;
  ASSERT_EQ(::recv(taken_.at(0).get(), &first, 1, MSG_DONTWAIT), 1);
  EXPECT_EQ(first, '\x16');
  EXPECT_GE(listener->next_due().left_ms(), 0);  // for the silent one
}

TEST_F(ListenerTest, ManySilentOnesDoNotShutOutOthers) {
  auto listener = listen(Listener::Opening::plaintext);
  ASSERT_TRUE(listener) << listener.error().text();
  std::vector<OwnedFd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(client(""));
    if (i % 50 == 0) listener->serve();
  }
  const OwnedFd good = client("PRI * HTTP/2.0\r\n");
  serve(*listener);
  EXPECT_EQ(taken_.size(), 1u);
  EXPECT_GE(listener->dropped(), 44u);
}

TEST_F(ListenerTest, PortInUse) {
  auto listener = listen(Listener::Opening::tls);
  ASSERT_TRUE(listener);
  const auto again = listen(Listener::Opening::tls);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().cause, Cause::unavailable);
  EXPECT_NE(again.error().what.find("already in use"), std::string::npos) << again.error().what;
  EXPECT_NE(again.error().what.find(std::to_string(port_)), std::string::npos);
}

TEST_F(ListenerTest, AddressOfAnotherMachine) {
  const auto elsewhere = Listener::tcp({"192.0.2.1", port_}, Listener::Opening::tls, [](int, int) {});
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().what.find("not an address of this machine"), std::string::npos)
      << elsewhere.error().what;
}

}  // namespace
}  // namespace ringtrue::daemon
