// Clients that want to fill the daemon's memory.
#include "run/job.h"
#include "tests/unit/daemon/tls_daemon.h"
#include "wire/parts.h"

namespace ringtrue::daemon {
namespace {

class MemoryAttack : public TlsDaemonTest {
 protected:
  void expect_small(long before) const {
#ifndef RINGTRUE_SANITIZED  // allocators of sanitizers keep what is freed
    EXPECT_LT(most_memory_kB(), before + 24'000) << "kB, " << before << " before";
#endif
  }
};

// 30 MiB that are 30 KiB on the wire.
TEST_F(MemoryAttack, PackedMessagesAreNotUnpacked) {
  auto operator_stub = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*operator_stub, reply_).ok());
  const long before = most_memory_kB();
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  auto stream = operator_stub->Lease(&context);
  stream->Write(acquire(std::string(30 << 20, 'a')));
  rpc::Event event;
  while (stream->Read(&event)) EXPECT_FALSE(event.has_acquired());
  stream->Finish();
  expect_small(before);
  EXPECT_TRUE(describe(*operator_stub, reply_).ok());
  EXPECT_EQ(reply_.holder(), "");
}

TEST_F(MemoryAttack, LongMessagesAreRefused) {
  auto operator_stub = stub(folder_ / "pki/operator");
  ASSERT_TRUE(describe(*operator_stub, reply_).ok());
  const long before = most_memory_kB();
  // Of 32 MiB, a million empty parts each: those that a refused client sends, and one that may run.
  for (const char* who : {"pki/operator", "pki/watcher"}) {
    auto attacker = stub(folder_ / who);
    Operator client(*attacker);
    rpc::Command bomb;
    for (int i = 0; i < 1'000'000; ++i) bomb.mutable_connect()->add_nodes();
    bomb.mutable_connect()->mutable_nodes(0)->add_processes()->set_host(std::string(30 << 20, 'x'));
    client.write(bomb);
    rpc::Event event;
    while (client.read(event)) EXPECT_TRUE(event.has_error()) << event.ShortDebugString();
    client.wait_for_end();
  }
  expect_small(before);
}

TEST_F(MemoryAttack, AGrantedLeaseTakesLongCommandsInParts) {
  auto operator_stub = stub(folder_ / "pki/operator");
  Operator alice(*operator_stub);
  ASSERT_TRUE(alice.ask(acquire("alice")).has_acquired());
  run::Job job;
  job.nodes = {"node0"};
  job.seats = {{0, 0, 0}};
  job.call.elements = 1 << 18;
  job.iterations = 1;
  auto input = std::make_shared<run::Input>();
  input->elements = job.call.elements;
  input->rows.emplace_back(std::size_t(4) << 18);
  job.input = input;
  rpc::Command whole;
  *whole.mutable_prepare()->mutable_job() = wire::to_wire(job);
  whole.set_sequence(2);
  whole.set_deadline_s(5);
  for (const rpc::Command& part : wire::in_parts(whole)) alice.write(part);
  const rpc::Event event = alice.answer(2);
  EXPECT_TRUE(event.has_prepared()) << event.ShortDebugString();
  // What is no command ends the lease, and nothing else.
  rpc::Command part;
  part.mutable_part()->set_data("nonsense");
  part.mutable_part()->set_last(true);
  alice.write(part);
  EXPECT_EQ(alice.answer(0).error().cause(), rpc::CAUSE_BAD_INPUT);
  alice.finish();
  EXPECT_TRUE(eventually([&] { return describe(*operator_stub, reply_).ok() && reply_.holder().empty(); }));
}

}  // namespace
}  // namespace ringtrue::daemon
