// Two nodes with RDMA on a scripted fabric, connected as sessions connect: greetings over the wire's bytes,
// then channels. Rank r is on node r.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "run/rdma.h"
#include "tests/support/adder.h"
#include "tests/support/fake_verbs.h"
#include "tests/support/post.h"
#include "transport/verbs/transport.h"

namespace ringtrue::test {

class VerbsPair {
 public:
  struct Setup {
    run::RdmaSettings settings;
    int rails = 1;
    bool infiniband = false;
    int threads = 1;  // a node
    std::uint64_t memory_bytes = 4 << 20, max_message = 4 << 20;
    std::uint32_t shuffle = 0;  // seed; 0: writes arrive as they are posted
    std::function<void(transport::verbs::FakeDevice&)> change;
    transport::verbs::Copier* copiers[2] = {};  // where there is one, the node's memory is a GPU's
  };
  struct Node {
    std::unique_ptr<transport::verbs::Transport> transport;
    std::vector<std::unique_ptr<transport::Loop>> loops;
    std::vector<std::byte> memory;
    std::vector<Error> failures;  // that events told
    std::vector<int> controls;    // by lane
    transport::verbs::FakeLibrary* library = nullptr;
  };

  explicit VerbsPair(Setup setup, int lanes = 1) : setup_(std::move(setup)), lanes_(lanes) {
    if (setup_.shuffle != 0) fabric.shuffle(setup_.shuffle);
    for (const int n : {0, 1}) {
      std::vector<transport::verbs::FakeDevice> devices;
      for (int d = 0; d < setup_.rails; ++d) {
        const std::string name = "mlx5_" + std::to_string(d);
        devices.push_back(setup_.infiniband
                              ? transport::verbs::fake_infiniband(name, std::uint16_t(2 * d + n + 1))
                              : transport::verbs::fake_roce(
                                    name, "10." + std::to_string(d) + ".0." + std::to_string(n + 1)));
        if (setup_.change) setup_.change(devices.back());
      }
      nodes_[n].library = &fabric.add_node(std::move(devices));
      nodes_[n].memory.resize(setup_.memory_bytes);
      for (int t = 0; t < setup_.threads; ++t) nodes_[n].loops.push_back(*transport::Loop::make());
      auto opened = transport::verbs::Transport::open(*nodes_[n].library,
                                                      {"node" + std::to_string(n), "", setup_.settings});
      EXPECT_TRUE(opened) << opened.error().text();
      nodes_[n].transport = std::move(*opened);
    }
    for (int lane = 0; lane < lanes_; ++lane) {
      int pair[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
      for (const int n : {0, 1}) nodes_[n].controls.push_back(pair[n]);
    }
    connect();
  }
  ~VerbsPair() {
    close();
    for (Node& node : nodes_)
      for (const int fd : node.controls) ::close(fd);
  }

  // A run begins, lane l on thread l modulo threads.
  void connect() {
    using namespace transport::verbs;
    std::vector<std::vector<std::byte>> words[2];
    for (const int n : {0, 1}) {
      Node& node = nodes_[n];
      Copier* const copier = setup_.copiers[n];
      if (copier) fabric.mark_gpu(node.memory.data(), node.memory.size());
      const auto used =
          node.transport->use({node.memory.data(), node.memory.size(), copier != nullptr, {}, copier});
      ASSERT_TRUE(used) << used.error().text();
      Transport::Run run;
      for (const auto& loop : node.loops) run.loops.push_back(loop.get());
      run.hops = std::size_t(lanes_);
      run.max_message = setup_.max_message;
      run.failed = [&node](Error error) { node.failures.push_back(std::move(error)); };
      const auto begun = node.transport->begin_run(std::move(run));
      ASSERT_TRUE(begun) << begun.error().text();
      for (int lane = 0; lane < lanes_; ++lane) {
        const transport::Hop hop{n, 1 - n, transport::Lane(lane), "node" + std::to_string(1 - n)};
        const auto offered = node.transport->offer(key(n, lane), hop, lane % setup_.threads);
        ASSERT_TRUE(offered) << offered.error().text();
        words[n].push_back(encode(*offered));
      }
    }
    for (const int n : {0, 1})
      for (int lane = 0; lane < lanes_; ++lane) {
        const auto ours = decode(words[n][std::size_t(lane)]),
                   theirs = decode(words[1 - n][std::size_t(lane)]);
        ASSERT_TRUE(ours && theirs);
        ASSERT_EQ(mismatch(*ours, *theirs), "");
        const auto accepted = nodes_[n].transport->accept(key(n, lane), *theirs);
        ASSERT_TRUE(accepted) << accepted.error().text();
      }
  }
  std::unique_ptr<transport::verbs::Channel> open(int node, int lane, transport::Owner& owner,
                                                  const transport::Reducer& reducer,
                                                  transport::faulty::Script script = {}) {
    return nodes_[node].transport->open_channel(key(node, lane), nodes_[node].controls[std::size_t(lane)],
                                                owner, reducer, std::move(script));
  }
  // After the channels are gone.
  void close() {
    for (Node& node : nodes_) node.transport.reset();
  }
  Node& node(int number) { return nodes_[number]; }
  static transport::tcp::ConnectionKey key(int node, int lane) {
    return {{std::uint32_t(node), 0}, {std::uint32_t(1 - node), 0}, transport::Lane(lane)};
  }

  transport::verbs::FakeFabric fabric;

 private:
  Setup setup_;
  int lanes_;
  Node nodes_[2];
};

// ... and one channel between them, with its owners.
class VerbsHop {
 public:
  explicit VerbsHop(VerbsPair::Setup setup = {}) : pair(std::move(setup)) { open(); }
  ~VerbsHop() {
    close();
    pair.close();
    for (const std::string& complaint : pair.fabric.complaints()) ADD_FAILURE() << complaint;
  }
  void open() {
    for (const int r : {0, 1}) ends[r] = pair.open(r, 0, owner[r], adder);
  }
  void close() {
    for (auto& end : ends) end.reset();
  }
  std::byte* memory(int rank) { return pair.node(rank).memory.data(); }

  // Lets both sides work until `until` holds, an error comes, or `patience` is over.
  template <class Until>
  bool run(Until until, Seconds patience = Seconds(5)) {
    const Deadline deadline = Deadline::in(patience);
    while (!until() && !owner[0].failure && !owner[1].failure && !deadline.passed())
      for (const int r : {0, 1}) pair.node(r).loops[0]->run(until, Deadline::in(Seconds(0.0005)));
    return until();
  }
  bool run_until_done(std::size_t zero, std::size_t one) {
    return run([=, this] { return owner[0].done.size() >= zero && owner[1].done.size() >= one; });
  }
  // Both sides do what they can do now, however busy the machine is.
  void settle() {
    for (int round = 0; round < 3; ++round)
      for (const int r : {0, 1})
        pair.node(r).loops[0]->run([] { return false; }, Deadline::in(Seconds(0.0005)));
  }

  VerbsPair pair;
  Adder adder;
  Post owner[2];
  std::unique_ptr<transport::verbs::Channel> ends[2];
};

}  // namespace ringtrue::test
