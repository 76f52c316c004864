// Who is let in over TCP, and what strangers leave behind.
#include <time.h>

#include "pki/safe_file.h"
#include "pki/x509.h"
#include "tests/unit/daemon/tls_daemon.h"

namespace ringtrue::daemon {
namespace {

using RingtruedTlsTest = TlsDaemonTest;

TEST_F(RingtruedTlsTest, LetsTheOperatorIn) {
  auto operator_stub = stub(folder_ / "pki/operator");
  const grpc::Status status = describe(*operator_stub, reply_);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply_.role(), "run");
  EXPECT_EQ(reply_.refused_handshakes(), 0u);
}

TEST_F(RingtruedTlsTest, AReaderMayAskButNotRun) {
  auto reader = stub(folder_ / "pki/watcher");
  const grpc::Status status = describe(*reader, reply_);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply_.role(), "read");
  Operator watcher(*reader);
  const rpc::Event event = watcher.answer(1);
  EXPECT_EQ(event.error().cause(), rpc::CAUSE_REFUSED);
  EXPECT_NE(event.error().what().find("role 'run'"), std::string::npos) << event.error().what();
  watcher.finish();
  EXPECT_TRUE(daemon_->says("refused watcher")) << daemon_->log();
}

TEST_F(RingtruedTlsTest, StrangersAreRefusedCountedAndLogged) {
  auto nobody = rpc::Node::NewStub(grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
  EXPECT_FALSE(describe(*nobody, reply_).ok());
  EXPECT_TRUE(daemon_->says("does not speak TLS")) << daemon_->log();

  auto pem = pki::load_operator_credentials(folder_ / "other/operator");
  const auto ours = pki::load_operator_credentials(folder_ / "pki/operator");
  ASSERT_TRUE(pem && ours);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("node0");
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  auto stranger = rpc::Node::NewStub(
      grpc::CreateCustomChannel(listen_, grpc::SslCredentials({ours->ca, pem->key, pem->cert}), arguments));
  EXPECT_FALSE(describe(*stranger, reply_).ok());
  EXPECT_TRUE(daemon_->says("another authority")) << daemon_->log();
  auto bare = rpc::Node::NewStub(
      grpc::CreateCustomChannel(listen_, grpc::SslCredentials({ours->ca, "", ""}), arguments));
  EXPECT_FALSE(describe(*bare, reply_).ok());
  EXPECT_TRUE(daemon_->says("showed no certificate")) << daemon_->log();

  auto good = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*good, reply_).ok());
  EXPECT_GE(reply_.refused_handshakes(), 2u);
}

TEST_F(RingtruedTlsTest, GarbageLeavesItAnsweringAndSmall) {
  auto good = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*good, reply_).ok());
  [[maybe_unused]] const long before = memory_kB();
  std::string noise(4096, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = char(i * 131 + 7);
  const std::string hello = "\x16\x03\x01\x10\x00" + noise;
  for (int i = 0; i < 1000; ++i) {
    const OwnedFd fd = connect();
    const std::string& says = i % 4 == 0 ? hello : noise;
    if (i % 3 != 0) (void)::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  auto again = stub(folder_ / "pki/operator");
  const grpc::Status status = describe(*again, reply_);
  EXPECT_TRUE(status.ok()) << status.error_message();
#ifndef RINGTRUE_SANITIZED  // allocators of sanitizers keep what is freed
  EXPECT_TRUE(eventually([&] { return memory_kB() < before + 6'000; }, Seconds(15)))
      << before << " " << memory_kB();
#endif
  const std::string log = daemon_->log();
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 40) << log;
}

TEST_F(RingtruedTlsTest, ReloadsItsCertificates) {
  auto before = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*before, reply_).ok());
  // Another authority's certificates take the place of the old ones.
  ASSERT_TRUE(pki::issue_certificates(folder_ / "other", {"node0"}, {}));
  for (const char* name : {"ca.crt", "node.crt", "node.key"}) {
    std::filesystem::copy_file(folder_ / (std::string("other/node0/") + name),
                               folder_ / (std::string("pki/node0/") + name),
                               std::filesystem::copy_options::overwrite_existing);
  }
  daemon_->signal(SIGHUP);
  ASSERT_TRUE(daemon_->says("reloaded the certificates")) << daemon_->log();
  auto after = stub(folder_ / "other/operator");
  const grpc::Status status = describe(*after, reply_);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // A connection that stands is dropped, and its client is of another authority now.
  EXPECT_FALSE(describe(*before, reply_).ok());
  // Broken ones do not take the place of good ones.
  std::ofstream(folder_ / "pki/node0/node.crt") << "no certificate";
  daemon_->signal(SIGHUP);
  ASSERT_TRUE(daemon_->says("kept the former certificates")) << daemon_->log();
  auto still = stub(folder_ / "other/operator");
  EXPECT_TRUE(describe(*still, reply_).ok());
}

TEST_F(RingtruedTlsTest, RevokedCertificatesCountNoMore) {
  pki::IssueOptions run;
  run.role = pki::Role::run;
  ASSERT_TRUE(pki::issue_certificates(folder_ / "pki", {"mallory"}, run));
  auto mallory = stub(folder_ / "pki/mallory"), other = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*mallory, reply_).ok());
  ASSERT_TRUE(describe(*other, reply_).ok());
  Operator lease(*mallory);
  ASSERT_TRUE(lease.ask(acquire()).has_acquired());
  ASSERT_TRUE(describe(*other, reply_).ok());
  EXPECT_EQ(reply_.holder(), "mallory (127.0.0.1)");

  ASSERT_TRUE(pki::revoke_certificates(folder_ / "pki", {"mallory"}));
  std::filesystem::copy_file(folder_ / "pki/revoked", folder_ / "pki/node0/revoked");
  daemon_->signal(SIGHUP);
  ASSERT_TRUE(daemon_->says("reloaded the certificates")) << daemon_->log();
  // Its lease and its connection are gone, and it gets no other; whoever else is connected stays so.
  EXPECT_FALSE(lease.wait_for_end().ok());
  EXPECT_FALSE(describe(*mallory, reply_).ok());
  EXPECT_FALSE(describe(*stub(folder_ / "pki/mallory"), reply_).ok());
  EXPECT_TRUE(daemon_->says("has been revoked")) << daemon_->log();
  EXPECT_TRUE(eventually([&] { return describe(*other, reply_).ok() && reply_.holder().empty(); }));
  // A broken list takes nothing back.
  std::ofstream(folder_ / "pki/node0/revoked") << "everybody\n";
  daemon_->signal(SIGHUP);
  EXPECT_TRUE(daemon_->says("no serial number")) << daemon_->log();
  EXPECT_FALSE(describe(*stub(folder_ / "pki/mallory"), reply_).ok());
}

