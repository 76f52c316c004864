// Clients that want the daemon to go where they cannot go themselves.
#include "run/job.h"
#include "tests/unit/daemon/tls_daemon.h"

namespace ringtrue::daemon {
namespace {

class DeputyAttack : public TlsDaemonTest {
 protected:
  void SetUp() override {
    ::setenv("RINGTRUE_DAEMON_PEERS", "10.66.0.0/16", 1);
    TlsDaemonTest::SetUp();
    ::unsetenv("RINGTRUE_DAEMON_PEERS");
  }
  // What becomes of a run whose other node is said to be there.
  rpc::Error run_beside(const std::string& host) {
    auto client = stub(folder_ / "pki/operator");
    Operator mallory(*client);
    rpc::Command command = acquire("mallory");
    command.mutable_acquire()->add_nodes("node1");
    EXPECT_TRUE(mallory.ask(command).has_acquired());
    run::Job job;
    job.nodes = {"node0", "node1"};
    job.seats = {{0, 0, 0}, {1, 0, 0}};
    job.call.elements = 1000;
    job.transport = run::Transport::tcp;
    job.iterations = 1;
    rpc::Command prepare;
    *prepare.mutable_prepare()->mutable_job() = wire::to_wire(job);
    const rpc::Event prepared = mallory.ask(prepare);
    EXPECT_TRUE(prepared.has_prepared()) << prepared.ShortDebugString();
    rpc::Command connect;
    const int port = prepared.prepared().ports_size() ? int(prepared.prepared().ports(0)) : 0;
    *connect.mutable_connect() = wire::to_wire(wire::Addresses{{{"127.0.0.1", port}}, {{host, 22}}});
    connect.set_deadline_s(1);
    const rpc::Event event = mallory.ask(connect);
    mallory.finish();
    EXPECT_TRUE(eventually([&] { return describe(*client, reply_).ok() && reply_.holder().empty(); }));
    return event.error();
  }
};

TEST_F(DeputyAttack, ConnectsToNobodyOutside) {
  for (const char* host : {"169.254.169.254", "192.0.2.7", "224.0.0.1", "0.0.0.0", "localhost", "fe80::1"}) {
    const rpc::Error error = run_beside(host);
    EXPECT_EQ(error.cause(), rpc::CAUSE_REFUSED) << host << ": " << error.what();
    EXPECT_NE(error.what().find(std::string("node1 is said to be at")), std::string::npos) << error.what();
  }
  EXPECT_TRUE(daemon_->says(
      "node1 is said to be at 169.254.169.254, outside of this node's configured networks (10.66.0.0/16)"))
      << daemon_->log();
}

}  // namespace
}  // namespace ringtrue::daemon
