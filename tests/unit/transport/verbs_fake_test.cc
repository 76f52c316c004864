// The scripted provider itself: the orders and failures that tests ask of it, and what it complains of.
#include "tests/support/fake_verbs.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

namespace ringtrue::transport::verbs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeVerbs : public testing::Test {
 protected:
  struct Link {  // of two queue pairs, the first one sending
    std::unique_ptr<QueuePair> from, to;
  };

  FakeVerbs() {
    for (std::size_t n = 0; n < 2; ++n) {
      libraries[n] = &fabric.add_node({fake_infiniband("mlx5_0", std::uint16_t(n + 1))});
      devices[n] = std::move(*libraries[n]->open("mlx5_0"));
      queues[n] = std::move(*devices[n]->make_completion_queue(64));
    }
    region = std::move(*devices[1]->register_memory(target, sizeof target, {true, false}));
  }

  Link link(int sends = 16) {
    Link made{std::move(*devices[0]->make_queue_pair(*queues[0], nullptr, 1, sends, 16, 64)),
              std::move(*devices[1]->make_queue_pair(*queues[1], nullptr, 1, 16, 16, 64))};
    connect(*made.from, *made.to, 2);
    connect(*made.to, *made.from, 1);
    EXPECT_TRUE(made.to->post_receives(8));
    return made;
  }
  static void connect(QueuePair& pair, const QueuePair& peer, std::uint16_t lid) {
    Path path;
    path.queue_pair = peer.number();
    path.lid = lid;
    EXPECT_TRUE(pair.to_ready_to_receive(path));
    EXPECT_TRUE(pair.to_ready_to_send({}, 0));
  }
  Result<void> send(Link& link, std::uint32_t immediate) {
    Write write;
    write.work = immediate;
    write.immediate = immediate;
    write.remote_address = reinterpret_cast<std::uintptr_t>(target);
    write.remote_key = region->remote_key();
    write.parts[0] = {reinterpret_cast<const std::byte*>(&immediate), 4, 0};
    write.part_count = 1;
    write.inlined = write.signaled = true;
    return link.from->post({&write, 1});
  }
  std::vector<std::uint32_t> came() {
    std::vector<Completion> all(64);
    const int count = queues[1]->poll(all);
    std::vector<std::uint32_t> immediates;
    for (int i = 0; i < count; ++i) immediates.push_back(all[std::size_t(i)].immediate);
    return immediates;
  }

  FakeFabric fabric;
  FakeLibrary* libraries[2] = {};
  std::unique_ptr<Device> devices[2];
  std::unique_ptr<CompletionQueue> queues[2];
  std::byte target[64] = {};
  std::unique_ptr<Region> region;
};

TEST_F(FakeVerbs, HoldsWritesBack) {
  Link a = link(), b = link();
  fabric.hold();
  for (const std::uint32_t i : {1, 2, 3}) ASSERT_TRUE(send(a, i));
  ASSERT_TRUE(send(b, 10));
  EXPECT_EQ(fabric.held(), 4u);
  EXPECT_THAT(came(), ElementsAre());
  EXPECT_EQ(fabric.deliver_from(b.from->number()), 1u);
  EXPECT_EQ(fabric.deliver(1), 1u);
  EXPECT_THAT(came(), ElementsAre(10, 1));
  fabric.release();
  EXPECT_THAT(came(), ElementsAre(2, 3));
  EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
}

TEST_F(FakeVerbs, ShufflesBetweenQueuePairsAlone) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    fabric.shuffle(seed);
    Link a = link(), b = link();
    for (const std::uint32_t i : {1, 2, 3}) ASSERT_TRUE(send(a, i));
    for (const std::uint32_t i : {11, 12, 13}) ASSERT_TRUE(send(b, i));
    ASSERT_TRUE(queues[1]->arm());
    const auto order = came();
    ASSERT_EQ(order.size(), 6u);
    std::vector<std::uint32_t> first, second;
    for (const std::uint32_t each : order) (each < 10 ? first : second).push_back(each);
    EXPECT_THAT(first, ElementsAre(1, 2, 3));
    EXPECT_THAT(second, ElementsAre(11, 12, 13));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5u);
  EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
}

TEST_F(FakeVerbs, FailsWhatItIsToldTo) {
  Link a = link();
  fabric.fail_write(2, 12, 0x81);
  for (const std::uint32_t i : {1, 2, 3}) ASSERT_TRUE(send(a, i));
  std::vector<Completion> sent(8);
  ASSERT_EQ(queues[0]->poll(sent), 3);
  EXPECT_EQ(sent[0].status, 0);
  EXPECT_EQ(sent[1].status, 12);
  EXPECT_EQ(sent[1].vendor_error, 0x81u);
  EXPECT_EQ(sent[2].status, 5);
  EXPECT_THAT(came(), ElementsAre(1));

  Link b = link();
  fabric.fail_completion(1, 4, 7);  // of the receive, which comes first
  ASSERT_TRUE(send(b, 4));
  std::vector<Completion> received(16);
  ASSERT_GE(queues[1]->poll(received), 1);
  EXPECT_EQ(received[0].status, 4);
  EXPECT_EQ(received[0].vendor_error, 7u);
  EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
}

