// Who is let in over TCP, and what strangers leave behind.
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
  EXPECT_TRUE(describe(*before, reply_).ok()) << "a connection that stands is kept";
  // Broken ones do not take the place of good ones.
  std::ofstream(folder_ / "pki/node0/node.crt") << "no certificate";
  daemon_->signal(SIGHUP);
  ASSERT_TRUE(daemon_->says("kept the former certificates")) << daemon_->log();
  auto still = stub(folder_ / "other/operator");
  EXPECT_TRUE(describe(*still, reply_).ok());
}

TEST_F(RingtruedTlsTest, PortInUse) {
  DaemonProcess second(
      {"--state", folder_ / "state2", "--node", "node0", "--listen", listen_, "--pki", folder_ / "pki/node0"},
      folder_ / "log2");
  EXPECT_EQ(second.exit_status(), 3);
  EXPECT_NE(second.log().find("already in use"), std::string::npos) << second.log();
}

}  // namespace
}  // namespace ringtrue::daemon
