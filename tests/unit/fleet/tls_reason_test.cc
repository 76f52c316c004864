#include "fleet/tls_reason.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "fleet/safe_file.h"
#include "fleet/x509.h"
#include "tests/unit/fleet/temporary.h"

namespace ringtrue::fleet {
namespace {

using testing::HasSubstr;

constexpr std::int64_t day = 24 * 60 * 60;

// Takes one connection on loopback and hands it to `serve`.
class Server {
 public:
  explicit Server(std::function<void(int)> serve) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof a;
    bind(listener_, reinterpret_cast<sockaddr*>(&a), length);
    listen(listener_, 4);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&a), &length);
    port_ = ntohs(a.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      const timeval limit{3, 0};
      setsockopt(listener_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      serve(fd);
      close(fd);
    });
  }
  ~Server() {
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

// A server's half of a TLS handshake that demands a certificate of `trusted`, like gRPC's; then greets.
void serve_tls(int fd, const KeyPair& own, const std::string& trusted) {
  const auto reading = [](const std::string& text) { return BIO_new_mem_buf(text.data(), int(text.size())); };
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO *a = reading(own.certificate), *b = reading(own.key), *c = reading(trusted);
  X509* cert = PEM_read_bio_X509(a, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(b, nullptr, nullptr, nullptr);
  X509* ca = PEM_read_bio_X509(c, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, cert);
  SSL_CTX_use_PrivateKey(context, key);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1) SSL_write(ssl, "hello", 5);
  shutdown(fd, SHUT_WR);  // an alert on its way must not be overtaken by a reset
  char rest[256];
  while (read(fd, rest, sizeof rest) > 0) continue;
  SSL_free(ssl);
  SSL_CTX_free(context);
  X509_free(cert), X509_free(ca), EVP_PKEY_free(key);
  BIO_free(a), BIO_free(b), BIO_free(c);
}

class TlsReason : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // the test server's own writes
    ASSERT_TRUE(init_authority(dir_));
    ASSERT_TRUE(issue_certificates(dir_, {"node3"}, {}));
    mine_ = *load_operator_credentials(dir_);
  }

  KeyPair node(const std::string& name = "node3") {
    return {*read_file(dir_ + "/" + name + "/node.crt"), *read_file(dir_ + "/" + name + "/node.key")};
  }
  KeyPair forge(const std::string& name, std::int64_t from, std::int64_t until, bool server) {
    const KeyPair authority{*read_file(dir_ + "/ca.crt"), *read_file(dir_ + "/ca.key")};
    Profile profile{.name = name, .unit = server ? "role:node" : "role:run", .hosts = {name}};
    profile.server = server, profile.client = !server;
    profile.not_before = time(nullptr) + from, profile.not_after = time(nullptr) + until;
    return *make_certificate(profile, &authority);
  }
  std::optional<Error> ask(int port, const PemBundle* credentials) {
    const Target target{.node = "node3", .host = "127.0.0.1", .port = port, .socket = {}};
    return why_unreachable(target, credentials, Deadline::in(Seconds(1)));
  }
  std::optional<Error> ask_tls(const KeyPair& server, const std::string& trusted) {
    Server s([&](int fd) { serve_tls(fd, server, trusted); });
    return ask(s.port(), &mine_);
  }

  TemporaryFolder temporary_;
  std::string dir_ = temporary_.path("pki");
  PemBundle mine_;
};

TEST_F(TlsReason, NothingIsWrong) {
  const auto why = ask_tls(node(), mine_.ca);
  EXPECT_FALSE(why) << why->text();
}

TEST_F(TlsReason, AnotherAuthority) {
  const std::string other = temporary_.path("other");
  ASSERT_TRUE(init_authority(other));
  ASSERT_TRUE(issue_certificates(other, {"node3"}, {}));
  const KeyPair server{*read_file(other + "/node3/node.crt"), *read_file(other + "/node3/node.key")};
  const auto why = ask_tls(server, *read_file(other + "/ca.crt"));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_EQ(why->where, "node3");
  EXPECT_THAT(why->what, HasSubstr("node3's certificate is from another authority"));
}

TEST_F(TlsReason, ExpiredAndNotYetValid) {
  auto why = ask_tls(forge("node3", -3 * day, -day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what,
              HasSubstr("node3's certificate expired on " + date_text(time(nullptr) - day).substr(0, 10)));
  why = ask_tls(forge("node3", day, 3 * day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("is valid only from"));
}

TEST_F(TlsReason, AnotherNode) {
  const auto why = ask_tls(forge("node4", -day, day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->what, "node3's certificate is for node4, not node3");
}

TEST_F(TlsReason, OurCertificateIsExpired) {
  const KeyPair old = forge("operator", -3 * day, -day, false);
  mine_.cert = old.certificate, mine_.key = old.key;
  const auto why = ask_tls(node(), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_THAT(why->what, HasSubstr("node3 refused our certificate (\"operator\"): it takes it for expired"));
}

TEST_F(TlsReason, OurAuthorityIsUnknownThere) {
  const std::string other = temporary_.path("other");
  ASSERT_TRUE(init_authority(other));
  const auto why = ask_tls(node(), *read_file(other + "/ca.crt"));
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what,
              HasSubstr("node3 refused our certificate (\"operator\"): it does not know its authority"));
}

TEST_F(TlsReason, ItClosesWithoutAWord) {
  Server s([](int fd) {
    char byte;
    EXPECT_GT(read(fd, &byte, 1), 0);
  });
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("gave no reason"));
}

TEST_F(TlsReason, NoTls) {
  Server s([](int fd) {
    const char settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};  // how an HTTP/2 server begins
    EXPECT_EQ(write(fd, settings, sizeof settings), ssize_t(sizeof settings));
    char rest[4096];
    while (read(fd, rest, sizeof rest) > 0) continue;
  });
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("node3 does not speak TLS"));
}

TEST_F(TlsReason, TlsWhereWeAreInsecure) {
  Server s([&](int fd) { serve_tls(fd, node(), mine_.ca); });
  const auto why = ask(s.port(), nullptr);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("node3 wants TLS"));
}

TEST_F(TlsReason, Silence) {
  Server s([](int fd) {
    char rest[4096];
    while (read(fd, rest, sizeof rest) > 0) continue;
  });
  const std::int64_t start = now_ns();
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::deadline);
  EXPECT_THAT(why->what, HasSubstr("does not answer"));
  EXPECT_LT(seconds_since(start).value, 2.0);
}

TEST_F(TlsReason, NobodyListens) {
  int port = 0;
  {
    Server s([](int) {});
    port = s.port();
    EXPECT_TRUE(ask(port, &mine_));
  }
  const auto why = ask(port, &mine_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::unreachable);
  EXPECT_EQ(why->what,
            "connection refused: is ringtrued running on node3 (127.0.0.1:" + std::to_string(port) + ")?");
}

TEST_F(TlsReason, NoSocket) {
  const Target target{.node = "unix:/nowhere/r.sock", .host = {}, .port = 0, .socket = "/nowhere/r.sock"};
  const auto why = why_unreachable(target, nullptr, Deadline::in(Seconds(1)));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->what, "no daemon listens at unix:/nowhere/r.sock");
}

}  // namespace
}  // namespace ringtrue::fleet
