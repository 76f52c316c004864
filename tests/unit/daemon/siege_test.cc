// All attacks at once, from one client's certificates and from without any: an operator goes on all the same.
#include <atomic>

#include "run/job.h"
#include "tests/unit/daemon/tls_daemon.h"

namespace ringtrue::daemon {
namespace {

class Siege : public TlsDaemonTest {
 protected:
  void TearDown() override { lift(); }

  // Does it again and again, beside everything else.
  void attack(std::function<void()> once) {
    attackers_.emplace_back([this, once = std::move(once)] {
      while (!over_) {
        once();
        ++attacks_;
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      }
    });
  }
  void lift() {
    over_ = true;
    for (std::thread& attacker : attackers_) attacker.join();
    attackers_.clear();
  }
  void begin() {
    attack([this] { shouts("\x16", 64, 2); });                    // the beginning of a handshake
    attack([this] { shouts("", 64, 3); });                        // nothing
    attack([this] { shouts("GET / HTTP/1.1\r\n\r\n", 64, 4); });  // another protocol
    attack([this] { takes_back(40); });
    attack([this] { packed_bomb(); });
    attack([this] { long_bomb(); });
    attack([this] { inspections(); });
    attack([this] { refused_leases(); });
  }

  // One run of two ranks.
  static void play(Operator& alice) {
    run::Job job;
    job.nodes = {"node0"};
    job.seats = {{0, 0, 0}, {0, 0, 1}};
    job.call.elements = 1000;
    job.transport = run::Transport::shm;
    job.iterations = 2;
    rpc::Command prepare, connect, barrier, run, collect;
    *prepare.mutable_prepare()->mutable_job() = wire::to_wire(job);
    *connect.mutable_connect() = wire::to_wire(wire::Addresses{{{"127.0.0.1", 0}}});
    barrier.mutable_barrier();
    run.mutable_run();
    collect.mutable_collect();
    for (rpc::Command* command : {&prepare, &connect, &barrier, &run, &collect}) {
      command->set_deadline_s(20);
      const rpc::Event event = alice.ask(*command);
      ASSERT_TRUE(event.outcome_case() != rpc::Event::OUTCOME_NOT_SET && !event.has_error())
          << event.ShortDebugString();
      if (!event.has_report()) continue;
      const auto report = wire::from_wire(event.report());
      ASSERT_TRUE(report) << report.error().text();
      ASSERT_EQ(report->ranks.size(), 2u);
      for (const run::RankReport& rank : report->ranks) EXPECT_EQ(rank.wrong, 0u);
    }
  }

  std::atomic<int> attacks_ = 0;

 private:
#ifdef RINGTRUE_SANITIZED
  static constexpr int pause_ms =
      200;  // or a daemon that is several times as slow would not be heard beside them
#else
  static constexpr int pause_ms = 20;
#endif

