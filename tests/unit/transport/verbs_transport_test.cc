// The RDMA side of a process: what it makes for a run, and when it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/rdma.h"
#include "tests/support/verbs_pair.h"

namespace ringtrue::transport::verbs {
namespace {

using test::VerbsHop;
using test::VerbsPair;
using testing::HasSubstr;

// A node with a transport and a loop, whose peers' ends do not matter.
class Node {
 public:
  explicit Node(std::vector<FakeDevice> devices, run::RdmaSettings settings = {}, std::string address = "") {
    library = &fabric.add_node(std::move(devices));
    opened = Transport::open(*library, {"node1", std::move(address), std::move(settings)});
  }
  ~Node() {
    if (opened) opened->reset();
    EXPECT_THAT(fabric.complaints(), testing::IsEmpty());
    EXPECT_EQ(fabric.live(), FakeFabric::Live{});
  }
  Transport& transport() { return **opened; }
  Result<void> begin(std::size_t hops, std::uint64_t longest = 1 << 20) {
    Transport::Run run;
    for (const auto& loop : loops) run.loops.push_back(loop.get());
    run.hops = hops;
    run.max_message = longest;
    run.failed = [this](Error error) { failures.push_back(std::move(error)); };
    return transport().begin_run(std::move(run));
  }
  Result<Greeting> offer(int peer, std::vector<run::RdmaPort> ports = {}, int thread = 0) {
    return transport().offer(key(peer), {0, peer, 0, "node2"}, thread, ports);
  }
  static tcp::ConnectionKey key(int peer) { return {{0, 0}, {std::uint32_t(peer), 0}, 0}; }

  FakeFabric fabric;
  FakeLibrary* library = nullptr;
  std::unique_ptr<Loop> loops[2] = {*Loop::make(), *Loop::make()};
  std::vector<Error> failures;
  Result<std::unique_ptr<Transport>> opened = fail(Cause::internal, "");
};

FakeDevice limited(void (*change)(FakeDevice&)) {
  FakeDevice device = fake_roce("mlx5_0", "10.0.0.1");
  change(device);
  return device;
}

TEST(VerbsTransport, ANodeWithoutRdmaSaysWhy) {
  {
    Node node({});
    ASSERT_FALSE(node.opened);
    EXPECT_EQ(node.opened.error().cause, Cause::unavailable);
    EXPECT_EQ(node.opened.error().what, "no RDMA device");
  }
  Node node({limited([](FakeDevice& device) { device.cannot_open = "permission denied"; })});
  ASSERT_FALSE(node.opened);
  EXPECT_THAT(node.opened.error().what, HasSubstr("permission denied"));
}

TEST(VerbsTransport, MemoryAndSlotsFitTheRun) {
  Node node({fake_roce("mlx5_0", "10.0.0.1")});
  const auto offered = [&](std::size_t hops, std::uint64_t longest) {
    EXPECT_TRUE(node.begin(hops, longest));
    const auto greeting = node.offer(1);
    EXPECT_TRUE(greeting) << greeting.error().text();
    node.transport().end_run();
    return *greeting;
  };
  EXPECT_EQ(offered(2, 16 << 20).slot_bytes, 256u * 1024) << "as the settings say";
  EXPECT_EQ(offered(2, 1000).slot_bytes, 1024u) << "no more than the longest message needs";
  EXPECT_EQ(offered(2, 0).slot_bytes, 64u);
  const Greeting many = offered(500, 16 << 20);
  EXPECT_EQ(many.slots, 8u);
  EXPECT_LE(500ull * many.slots * 2 * many.slot_bytes, 512u << 20) << "smaller where there are many";
  EXPECT_GE(many.slot_bytes, 4096u);
  // Nothing of it stays but the pool, and that for good.
  EXPECT_GT(node.transport().rails().size(), 0u);
  EXPECT_EQ(node.fabric.live().queue_pairs, 0);
}

TEST(VerbsTransport, QueuesAreSharedByAllHopsOfAThread) {
  Node node({fake_roce("mlx5_0", "10.0.0.1")});
  ASSERT_TRUE(node.begin(4));
  for (int peer = 0; peer < 4; ++peer) ASSERT_TRUE(node.offer(peer, {}, peer % 2));
  const auto live = node.fabric.live();
  EXPECT_EQ(live.completion_queues, 2);
  EXPECT_EQ(live.shared_queues, 2);
  EXPECT_EQ(live.queue_pairs, 4);
  const auto more = node.offer(5);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().cause, Cause::internal);
  node.transport().withdraw(Node::key(0));
  EXPECT_EQ(node.fabric.live().queue_pairs, 3);
}

TEST(VerbsTransport, LimitsOfTheDeviceAreNamed) {
  {
    Node node({limited([](FakeDevice& device) { device.limits.completions = 100; })});
    ASSERT_TRUE(node.begin(50));
    const auto refused = node.offer(0);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("mlx5_0 has 100"));
    EXPECT_EQ(node.fabric.live().completion_queues, 0);
  }
  {
    Node node({limited([](FakeDevice& device) { device.limits.queue_pairs = 3; })});
    ASSERT_TRUE(node.begin(4));
    for (int peer = 0; peer < 3; ++peer) ASSERT_TRUE(node.offer(peer));
    EXPECT_FALSE(node.offer(3));
    EXPECT_EQ(node.fabric.live().queue_pairs, 3);
  }
  Node node({limited([](FakeDevice& device) { device.max_pinned = 64 * 1024; })});
  ASSERT_TRUE(node.begin(1));
  const auto refused = node.offer(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::refused);
  EXPECT_THAT(refused.error().next, HasSubstr("memlock"));
}

