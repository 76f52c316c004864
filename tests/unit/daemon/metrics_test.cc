// The daemon's page of metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "base/file.h"
#include "base/listen.h"
#include "tests/unit/daemon/daemon_process.h"
#include "tests/unit/scrape/client.h"

namespace ringtrue::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class DaemonMetrics : public testing::Test {
 protected:
  void SetUp() override {
    {
      const auto probe = listen_on({"127.0.0.1", 0}, "", 1);  // the kernel names a port that is free
      ASSERT_TRUE(probe);
      port_ = port_of(probe->get());
    }
    start();
    stub_ = rpc::Node::NewStub(grpc::CreateChannel("unix:" + (folder_ / "state/ringtrued.sock"),
                                                   grpc::InsecureChannelCredentials()));
  }
  void start() {
    daemon_.reset();
    daemon_ = std::make_unique<DaemonProcess>(
        std::vector<std::string>{"--state", folder_ / "state", "--node", "node0", "--metrics",
                                 "127.0.0.1:" + std::to_string(port_)},
        folder_ / ("log" + std::to_string(starts_++)));
    ASSERT_TRUE(daemon_->says("metrics on")) << daemon_->log();
  }
  std::string scrape() const { return scrape::Client(port_).get(); }
  static rpc::Command acquire() {
    wire::Acquire a;
    a.holder = "alice";
    a.member.secret = std::string(32, 's');
    a.nodes = {"node0"};
    rpc::Command command;
    *command.mutable_acquire() = wire::to_wire(a);
    return command;
  }
  TemporaryFolder folder_;
  int port_ = 0, starts_ = 0;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<rpc::Node::Stub> stub_;
};

TEST_F(DaemonMetrics, TellLeases) {
  EXPECT_THAT(scrape(), HasSubstr("\nringtrued_lease_held 0\n"));
  Operator alice(*stub_), bob(*stub_);
  ASSERT_TRUE(alice.ask(acquire()).has_acquired());
  EXPECT_THAT(scrape(), HasSubstr("\nringtrued_lease_held 1\n"));
  ASSERT_TRUE(bob.ask(acquire()).has_error());
  rpc::Command release;
  release.mutable_release();
  ASSERT_TRUE(alice.ask(release).has_done());
  EXPECT_TRUE(alice.finish().ok());
  ASSERT_TRUE(eventually([&] { return scrape().find("\nringtrued_lease_held 0\n") != std::string::npos; }));
  const std::string page = scrape();
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(page, HasSubstr("\nringtrued_leases_total{end=\"released\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nringtrued_leases_total{end=\"refused\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nringtrued_workers_total{end=\"normal\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nringtrued_workers_total{end=\"crashed\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("\nringtrued_sent_bytes_total{transport=\"tcp\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("\nprocess_resident_memory_bytes "));
  EXPECT_THAT(page, HasSubstr("\nprocess_open_fds "));
  EXPECT_THAT(page, Not(HasSubstr("ringtrued_certificate"))) << "it has none";
}

TEST_F(DaemonMetrics, TellWhatTheRulesFindHere) {
  ASSERT_TRUE(
      eventually([&] { return scrape().find("\nringtrued_inspect_findings{") != std::string::npos; }));
  const std::string page = scrape();
  for (const char* severity : {"critical", "warning", "info"})
    EXPECT_THAT(page, HasSubstr(std::string("\nringtrued_inspect_findings{severity=\"") + severity + "\"} "));
  EXPECT_THAT(page, HasSubstr("\nringtrued_inspect_timestamp_seconds 1"));
}

TEST_F(DaemonMetrics, StartAtZeroAgainWithTheDaemon) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire()).has_acquired());
  alice.cancel();
  ASSERT_TRUE(eventually([&] { return scrape().find("{end=\"lost\"} 1\n") != std::string::npos; }));
  start();
  const std::string page = scrape();
  EXPECT_THAT(page, HasSubstr("\nringtrued_leases_total{end=\"lost\"} 0\n"));
  EXPECT_THAT(page, Not(HasSubstr(" -"))) << "something is negative";
  EXPECT_THAT(page, HasSubstr("\nprocess_start_time_seconds "));
}

TEST_F(DaemonMetrics, StrangersLeaveALeaseAlone) {
  Operator alice(*stub_);
  ASSERT_TRUE(alice.ask(acquire()).has_acquired());
  std::list<scrape::Client> half;
  for (int i = 0; i < 64; ++i) half.emplace_back(port_);
  for (auto& client : half) client.write("GET /met");
  scrape::Client big(port_);
  big.write("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
  for (int i = 0; i < 10'000 && big.write(std::string(1000, 'a')); ++i) {
  }
  EXPECT_THAT(scrape(), HasSubstr("\nringtrued_lease_held 1\n"));
  rpc::Command release;
  release.mutable_release();
  EXPECT_TRUE(alice.ask(release).has_done());
}

TEST_F(DaemonMetrics, AreNotOpenToOthersWithoutCertificates) {
  DaemonProcess open({"--state", folder_ / "other", "--node", "node0", "--metrics", "0.0.0.0"},
                     folder_ / "log");
  EXPECT_EQ(open.exit_status(), 3);
  EXPECT_THAT(open.log(), HasSubstr("--metrics"));
  DaemonProcess wrong({"--state", folder_ / "other", "--node", "node0", "--metrics", "1.2.3.4:x"},
                      folder_ / "log2");
  EXPECT_EQ(wrong.exit_status(), 3);
  EXPECT_THAT(wrong.log(), HasSubstr("is not an address to listen on"));
}

TEST_F(DaemonMetrics, CostAnIdleDaemonLittle) {
  for (int i = 0; i < 50; ++i) ASSERT_THAT(scrape(), StartsWith("HTTP/1.1 200 "));
  const auto resident = kib_field("/proc/" + std::to_string(daemon_->pid()) + "/status", "VmRSS");
  ASSERT_TRUE(resident);
#ifndef RINGTRUE_SANITIZED
  EXPECT_LT(*resident, std::uint64_t(30) << 20);
#endif
}

}  // namespace
}  // namespace ringtrue::daemon
