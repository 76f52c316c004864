#include "fleet/unreachable.h"

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
#include <utility>

#include "fleet/ask.h"
#include "pki/safe_file.h"
#include "pki/x509.h"
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
    if (listener_ >= 0) close(listener_);
  }
  int port() const { return port_; }
  void stop_listening() { close(std::exchange(listener_, -1)); }  // for `serve`

 private:
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

// A server's half of a TLS handshake that demands a certificate of `trusted`, like gRPC's; then greets.
void serve_tls(int fd, const pki::KeyPair& own, const std::string& trusted) {
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
  SSL_CTX_set_alpn_select_cb(
      context,
      [](SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char*, unsigned, void*) {
        *chosen = reinterpret_cast<const unsigned char*>("h2"), *length = 2;
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1) SSL_write(ssl, "\0\0\0\4\0\0\0\0\0", 9);  // how an HTTP/2 server begins
  shutdown(fd, SHUT_WR);  // an alert on its way must not be overtaken by a reset
  char rest[256];
  while (read(fd, rest, sizeof rest) > 0) continue;
  SSL_free(ssl);
  SSL_CTX_free(context);
  X509_free(cert), X509_free(ca), EVP_PKEY_free(key);
  BIO_free(a), BIO_free(b), BIO_free(c);
}

// What gRPC says of such servers, and what we make of it.
std::optional<Error> ask_one(const std::shared_ptr<Dialer>& dialer, const Target& target) {
  std::optional<Error> error;
  ask_all(*dialer, {target}, Seconds(3), [&](std::size_t, const Result<NodeState>& state) {
    if (!state) error = state.error();
  });
  return error;
}

class Unreachable : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // the test server's own writes
    ASSERT_TRUE(pki::init_authority(dir_));
    ASSERT_TRUE(pki::issue_certificates(dir_, {"node3"}, {}));
    mine_ = *pki::load_operator_credentials(dir_);
  }

  pki::KeyPair node(const std::string& name = "node3") {
    return {*pki::read_file(dir_ + "/" + name + "/node.crt"),
            *pki::read_file(dir_ + "/" + name + "/node.key")};
  }
  pki::KeyPair forge(const std::string& name, std::int64_t from, std::int64_t until, bool server) {
    const pki::KeyPair authority{*pki::read_file(dir_ + "/ca.crt"), *pki::read_file(dir_ + "/ca.key")};
    pki::Profile profile{.name = name, .unit = server ? "role:node" : "role:run", .hosts = {name}};
    profile.server = server, profile.client = !server;
    profile.not_before = time(nullptr) + from, profile.not_after = time(nullptr) + until;
    return *pki::make_certificate(profile, &authority);
  }
  std::optional<Error> ask(int port, const pki::PemBundle* credentials) {
    const Target target{.node = "node3", .host = "127.0.0.1", .port = port, .socket = {}};
    auto own = credentials ? std::make_shared<pki::PemBundle>(*credentials) : nullptr;
    return ask_one(make_dialer(std::move(own), Seconds(1)), target);
  }
  std::optional<Error> ask_tls(const pki::KeyPair& server, const std::string& trusted) {
    Server s([&](int fd) { serve_tls(fd, server, trusted); });
    return ask(s.port(), &mine_);
  }

  TemporaryFolder temporary_;
  std::string dir_ = temporary_.path("pki");
  pki::PemBundle mine_;
};

TEST_F(Unreachable, ItIsReachedAndGoes) {
  const auto why = ask_tls(node(), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::peer_lost) << why->text();
}

TEST_F(Unreachable, AnotherAuthority) {
  const std::string other = temporary_.path("other");
  ASSERT_TRUE(pki::init_authority(other));
  ASSERT_TRUE(pki::issue_certificates(other, {"node3"}, {}));
  const pki::KeyPair server{*pki::read_file(other + "/node3/node.crt"),
                            *pki::read_file(other + "/node3/node.key")};
  const auto why = ask_tls(server, *pki::read_file(other + "/ca.crt"));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_EQ(why->where, "node3");
  EXPECT_THAT(why->what, HasSubstr("node3's certificate is from another authority"));
}

TEST_F(Unreachable, ExpiredAndNotYetValid) {
  auto why = ask_tls(forge("node3", -3 * day, -day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_THAT(
      why->what,
      HasSubstr("node3's certificate is from another authority, or not valid today by this machine's"));
  why = ask_tls(forge("node3", day, 3 * day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("not valid today"));
}

TEST_F(Unreachable, AnotherNode) {
  const auto why = ask_tls(forge("node4", -day, day, true), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_EQ(why->what, "node3's certificate is not for node3");
}

TEST_F(Unreachable, OurCertificateIsExpired) {
  const pki::KeyPair old = forge("operator", -3 * day, -day, false);
  mine_.cert = old.certificate, mine_.key = old.key;
  const auto why = ask_tls(node(), mine_.ca);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_THAT(why->what, HasSubstr("node3 refused our certificate (\"operator\")"));
}

TEST_F(Unreachable, OurAuthorityIsUnknownThere) {
  const std::string other = temporary_.path("other");
  ASSERT_TRUE(pki::init_authority(other));
  const auto why = ask_tls(node(), *pki::read_file(other + "/ca.crt"));
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("node3 refused our certificate (\"operator\") and gave no reason"));
}

TEST_F(Unreachable, ItClosesWithoutAWord) {
  Server s([](int fd) {
    char byte;
    EXPECT_GT(read(fd, &byte, 1), 0);
  });
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("gave no reason"));
}

TEST_F(Unreachable, ItStopsInTheHandshake) {
  Server s([&s](int fd) {
    char byte;
    EXPECT_GT(read(fd, &byte, 1), 0);
    s.stop_listening();
  });
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::unreachable);
  EXPECT_THAT(why->what, HasSubstr("its daemon has just stopped"));
}

// As daemon/connections.cc says it.
TEST_F(Unreachable, ItHasNoRoom) {
  Server s([](int fd) {
    char rest[4096];
    EXPECT_GT(read(fd, rest, sizeof rest), 0);
    const char alert[] = {21, 3, 3, 0, 2, 2, 80};
    EXPECT_EQ(write(fd, alert, sizeof alert), ssize_t(sizeof alert));
    shutdown(fd, SHUT_WR);
    while (read(fd, rest, sizeof rest) > 0) continue;
  });
  const auto why = ask(s.port(), &mine_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, Cause::refused);
  EXPECT_THAT(why->what, HasSubstr("too many clients at once"));
}

TEST_F(Unreachable, NoTls) {
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

TEST_F(Unreachable, TlsWhereWeAreInsecure) {
  Server s([&](int fd) { serve_tls(fd, node(), mine_.ca); });
  const auto why = ask(s.port(), nullptr);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->what, HasSubstr("node3 wants TLS"));
}

TEST_F(Unreachable, Silence) {
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

TEST_F(Unreachable, NobodyListens) {
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

TEST_F(Unreachable, NoSocket) {
  const Target target{.node = "unix:/nowhere/r.sock", .host = {}, .port = 0, .socket = "/nowhere/r.sock"};
  const auto why = ask_one(make_dialer(nullptr, Seconds(1)), target);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->what, "no daemon listens at unix:/nowhere/r.sock");
}

}  // namespace
}  // namespace ringtrue::fleet