  // From an address of its own.
  void shouts(std::string_view what, int count, unsigned host) {
    std::vector<OwnedFd> sockets;
    for (int i = 0; i < count && !over_; ++i) {
      sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in from{};
      from.sin_family = AF_INET;
      from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
      ::bind(sockets.back().get(), reinterpret_cast<sockaddr*>(&from), sizeof from);
      if (::connect(sockets.back().get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_) == 0 &&
          !what.empty())
        (void)::send(sockets.back().get(), what.data(), what.size(), MSG_NOSIGNAL);
    }
  }
  std::unique_ptr<grpc::ClientContext> context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    return context;
  }
  void takes_back(int count) {
    auto watcher = stub(folder_ / "pki/watcher");
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::unique_ptr<grpc::ClientReaderWriter<rpc::Command, rpc::Event>>> streams;
    for (int i = 0; i < count; ++i) {
      contexts.push_back(context());
      streams.push_back(watcher->Lease(contexts.back().get()));
      contexts.back()->TryCancel();
    }
    for (auto& stream : streams) stream->Finish();
  }
  void send(const char* who, const rpc::Command& command, bool packed) {
    auto attacker = stub(folder_ / who);
    auto own = context();
    if (packed) own->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    auto stream = attacker->Lease(own.get());
    stream->Write(command);
    rpc::Event event;
    while (stream->Read(&event)) EXPECT_FALSE(event.has_acquired());
    stream->Finish();
  }
  void packed_bomb() {
    send("pki/operator", acquire(std::string(16 << 20, 'a')), true);
  }
  void long_bomb() {
    rpc::Command bomb;
    for (int i = 0; i < 100'000; ++i) bomb.mutable_connect()->add_nodes();
    bomb.mutable_connect()->mutable_nodes(0)->add_processes()->set_host(std::string(8 << 20, 'x'));
    send("pki/watcher", bomb, false);
  }
  void inspections() {
    auto watcher = stub(folder_ / "pki/watcher");
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::thread> askers;
    for (int i = 0; i < 6; ++i) {
      contexts.push_back(context());
      askers.emplace_back([&watcher, own = contexts.back().get(), i] {
        rpc::InspectRequest request;
        request.set_window_s(20 + i);
        rpc::InspectReply reply;
        watcher->Inspect(own, request, &reply);
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (const auto& asker : contexts) asker->TryCancel();
    for (std::thread& asker : askers) asker.join();
  }
  void refused_leases() {
    auto watcher = stub(folder_ / "pki/watcher");
    std::vector<std::unique_ptr<Operator>> refused;
    for (int i = 0; i < 10; ++i) refused.push_back(std::make_unique<Operator>(*watcher));
    for (auto& stream : refused) stream->cancel();
    for (auto& stream : refused) stream->wait_for_end();
  }

  std::atomic<bool> over_ = false;
  std::vector<std::thread> attackers_;
};

TEST_F(Siege, AnOperatorGoesOn) {
  auto honest = stub(folder_ / "pki/operator");
  Operator alice(*honest, 120);
  rpc::Command lease = acquire();
  lease.mutable_acquire()->set_ranks_per_node(2);
  ASSERT_TRUE(alice.ask(lease).has_acquired());
  auto local = rpc::Node::NewStub(
      grpc::CreateChannel("unix:" + (folder_ / "state/ringtrued.sock"), grpc::InsecureChannelCredentials()));
  const std::int64_t begun = now_ns();
  begin();
  double slowest = 0;
  for (int round = 0; round < 12 || attacks_ < 100; ++round) {
    ASSERT_NO_FATAL_FAILURE(play(alice)) << round << "\n" << daemon_->log();
    const std::int64_t asked = now_ns();
    const grpc::Status answered = describe(*local, reply_);
    ASSERT_TRUE(answered.ok()) << round << ": " << answered.error_message() << "\n" << daemon_->log();
    EXPECT_EQ(reply_.holder(), "operator (127.0.0.1)");
    slowest = std::max(slowest, seconds_since(asked).value);
  }
  // Others' inspections go on as well, and the operator meanwhile: a lease whose heartbeats nobody answers
  // ends.
  std::atomic<bool> over = false;
  std::thread others([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    rpc::InspectReply reply;
    const grpc::Status status = local->Inspect(&context, {}, &reply);
    EXPECT_TRUE(status.ok() && !reply.has_error()) << status.error_message() << reply.error().what();
    lift();
    over = true;
  });
  while (!over && !HasFatalFailure()) play(alice);
  others.join();
  rpc::Command release;
  release.mutable_release();
  const rpc::Event released = alice.ask(release);
  EXPECT_TRUE(released.has_done()) << released.ShortDebugString();
  const grpc::Status finished = alice.finish();
  EXPECT_TRUE(finished.ok()) << finished.error_message();

  const double minutes = std::max(1.0, seconds_since(begun).value / 60);
  const std::string log = daemon_->log();
  const auto lines = std::count(log.begin(), log.end(), '\n');
  EXPECT_LE(double(lines), 100 * minutes) << log;
#ifndef RINGTRUE_SANITIZED
  EXPECT_LT(most_memory_kB(), 256'000);
#endif
  // For people: nothing here may depend on how busy this machine is.
  RecordProperty("attacks", attacks_.load());
  RecordProperty("log_lines", int(lines));
  RecordProperty("most_memory_kB", int(most_memory_kB()));
  RecordProperty("slowest_answer_ms", int(slowest * 1e3));
  std::printf("%d attacks, %d lines, at most %ld kB, the Unix socket answered within %.0f ms\n",
              attacks_.load(), int(lines), most_memory_kB(), slowest * 1e3);
}

}  // namespace
}  // namespace ringtrue::daemon