TEST(VerbsTransport, EventsOfPortsInUseEndTheRun) {
  Node node({fake_roce("mlx5_0", "10.0.0.1"), fake_roce("mlx5_1", "10.0.1.1")});
  const auto listen = [&] { node.loops[0]->run([] { return false; }, Deadline::in(Seconds(0.002))); };
  ASSERT_TRUE(node.begin(1));
  ASSERT_TRUE(node.offer(1, {{"mlx5_0", 1}}));
  node.library->set_active("mlx5_1", 1, false);
  node.library->raise("mlx5_0", {Event::Kind::other, 0, 0, "GID table change"});
  listen();
  EXPECT_TRUE(node.failures.empty()) << "another port's";
  node.library->set_active("mlx5_0", 1, false);
  node.library->raise("mlx5_0", {Event::Kind::device_fatal, 0, 0, "local catastrophic error"});
  listen();
  ASSERT_EQ(node.failures.size(), 1u) << "once";
  EXPECT_EQ(node.failures[0].where, "node1");
  EXPECT_THAT(node.failures[0].what, HasSubstr("port 1 of mlx5_0 went down"));

  // The next run begins with what is there.
  node.library->set_active("mlx5_0", 1, true);
  ASSERT_TRUE(node.begin(1));
  listen();
  EXPECT_EQ(node.failures.size(), 1u);
  ASSERT_EQ(node.transport().rails().size(), 1u) << "mlx5_1 is down";
  node.library->set_active("mlx5_0", 1, false);
  const auto begun = node.begin(1);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().cause, Cause::unavailable);
}

TEST(VerbsTransport, AHopMayGoThroughPortsOfItsOwn) {
  Node node({fake_roce("mlx5_0", "10.0.0.1"), fake_roce("mlx5_1", "10.0.1.1")}, {}, "10.0.0.1");
  std::vector<std::byte> memory(1 << 16);
  ASSERT_EQ(*node.transport().use({memory.data(), memory.size(), false, {}}), Way::host);
  ASSERT_EQ(node.transport().rails().size(), 1u);
  EXPECT_EQ(node.fabric.live().regions, 1) << "on no device that nothing goes through";
  ASSERT_TRUE(node.begin(2));
  ASSERT_TRUE(node.offer(1));
  const auto other = node.offer(2, {{"mlx5_1", 1}});
  ASSERT_TRUE(other) << other.error().text();
  ASSERT_EQ(other->rails.size(), 1u);
  EXPECT_EQ(other->rails[0].name, "mlx5_1:1");
  EXPECT_EQ(other->rails[0].gid, fake_gid("10.0.1.1", 0, Gid::Type::roce_v2).raw);
  EXPECT_EQ(node.transport().way(), Way::host);
  for (const auto& region : node.fabric.regions())
    EXPECT_FALSE(region.at == memory.data() && region.access.remote_write);
  EXPECT_FALSE(node.offer(3, {{"mlx5_7", 1}}));
}

TEST(VerbsTransport, AFlowIsKnownWhereItsPortIsPinned) {
  const auto flow_of = [](std::vector<FakeDevice> devices, bool pinned) {
    Node node(std::move(devices));
    EXPECT_TRUE(node.begin(1));
    if (pinned) node.transport().pin_ports();
    auto theirs = node.offer(1);
    EXPECT_TRUE(theirs) << theirs.error().text();
    for (std::size_t r = 0; r < theirs->rails.size(); ++r)
      if (theirs->rails[r].layer == LinkLayer::ethernet)
        theirs->rails[r].gid = fake_gid("10.0.0.9", 0, Gid::Type::roce_v2).raw;
    EXPECT_TRUE(node.transport().accept(Node::key(1), *theirs));
    return node.transport().flow(Node::key(1));
  };
  const auto pins = [](FakeDevice& device) { device.limits.labels_set_ports = true; };
  const auto flow = flow_of({limited(pins)}, true);
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->from, fake_gid("10.0.0.1", 0, Gid::Type::roce_v2).raw);
  EXPECT_EQ(flow->to, fake_gid("10.0.0.9", 0, Gid::Type::roce_v2).raw);
  EXPECT_NE(flow->queue_pair, 0u);
  EXPECT_FALSE(flow_of({limited(pins)}, false)) << "the adapter's own port";
  EXPECT_FALSE(flow_of({fake_roce("rxe0", "10.0.0.1")}, true)) << "it heeds no label";
  FakeDevice second = limited(pins);
  second.name = "mlx5_1";
  EXPECT_FALSE(flow_of({limited(pins), second}, true)) << "several ways";
  FakeDevice infiniband = fake_infiniband("mlx5_0", 1);
  pins(infiniband);
  EXPECT_FALSE(flow_of({infiniband}, true));
}