// The handshake is long over, or was resumed: what counts is the certificate now.
TEST_F(RingtruedTlsTest, AConnectionDoesNotOutliveItsCertificate) {
  const pki::KeyPair authority{*pki::read_file(folder_ / "pki/ca.crt"),
                               *pki::read_file(folder_ / "pki/ca.key")};
  pki::Profile profile;
  profile.name = "brief";
  profile.unit = "role:run";
  profile.client = true;
  profile.not_before = ::time(nullptr) - 60;
  profile.not_after = ::time(nullptr) + 4;
  const auto brief = pki::make_certificate(profile, &authority);
  ASSERT_TRUE(brief);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("node0");
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  auto client = rpc::Node::NewStub(grpc::CreateCustomChannel(
      listen_, grpc::SslCredentials({authority.certificate, brief->key, brief->certificate}), arguments));
  Operator lease(*client);
  ASSERT_TRUE(lease.ask(acquire()).has_acquired());
  ASSERT_TRUE(describe(*client, reply_).ok());
  rpc::Event event;
  while (lease.read(event)) lease.write(Operator::beat());  // until the daemon ends it
  EXPECT_LE(::time(nullptr), profile.not_after + 3);
  const grpc::Status status = describe(*client, reply_);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(daemon_->says("expired on")) << daemon_->log();
}

TEST_F(RingtruedTlsTest, ANodesCertificateIsNoClients) {
  // As they were issued once, for both.
  const pki::KeyPair authority{*pki::read_file(folder_ / "pki/ca.crt"),
                               *pki::read_file(folder_ / "pki/ca.key")};
  pki::Profile profile;
  profile.name = "node7";
  profile.unit = "role:node";
  profile.client = profile.server = true;
  profile.not_before = ::time(nullptr) - 60;
  profile.not_after = ::time(nullptr) + 600;
  const auto old = pki::make_certificate(profile, &authority);
  const auto now = pki::load_node_credentials(folder_ / "pki/node0", "node0");
  ASSERT_TRUE(old && now);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("node0");
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  for (const auto& [certificate, key] :
       {std::pair(old->certificate, old->key), std::pair(now->cert, now->key)}) {
    auto client = rpc::Node::NewStub(grpc::CreateCustomChannel(
        listen_, grpc::SslCredentials({authority.certificate, key, certificate}), arguments));
    EXPECT_FALSE(describe(*client, reply_).ok());
    Operator lease(*client);
    EXPECT_FALSE(lease.ask(acquire()).has_acquired());
  }
}

TEST_F(RingtruedTlsTest, PortInUse) {
  DaemonProcess second(
      {"--state", folder_ / "state2", "--node", "node0", "--listen", listen_, "--pki", folder_ / "pki/node0"},
      folder_ / "log2");
  EXPECT_EQ(second.exit_status(), 1);
  EXPECT_NE(second.log().find("already in use"), std::string::npos) << second.log();
}

TEST_F(RingtruedTlsTest, WarnsOfItsCertificatesEnd) {
  EXPECT_EQ(daemon_->log().find("expires"), std::string::npos);
  pki::IssueOptions week;
  week.days = 7;
  ASSERT_TRUE(pki::issue_certificates(folder_ / "pki", {"node0"}, week));
  daemon_->signal(SIGHUP);
  EXPECT_TRUE(daemon_->says("the certificate of node0 expires in ")) << daemon_->log();
}

}  // namespace
}  // namespace ringtrue::daemon
