// Clients that want to keep others out, and to keep the daemon busy.
#include <openssl/ssl.h>

#include "daemon/client_limits.h"
#include "fleet/fleet.h"
#include "pki/safe_file.h"
#include "tests/unit/daemon/tls_daemon.h"

namespace ringtrue::daemon {
namespace {

class CrowdAttack : public TlsDaemonTest {
 protected:
  // The operator's call and one over the Unix socket are answered, however slow this machine is.
  void expect_served() {
    auto honest = stub(folder_ / "pki/operator");
    const grpc::Status status = describe(*honest, reply_);
    EXPECT_TRUE(status.ok()) << status.error_message() << "\n" << daemon_->log();
    auto local = rpc::Node::NewStub(grpc::CreateChannel("unix:" + (folder_ / "state/ringtrued.sock"),
                                                        grpc::InsecureChannelCredentials()));
    EXPECT_TRUE(describe(*local, reply_).ok());
  }
  std::ptrdiff_t log_lines() const {
    const std::string log = daemon_->log();
    return std::count(log.begin(), log.end(), '\n');
  }
};

TEST_F(CrowdAttack, SilentConnectionsWithACertificate) {
  std::vector<std::unique_ptr<rpc::Node::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientWriterInterface<rpc::Command>>> streams;
  const auto pem = pki::load_operator_credentials(folder_ / "pki/operator");
  ASSERT_TRUE(pem);
  // Connections without a call: TLS, and then nothing.
  SSL_CTX* tls = SSL_CTX_new(TLS_client_method());
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  };
  ASSERT_EQ(SSL_CTX_use_certificate_file(tls, write("c.pem", pem->cert).c_str(), SSL_FILETYPE_PEM), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey_file(tls, write("k.pem", pem->key).c_str(), SSL_FILETYPE_PEM), 1);
  const unsigned char h2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(tls, h2, sizeof h2);
  std::vector<OwnedFd> sockets;
  std::vector<SSL*> sessions;
  for (int i = 0; i < 150; ++i) {
    sockets.push_back(connect());
    timeval patience{2, 0};
    ::setsockopt(sockets.back().get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sessions.push_back(SSL_new(tls));
    SSL_set_fd(sessions.back(), sockets.back().get());
    (void)SSL_connect(sessions.back());
    if (i % 30 == 29) expect_served();
  }
  expect_served();
  EXPECT_LT(log_lines(), 60) << daemon_->log();
  for (SSL* session : sessions) SSL_free(session);
  SSL_CTX_free(tls);
}

TEST_F(CrowdAttack, OneByteAndNoCertificate) {
  std::vector<OwnedFd> sockets;
  for (int i = 0; i < 320; ++i) {
    sockets.push_back(connect());
    EXPECT_EQ(::send(sockets.back().get(), "\x16", 1, MSG_NOSIGNAL), 1);
  }
  expect_served();
  EXPECT_LT(log_lines(), 60) << daemon_->log();
}

TEST_F(CrowdAttack, RefusedLeasesRefuseNobodyElse) {
  std::vector<std::unique_ptr<rpc::Node::Stub>> stubs;
  std::vector<std::unique_ptr<Operator>> refused;
  for (int i = 0; i < 4; ++i) {
    stubs.push_back(stub(folder_ / "pki/watcher"));
    for (int k = 0; k < 10; ++k) refused.push_back(std::make_unique<Operator>(*stubs.back()));
  }
  auto honest = stub(folder_ / "pki/operator");
  Operator alice(*honest);
  const rpc::Event event = alice.ask(acquire());
  EXPECT_TRUE(event.has_acquired()) << event.ShortDebugString();
  for (auto& stream : refused) stream->cancel();
  alice.finish();
  for (auto& stream : refused) stream->wait_for_end();
  EXPECT_LT(log_lines(), 60) << daemon_->log();
}

// Who finds no room is told so, not that its certificate were wrong.
TEST_F(CrowdAttack, WhoFindsNoRoomIsToldWhy) {
  fleet::Options options;
  options.pki = folder_ / "pki";
  options.phase_deadline = Seconds(10);
  const fleet::Target target{"node0", "127.0.0.1", ntohs(address_.sin_port), ""};
  std::string why;
  for (int tries = 0; tries < 10 && why.find("too many clients at once") == std::string::npos; ++tries) {
    std::vector<std::unique_ptr<rpc::Node::Stub>> stubs;
    std::vector<std::unique_ptr<Operator>> busy;
    for (std::size_t i = 0; i < max_of_source; ++i) {
      stubs.push_back(stub(folder_ / "pki/operator"));
      EXPECT_TRUE(describe(*stubs.back(), reply_).ok());
      busy.push_back(std::make_unique<Operator>(*stubs.back()));  // a call that says nothing
    }
    why = fleet::describe({target}, options).value().at(0).cause;
    for (auto& stream : busy) stream->cancel();
    for (auto& stream : busy) stream->wait_for_end();
  }
  EXPECT_NE(why.find("too many clients at once"), std::string::npos) << why << "\n" << daemon_->log();
}

// Readings by the dozen, taken back as soon as they run: no probe is left, and others are told.
TEST_F(CrowdAttack, InspectionsThatAreTakenBack) {
  rpc::InspectRequest request;
  request.set_window_s(30);
  std::vector<std::unique_ptr<rpc::Node::Stub>> stubs;
  for (int i = 0; i < 8; ++i) stubs.push_back(stub(folder_ / "pki/watcher"));
  for (int round = 0; round < 6; ++round) {
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::thread> askers;
    std::atomic<int> refused = 0;
    for (int i = 0; i < 8; ++i) {
      contexts.push_back(std::make_unique<grpc::ClientContext>());
      askers.emplace_back([&, own = request, context = contexts.back().get(), i]() mutable {
        own.set_window_s(30 + i);
        rpc::InspectReply reply;
        if (stubs[std::size_t(i)]->Inspect(context, own, &reply).ok() && reply.has_error()) ++refused;
      });
    }
    EXPECT_TRUE(eventually([&] { return refused >= 8 - max_inspections_of_identity; }));
    EXPECT_LE(daemon_->children().size(), std::size_t(max_inspections_of_identity));
    for (const auto& context : contexts) context->TryCancel();
    for (std::thread& asker : askers) asker.join();
    EXPECT_TRUE(eventually([&] { return daemon_->children().empty(); })) << daemon_->children().size();
  }
  auto honest = stub(folder_ / "pki/operator");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  rpc::InspectReply reply;
  const grpc::Status status = honest->Inspect(&context, {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(reply.has_error()) << reply.ShortDebugString();
  // A deadline is the client's word, too.
  grpc::ClientContext short_lived;
  short_lived.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  EXPECT_EQ(honest->Inspect(&short_lived, request, &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(eventually([&] { return daemon_->children().empty(); }));
  expect_served();
}

// A lease goes on while somebody else asks and takes back as fast as the connection carries it.
TEST_F(CrowdAttack, RequestsThatAreTakenBack) {
  auto honest = stub(folder_ / "pki/operator");
  Operator alice(*honest);
  ASSERT_TRUE(alice.ask(acquire()).has_acquired());
  const long before = most_memory_kB();
#ifdef RINGTRUE_SANITIZED
  // A daemon that is several times as slow, beside its attacker, would not hear the operator in time.
  constexpr int at_once = 20;
  constexpr auto pause = std::chrono::milliseconds(200);
#else
  constexpr int at_once = 200;
  constexpr auto pause = std::chrono::milliseconds(0);
#endif
  std::atomic<bool> stop = false;
  std::thread attacker([&] {
    auto watcher = stub(folder_ / "pki/watcher");
    while (!stop) {
      std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
      std::vector<std::unique_ptr<grpc::ClientReaderWriter<rpc::Command, rpc::Event>>> streams;
      for (int i = 0; i < at_once; ++i) {
        contexts.push_back(std::make_unique<grpc::ClientContext>());
        contexts.back()->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
        streams.push_back(watcher->Lease(contexts.back().get()));
        contexts.back()->TryCancel();
      }
      for (auto& stream : streams) stream->Finish();
      std::this_thread::sleep_for(pause);
    }
  });
  const std::int64_t begun = now_ns();
  rpc::Event event;
  bool leased = true;
  while (leased && seconds_since(begun).value < 4) {
    leased = alice.read(event);
    alice.write(Operator::beat());
  }
  EXPECT_TRUE(leased) << daemon_->log();
  expect_served();
  stop = true;
  attacker.join();
  EXPECT_LT(log_lines(), 60) << daemon_->log();
#ifndef RINGTRUE_SANITIZED
  EXPECT_LT(most_memory_kB(), before + 100'000);
#endif
  alice.finish();
}

}  // namespace
}  // namespace ringtrue::daemon
