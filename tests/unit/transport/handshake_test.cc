// The data connections' proof, on bytes and on loopback sockets.
#include "transport/tcp/handshake.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "transport/tcp/frame.h"
#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {
namespace {

TEST(Frame, ReadsBackAndRefusesEveryFlippedBit) {
  const Frame frame{7, 1ull << 40, 3};
  auto bytes = encode(frame);
  EXPECT_EQ(decode(bytes), frame);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    auto broken = bytes;
    broken[i / 8] ^= std::byte(1 << i % 8);
    EXPECT_FALSE(decode(broken)) << "bit " << i;
  }
}

TEST(Frame, ChecksumIsCrc32c) {
  const char text[] = "123456789";  // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text, 9))), 0xe3069283u);
}

TEST(Handshake, HelloReadsBack) {
  const Hello hello{{1, 2}, {3, 4}, 5, make_nonce()};
  const auto back = decode_hello(encode(hello));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->from, hello.from);
  EXPECT_EQ(back->to, hello.to);
  EXPECT_EQ(back->lane, hello.lane);
  EXPECT_EQ(back->nonce, hello.nonce);
  auto wrong = encode(hello);
  wrong[0] ^= std::byte{1};
  EXPECT_FALSE(decode_hello(wrong));
}

TEST(Handshake, ProofsDependOnEverything) {
  const Hello hello{{1, 0}, {2, 0}, 0, make_nonce()};
  const Nonce nonce = make_nonce();
  const Mac proof = connector_proof("secret", hello, nonce);
  EXPECT_EQ(proof, connector_proof("secret", hello, nonce));
  EXPECT_NE(proof, acceptor_proof("secret", hello, nonce)) << "one side's proof could be played back to it";
  EXPECT_NE(proof, connector_proof("Secret", hello, nonce));
  EXPECT_NE(proof, connector_proof("secret", hello, make_nonce()));
  Hello other = hello;
  other.lane = 1;
  EXPECT_NE(proof, connector_proof("secret", other, nonce));
}

struct Process {
  std::unique_ptr<Loop> loop = *Loop::make();
  std::unique_ptr<Transport> transport;

  Process(std::uint32_t node, const std::string& secret) {
    transport = *Transport::make({"127.0.0.1", 0, 0, secret, {{node, 0}}}, *loop);
  }
};

ConnectionKey key(std::uint32_t self, std::uint32_t peer) {
  return {{self, 0}, {peer, 0}, 0};
}

bool never() {
  return false;
}

TEST(TcpTransport, TwoThatKnowTheSecretConnect) {
  Process a(0, "secret"), b(1, "secret");
  Result<void> accepted;
  std::thread other([&] {
    accepted = b.transport->connect({{key(1, 0), {"127.0.0.1", a.transport->port(), "node0"}}}, never,
                                    Deadline::in(Seconds(5)));
  });
  const auto called = a.transport->connect({{key(0, 1), {"127.0.0.1", b.transport->port(), "node1"}}}, never,
                                           Deadline::in(Seconds(5)));
  other.join();
  ASSERT_TRUE(called) << called.error().text();
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_GE(a.transport->descriptor(key(0, 1)), 0);
  EXPECT_GE(b.transport->descriptor(key(1, 0)), 0);
  EXPECT_EQ(b.transport->rejected(), 0u);
}

TEST(TcpTransport, AnotherSecretIsAStranger) {
  Process a(0, "secret"), b(1, "another");
  std::thread other([&] {
    [[maybe_unused]] const auto waited = b.transport->connect(
        {{key(1, 0), {"127.0.0.1", a.transport->port(), "node0"}}}, never, Deadline::in(Seconds(0.5)));
  });
  const auto called = a.transport->connect({{key(0, 1), {"127.0.0.1", b.transport->port(), "node1"}}}, never,
                                           Deadline::in(Seconds(5)));
  other.join();
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().where, "node1");
  EXPECT_EQ(b.transport->rejected(), 1u);
}

TEST(TcpTransport, SilenceMeetsTheDeadlineAndNamesTheNode) {
  Process b(1, "secret");
  const std::int64_t began = now_ns();
  const auto waited =
      b.transport->connect({{key(1, 0), {"127.0.0.1", 1, "node0"}}}, never, Deadline::in(Seconds(0.2)));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().cause, Cause::deadline);
  EXPECT_EQ(waited.error().where, "node0");
  EXPECT_LT(seconds_since(began).value, 2.0);
}

TEST(TcpTransport, GarbageIsDroppedAndCounted) {
  Process b(1, "secret");
  constexpr int callers = 50;
  std::thread strangers([port = b.transport->port()] {
    for (int i = 0; i < callers; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(std::uint16_t(port));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
        const std::string garbage(100, char('a' + i % 26));
        [[maybe_unused]] const ssize_t n = ::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
      }
      ::close(fd);
    }
  });
  const auto waited = b.transport->connect(
      {{key(1, 0), {"127.0.0.1", 1, "node0"}}}, [&] { return b.transport->rejected() >= callers; },
      Deadline::in(Seconds(5)));
  strangers.join();
  EXPECT_FALSE(waited);
  EXPECT_EQ(b.transport->rejected(), std::uint64_t(callers));
}

TEST(TcpTransport, NobodyThereIsSaidAtOnce) {
  Process a(0, "secret");
  int port;
  {
    Process gone(1, "secret");
    port = gone.transport->port();
  }
  const auto called =
      a.transport->connect({{key(0, 1), {"127.0.0.1", port, "node1"}}}, never, Deadline::in(Seconds(5)));
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().cause, Cause::unreachable);
  EXPECT_NE(called.error().what.find("refused"), std::string::npos) << called.error().what;
}

}  // namespace
}  // namespace ringtrue::transport::tcp