TEST_F(FakeVerbs, LosesAPort) {
  Link a = link();
  libraries[1]->set_active("mlx5_0", 1, false);
  EXPECT_FALSE(devices[1]->port(1)->active);
  const auto event = devices[1]->next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Event::Kind::port_down);
  EXPECT_FALSE(devices[0]->next_event());
  ASSERT_TRUE(send(a, 1));
  std::vector<Completion> sent(8);
  ASSERT_EQ(queues[0]->poll(sent), 1);
  EXPECT_EQ(sent[0].status, 12);
}

TEST_F(FakeVerbs, ComplainsOfQueuesThatOverflow) {
  Link a = link(2);
  ASSERT_TRUE(send(a, 1));
  ASSERT_TRUE(send(a, 2));
  EXPECT_FALSE(send(a, 3)) << "no completion was polled";
  EXPECT_FALSE(a.to->post_receives(9));
  EXPECT_THAT(fabric.complaints(),
              ElementsAre(HasSubstr("more writes than the 2"), HasSubstr("1 receives more")));

  auto small = std::move(*devices[0]->make_completion_queue(1));
  Link b;
  b.from = std::move(*devices[0]->make_queue_pair(*small, nullptr, 1, 16, 16, 64));
  b.to = std::move(*devices[1]->make_queue_pair(*queues[1], nullptr, 1, 16, 16, 64));
  connect(*b.from, *b.to, 2);
  connect(*b.to, *b.from, 1);
  ASSERT_TRUE(b.to->post_receives(2));
  ASSERT_TRUE(send(b, 1));
  ASSERT_TRUE(send(b, 2));
  EXPECT_THAT(fabric.complaints().back(), HasSubstr("a completion queue of 1 overflows"));
  std::vector<Completion> none(1);
  EXPECT_EQ(small->poll(none), -1);
  EXPECT_EQ(devices[0]->next_event()->kind, Event::Kind::queue_broken);
  b = {};  // before its queue
}

TEST_F(FakeVerbs, ComplainsOfWrongOrders) {
  {
    Link a = link();
    queues[0].reset();
    region.reset();
    devices[1].reset();
  }
  const auto complaints = fabric.complaints();
  ASSERT_FALSE(complaints.empty());
  EXPECT_EQ(complaints[0], "a completion queue is destroyed before its queue pairs");
  EXPECT_EQ(complaints[1], "mlx5_0 of node 2 is closed with 2 objects left");
  EXPECT_EQ(complaints[2], "a queue pair outlives mlx5_0 of node 2");
}

TEST_F(FakeVerbs, ComplainsOfConnectionsThatDoNotFit) {
  Link a{std::move(*devices[0]->make_queue_pair(*queues[0], nullptr, 1, 16, 16, 64)),
         std::move(*devices[1]->make_queue_pair(*queues[1], nullptr, 1, 16, 16, 64))};
  EXPECT_FALSE(send(a, 1));
  connect(*a.from, *a.to, 2);
  ASSERT_TRUE(send(a, 1));
  EXPECT_THAT(fabric.complaints(), ElementsAre(HasSubstr("before it can send"), HasSubstr("before")));

  Link b = link(), c = link();
  Link crossed{std::move(*devices[0]->make_queue_pair(*queues[0], nullptr, 1, 16, 16, 64)), nullptr};
  connect(*crossed.from, *b.to, 2);
  ASSERT_TRUE(send(crossed, 1));
  EXPECT_THAT(fabric.complaints().back(), HasSubstr("which is connected to another"));
}

TEST_F(FakeVerbs, ComplainsOfMemoryThatGoesTooEarly) {
  Link a = link();
  std::byte from[16] = {};
  auto own = std::move(*devices[0]->register_memory(from, sizeof from, {}));
  fabric.hold();
  Write write;
  write.remote_address = reinterpret_cast<std::uintptr_t>(target);
  write.remote_key = region->remote_key();
  write.parts[0] = {from, 16, own->local_key()};
  write.part_count = 1;
  ASSERT_TRUE(a.from->post({&write, 1}));
  own.reset();
  EXPECT_THAT(fabric.complaints(), ElementsAre(HasSubstr("memory is deregistered while queue pair")));
  fabric.release();
  std::vector<Completion> sent(8);
  ASSERT_EQ(queues[0]->poll(sent), 1);
  EXPECT_EQ(sent[0].status, 4);
}

}  // namespace
}  // namespace ringtrue::transport::verbs