TEST(VerbsTransport, DevicesThatComeTogetherAreMadeKnownOnce) {
  std::vector<FakeDevice> devices;
  std::vector<run::RdmaPort> ports;
  for (int d = 0; d < 8; ++d) {
    devices.push_back(fake_roce("mlx5_" + std::to_string(d), "10." + std::to_string(d) + ".0.1"));
    ports.push_back({devices.back().name, 1});
  }
  Node node(std::move(devices), {}, "10.0.0.1");
  std::vector<std::byte> memory(1 << 16);
  ASSERT_EQ(*node.transport().use({memory.data(), memory.size(), false, {}}), Way::host);
  ASSERT_TRUE(node.begin(2));
  ASSERT_TRUE(node.offer(1, {ports[0]}));
  const auto before = node.fabric.totals().registrations;
  const auto pooled = node.fabric.live().regions - 1;
  const auto offered = node.offer(2, ports);
  ASSERT_TRUE(offered) << offered.error().text();
  EXPECT_EQ(offered->rails.size(), 8u);
  // The ranks' memory once a device, what was in the pool on the new ones, and what this hop takes of it.
  const auto fresh = node.fabric.live().regions - 8 * (pooled + 1);
  EXPECT_EQ(node.fabric.totals().registrations - before, std::uint64_t(8 + 7 * pooled + fresh));
}

TEST(VerbsTransport, InfinibandIsReachedByLid) {
  VerbsPair::Setup setup;
  setup.infiniband = true;
  setup.rails = 2;
  VerbsHop hop(setup);
  hop.memory(0)[1'999'999] = std::byte{9};
  hop.ends[0]->send(1, hop.memory(0), 2'000'000);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 2'000'000, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(hop.memory(1)[1'999'999], std::byte{9});
}

TEST(VerbsTransport, InfinibandPortsThatNeedAGrhGetOne) {
  VerbsPair::Setup setup;
  setup.infiniband = true;
  setup.change = [](FakeDevice& device) { device.ports[0].state.needs_grh = true; };
  VerbsHop hop(setup);
  EXPECT_TRUE(hop.pair.node(0).transport->rails()[0].global);
  EXPECT_TRUE(hop.pair.node(0).transport->without_grh().empty());
  hop.memory(0)[99] = std::byte{9};
  hop.ends[0]->send(1, hop.memory(0), 100);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 100, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(hop.memory(1)[99], std::byte{9});
}

TEST(VerbsTransport, ThePKeyIsTheOneThatIsSet) {
  for (const int pkeys : {1, 4}) {
    FakeDevice device = fake_infiniband("mlx5_0", 7);
    device.pkeys = pkeys;
    run::RdmaSettings settings;
    settings.pkey_index = 3;
    Node node({device}, settings);
    ASSERT_TRUE(node.begin(1));
    const auto offered = node.offer(1);
    EXPECT_EQ(offered ? "" : offered.error().what,
              pkeys == 4 ? "" : "cannot bring a queue pair to INIT with the P_Key at index 3 on mlx5_0");
  }
}

TEST(VerbsTransport, WhatArrivesBeforeTheChannelIsOpenIsKeptForIt) {
  VerbsHop hop;
  hop.close();
  hop.pair.connect();
  hop.ends[0] = hop.pair.open(0, 0, hop.owner[0], hop.adder);
  hop.memory(0)[99] = std::byte{9};
  hop.ends[0]->send(1, hop.memory(0), 100);
  hop.settle();
  hop.ends[1] = hop.pair.open(1, 0, hop.owner[1], hop.adder);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 100, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(hop.memory(1)[99], std::byte{9});
}

TEST(VerbsTransport, SettingsReachTheOffer) {
  run::RdmaSettings settings;
  settings.mtu = 1024;
  settings.queue_pairs = 3;
  Node node({fake_roce("mlx5_0", "10.0.0.1")}, settings);
  ASSERT_TRUE(node.begin(1));
  const auto offered = node.offer(1);
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->rails[0].mtu, 1024);
  EXPECT_EQ(offered->rails[0].queue_pairs.size(), 3u);
}

}  // namespace
}  // namespace ringtrue::transport::verbs
