// A ringtrued on TCP of loopback with mutual TLS, an authority of its own, and another authority beside it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "pki/pki.h"
#include "tests/unit/daemon/daemon_process.h"

namespace ringtrue::daemon {

class TlsDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pki::init_authority(folder_ / "pki"));
    ASSERT_TRUE(pki::issue_certificates(folder_ / "pki", {"node0"}, {}));
    pki::IssueOptions read;
    read.role = pki::Role::read;
    ASSERT_TRUE(pki::issue_certificates(folder_ / "pki", {"watcher"}, read));
    ASSERT_TRUE(pki::init_authority(folder_ / "other"));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // The kernel names a port that is free.
    {
      const OwnedFd probe(::socket(AF_INET, SOCK_STREAM, 0));
      ASSERT_EQ(::bind(probe.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
      socklen_t length = sizeof address_;
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address_), &length);
    }
    listen_ = "127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
    daemon_ = std::make_unique<DaemonProcess>(
        std::vector<std::string>{"--state", folder_ / "state", "--node", "node0", "--listen", listen_,
                                 "--pki", folder_ / "pki/node0"},
        folder_ / "log");
    ASSERT_TRUE(daemon_->says("listening")) << daemon_->log();
  }
  std::unique_ptr<rpc::Node::Stub> stub(const std::string& folder) {
    grpc::SslCredentialsOptions options;
    if (!folder.empty()) {
      const auto pem = pki::load_operator_credentials(folder);
      EXPECT_TRUE(pem) << pem.error().text();
      options = {pem->ca, pem->key, pem->cert};
    }
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("node0");
    // Each channel its own connection: gRPC shares them otherwise.
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    arguments.SetMaxSendMessageSize(-1);
    return rpc::Node::NewStub(grpc::CreateCustomChannel(listen_, grpc::SslCredentials(options), arguments));
  }
  static grpc::Status describe(rpc::Node::Stub& stub, rpc::DescribeReply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    return stub.Describe(&context, {}, &reply);
  }
  static rpc::Command acquire(const std::string& holder = "alice") {
    wire::Acquire a;
    a.holder = holder;
    a.member.secret = std::string(32, 's');
    a.nodes = {"node0"};
    rpc::Command command;
    *command.mutable_acquire() = wire::to_wire(a);
    return command;
  }
  OwnedFd connect() {
    OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
    return fd;
  }
  long memory_kB() const { return status_of("VmRSS:"); }
  long most_memory_kB() const { return status_of("VmHWM:"); }

 private:
  long status_of(const std::string& key) const {
    std::ifstream file("/proc/" + std::to_string(daemon_->pid()) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind(key, 0) == 0) return std::stol(line.substr(key.size()));
    }
    return -1;
  }

 protected:
  TemporaryFolder folder_;
  sockaddr_in address_{};
  std::string listen_;
  std::unique_ptr<DaemonProcess> daemon_;
  rpc::DescribeReply reply_;
};

}  // namespace ringtrue::daemon
