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
  // Up to the ports that it listens on.
  static rpc::Event prepare(Operator& client, rpc::Command lease) {
    lease.mutable_acquire()->add_nodes("node1");
    const rpc::Event acquired = client.ask(std::move(lease));
    EXPECT_TRUE(acquired.has_acquired()) << acquired.ShortDebugString();
    run::Job job;
    job.nodes = {"node0", "node1"};
    job.seats = {{0, 0, 0}, {1, 0, 0}};
    job.call.elements = 1000;
    job.transport = run::Transport::tcp;
    job.iterations = 1;
    rpc::Command command;
    *command.mutable_prepare()->mutable_job() = wire::to_wire(job);
    rpc::Event prepared = client.ask(command);
    EXPECT_EQ(prepared.prepared().ports_size(), 1) << prepared.ShortDebugString();
    if (prepared.prepared().ports_size() == 0) prepared.mutable_prepared()->add_ports(0);
    return prepared;
  }
  // What becomes of a run whose other node is said to be there.
  rpc::Error run_beside(const std::string& host) {
    auto client = stub(folder_ / "pki/operator");
    Operator mallory(*client);
    const int port = int(prepare(mallory, acquire("mallory")).prepared().ports(0));
    rpc::Command connect;
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

TEST_F(DeputyAttack, ListensWhereTheOperatorReachesIt) {
  auto client = stub(folder_ / "pki/operator");
  Operator alice(*client);
  // Where to listen is not for the client to say.
  rpc::Command lease = acquire();
  lease.mutable_acquire()->mutable_member()->set_listen_address("0.0.0.0");
  const int port = int(prepare(alice, lease).prepared().ports(0));
  const auto listens_at = [port](in_addr_t host) {
    const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(host);
    at.sin_port = htons(std::uint16_t(port));
    return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  };
  EXPECT_TRUE(listens_at(INADDR_LOOPBACK));
  EXPECT_FALSE(listens_at(INADDR_LOOPBACK + 1));  // an address of this machine that nobody named
  alice.finish();
}

TEST_F(DeputyAttack, OffersNoLeaseWithLongSilences) {
  auto client = stub(folder_ / "pki/operator");
  Operator mallory(*client);
  rpc::Command lease = acquire("mallory");
  lease.mutable_acquire()->set_heartbeat_s(60);
  const rpc::Event event = mallory.ask(lease);
  EXPECT_EQ(event.error().cause(), rpc::CAUSE_REFUSED) << event.ShortDebugString();
  EXPECT_EQ(event.error().what(), "a heartbeat every 60.0 s is promised, 3.00 s is the longest here");
  mallory.wait_for_end();
}

}  // namespace
}  // namespace ringtrue::daemon
