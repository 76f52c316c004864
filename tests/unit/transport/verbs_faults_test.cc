// What can go wrong on an RDMA hop, and that it is said once, with its cause, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "run/rdma.h"
#include "tests/support/verbs_pair.h"
#include "transport/verbs/slice.h"

namespace ringtrue::transport::verbs {
namespace {

using test::VerbsHop;
using test::VerbsPair;
using testing::HasSubstr;

constexpr int flushed = 5, retries = 12;  // of ibv_wc_status

TEST(VerbsFaults, AFailedWriteIsToldOnceWithItsCause) {
  VerbsHop hop;
  hop.pair.fabric.fail_write(2, retries, 0x81);
  for (std::uint64_t i = 0; i < 4; ++i) hop.ends[0]->send(i, hop.memory(0), 1 << 20);
  hop.settle();
  ASSERT_TRUE(hop.owner[0].failure);
  EXPECT_EQ(hop.owner[0].failures, 1) << "what is flushed behind it is no news";
  const Error& error = *hop.owner[0].failure;
  EXPECT_EQ(error.cause, Cause::peer_lost);
  EXPECT_EQ(error.where, "node1");
  EXPECT_THAT(error.what,
              HasSubstr("rank 0 on node0 lost rank 1 on node1, from mlx5_0:1 to node1's mlx5_0:1"));
  EXPECT_THAT(error.what, HasSubstr("transport retry counter exceeded (vendor error 0x81)"));
  EXPECT_THAT(error.next, HasSubstr("GID"));
  hop.ends[0]->send(9, hop.memory(0), 10);  // the run is over
  hop.settle();
  EXPECT_EQ(hop.owner[0].failures, 1);
}

TEST(VerbsFaults, EveryCompletionsStatusIsRead) {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 6}) {
    VerbsPair::Setup setup;
    setup.settings.slot_bytes = 4096;
    VerbsHop hop(setup);
    hop.pair.fabric.fail_completion(count, 21, 0x99);
    hop.ends[1]->receive(1, {hop.memory(1), nullptr, 64 * 4096, Arrival::store});
    hop.ends[0]->send(2, hop.memory(0), 64 * 4096);
    EXPECT_FALSE(hop.run_until_done(1, 1)) << count;
    hop.settle();
    std::string said;
    for (const test::Post& owner : hop.owner)
      if (owner.failure) said += owner.failure->what;
    EXPECT_THAT(said, HasSubstr("general error (vendor error 0x99)")) << count;
  }
}

TEST(VerbsFaults, AFlushWithoutAnythingBeforeItIsAFailureAsWell) {
  VerbsHop hop;
  hop.ends[1]->receive(1, {hop.memory(1), nullptr, 100'000, Arrival::store});
  hop.pair.fabric.fail_completion(1, flushed);
  hop.ends[0]->send(2, hop.memory(0), 100'000);
  hop.settle();
  ASSERT_EQ(hop.owner[1].failures, 1);
  EXPECT_THAT(hop.owner[1].failure->what, HasSubstr("flushed"));
}

TEST(VerbsFaults, APeerThatHangsUpIsNamedAtOnce) {
  VerbsHop hop;
  hop.ends[1]->receive(1, {hop.memory(1), nullptr, 4, Arrival::store});
  ::shutdown(hop.pair.node(0).controls[0], SHUT_RDWR);
  hop.settle();
  ASSERT_TRUE(hop.owner[1].failure);
  EXPECT_EQ(hop.owner[1].failure->cause, Cause::peer_lost);
  EXPECT_EQ(hop.owner[1].failure->where, "node0");
  EXPECT_EQ(hop.owner[1].failure->what, "rank 1 lost its connection to rank 0 on node0: its process is gone");
  EXPECT_EQ(hop.owner[1].failures, 1);
}

TEST(VerbsFaults, AHangUpConcernsOnlyWhoeverNeedsThePeer) {
  VerbsHop hop;
  ::shutdown(hop.pair.node(0).controls[0], SHUT_RDWR);
  hop.settle();
  EXPECT_FALSE(hop.owner[1].failure);
  hop.ends[1]->send(1, hop.memory(1), 4);
  ASSERT_TRUE(hop.owner[1].failure);
  EXPECT_THAT(hop.owner[1].failure->what, HasSubstr("its process is gone"));
}

TEST(VerbsFaults, AfterAFailureEverythingGoesAndTheNextRunWorks) {
  VerbsPair::Setup setup;
  setup.rails = 2;
  VerbsHop hop(setup);
  const auto& fabric = hop.pair.fabric;
  const FakeFabric::Live during = fabric.live();
  EXPECT_EQ(during.queue_pairs, 4);
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), 1 << 20);
  hop.settle();
  EXPECT_GT(fabric.held(), 0u) << "writes are under way";
  hop.pair.fabric.fail_write(1, retries);
  hop.pair.fabric.deliver(1);
  hop.settle();
  EXPECT_TRUE(hop.owner[0].failure);
  hop.close();
  for (const int r : {0, 1}) hop.pair.node(r).transport->end_run();
  const FakeFabric::Live after = fabric.live();
  EXPECT_EQ(after.queue_pairs + after.completion_queues + after.shared_queues, 0);
  EXPECT_EQ(after.regions, during.regions) << "the pool and the ranks' memory stay registered";

  const auto registrations = fabric.totals().registrations;
  hop.pair.fabric.release();
  hop.pair.connect();
  for (auto& owner : hop.owner) owner = {};
  hop.open();
  EXPECT_EQ(fabric.totals().registrations, registrations) << "no run waits for a registration";
  EXPECT_EQ(fabric.live(), during);
  hop.memory(0)[99'999] = std::byte{7};
  hop.ends[0]->send(1, hop.memory(0), 100'000);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 100'000, Arrival::store});
  EXPECT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(hop.memory(1)[99'999], std::byte{7});
  hop.close();
  hop.pair.close();
  EXPECT_EQ(fabric.live(), FakeFabric::Live{}) << "devices, and every byte of pinned memory";
}

// A peer that knows the protocol's addresses and breaks its rules: node 1 by hand.
class Rogue {
 public:
  static constexpr std::uint32_t slots = 4, slot_bytes = 4096;
  static constexpr std::uint64_t due = 10'000;  // bytes of the message that the victim waits for

  Rogue() : memory_(1 << 16), victims_(1 << 16) {
    FakeLibrary& ours = fabric_.add_node({fake_roce("mlx5_0", "10.0.0.1")});
    FakeLibrary& theirs = fabric_.add_node({fake_roce("mlx5_0", "10.0.0.2")});
    run::RdmaSettings settings;
    settings.slots = slots;
    settings.slot_bytes = slot_bytes;
    transport_ = *Transport::open(theirs, {"node0", "", settings});
    EXPECT_TRUE(transport_->use({victims_.data(), victims_.size(), false, {}}));
    EXPECT_TRUE(transport_->begin_run(
        {{loop_.get()}, 1, slot_bytes, [this](Error error) { told_.push_back(std::move(error)); }}));
    ring_ = *transport_->offer(key_, {0, 1, 0, "node1"}, 0);

    device_ = *ours.open("mlx5_0");
    queue_ = *device_->make_completion_queue(100);
    region_ = *device_->register_memory(memory_.data(), memory_.size(), {true, false});
    pair_ = *device_->make_queue_pair(*queue_, nullptr, 1, 64, 64, 0);
    EXPECT_TRUE(pair_->post_receives(64));
    Greeting greeting = ring_;
    greeting.ring_address = std::uint64_t(reinterpret_cast<std::uintptr_t>(memory_.data()));
    greeting.rails[0].gid = fake_gid("10.0.0.1", 0, Gid::Type::roce_v2).raw;
    greeting.rails[0].ring_key = region_->remote_key();
    greeting.rails[0].queue_pairs = {{pair_->number(), 1}};
    EXPECT_TRUE(transport_->accept(key_, greeting));
    const Greeting::Rail& rail = ring_.rails[0];
    Path path;
    path.mtu = rail.mtu;
    path.queue_pair = rail.queue_pairs[0].queue_pair;
    path.packet_sequence = rail.queue_pairs[0].packet_sequence;
    path.layer = rail.layer;
    path.gid = rail.gid;
    path.gid_index = device_->gids(1).front().index;
    EXPECT_TRUE(pair_->to_ready_to_receive(path));
    EXPECT_TRUE(pair_->to_ready_to_send({}, 1));
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, controls_), 0);
    channel_ = transport_->open_channel(key_, controls_[0], owner, adder_, {});
    channel_->receive(1, {victims_.data() + 1000, nullptr, due, Arrival::store});
  }
  ~Rogue() {
    channel_.reset();
    transport_.reset();
    for (const int fd : controls_) ::close(fd);
    EXPECT_THAT(fabric_.complaints(), testing::IsEmpty());
  }

  // Writes so many bytes, head first where there is one, into the slot of slice `number`.
  void write(std::uint32_t immediate, std::uint32_t number,
             std::optional<std::array<std::byte, head_bytes>> head, std::uint32_t bytes) {
    std::memset(memory_.data(), 0xee, 2 * slot_bytes);
    if (head) std::memcpy(memory_.data(), head->data(), head_bytes);
    Write write;
    write.immediate = immediate;
    write.remote_address = ring_.ring_address + number % slots * slot_stride(slot_bytes) + before_payload -
                           (head ? head_bytes : 0);
    write.remote_key = ring_.rails[0].ring_key;
    write.parts[0] = {memory_.data(), bytes + std::uint32_t(head ? head_bytes : 0), region_->local_key()};
    write.part_count = write.parts[0].bytes > 0;
    write.signaled = true;
    ASSERT_TRUE(pair_->post({&write, 1}));
    loop_->run([] { return false; }, Deadline::in(Seconds(0.001)));
  }
  void first(std::uint32_t bytes, Immediate::Kind kind = Immediate::Kind::slice) {
    write(encode(Immediate{kind, 0}), 0, encode(Head{due, 0}, 0), bytes);
  }
  void next(std::uint32_t number, std::uint32_t bytes, Immediate::Kind kind = Immediate::Kind::slice) {
    write(encode(Immediate{kind, number}), number, std::nullopt, bytes);
  }
  // What the victim said, after checking that nothing but the message's place was written.
  std::string said() {
    for (std::size_t i = 0; i < victims_.size(); ++i)
      if (i < 1000 || i >= 1000 + due) {
        EXPECT_EQ(victims_[i], std::byte{}) << i;
        if (victims_[i] != std::byte{}) break;
      }
    loop_->run([this] { return owner.failure || owner.done.contains(1); }, patience());
    if (!owner.failure) return {};
    EXPECT_EQ(owner.failure->cause, Cause::corrupted);
    EXPECT_EQ(owner.failure->where, "node1");
    return owner.failure->what;
  }

  // So many bytes from there in its ring's memory on.
  void write_at(std::int64_t offset, std::uint32_t bytes) {
    Write write;
    write.remote_address = ring_.ring_address + std::uint64_t(offset);
    write.remote_key = ring_.rails[0].ring_key;
    write.parts[0] = {memory_.data(), bytes, region_->local_key()};
    write.part_count = 1;
    write.signaled = true;
    ASSERT_TRUE(pair_->post({&write, 1}));
    loop_->run([] { return false; }, Deadline::in(Seconds(0.001)));
  }
  // What events told, once they have told anything.
  const std::vector<Error>& told() {
    loop_->run([this] { return !told_.empty(); }, patience());
    return told_;
  }
  bool is_quiet() const { return told_.empty(); }
  std::string heard() {
    Completion completion;
    return queue_->poll({&completion, 1}) == 1 ? status_text(completion.status) : "nothing";
  }
  static constexpr std::int64_t ring_bytes = slots * std::int64_t(slot_stride(slot_bytes));

  test::Post owner;

 private:
  // How long is waited for what is due; nothing takes as long unless the machine is busy.
  static Deadline patience() { return Deadline::in(Seconds(10)); }

  std::vector<Error> told_;
  FakeFabric fabric_;
  std::unique_ptr<Loop> loop_ = *Loop::make();
  std::vector<std::byte> memory_, victims_;
  const tcp::ConnectionKey key_{{0, 0}, {1, 0}, 0};
  std::unique_ptr<Transport> transport_;
  Greeting ring_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<Region> region_;
  std::unique_ptr<QueuePair> pair_;
  int controls_[2];
  test::Adder adder_;
  std::unique_ptr<Channel> channel_;
};

TEST(VerbsFaults, ARogueThatKeepsTheRulesIsHeard) {
  Rogue rogue;
  rogue.next(1, 4096);
  rogue.first(4096);
  rogue.next(2, 10'000 - 8192, Immediate::Kind::last);
  EXPECT_EQ(rogue.said(), "");
  EXPECT_TRUE(rogue.owner.done.contains(1));
}

TEST(VerbsFaults, ImmediatesThatMeanNothingEndTheRun) {
  {
    Rogue rogue;
    rogue.write(0xc0000000u, 0, std::nullopt, 0);
    EXPECT_THAT(rogue.said(), HasSubstr("an immediate of 0xc0000000"));
  }
  for (const std::uint32_t number : {4u, 5u, 1u << 29, number_mask}) {
    Rogue rogue;
    rogue.next(number, 10);
    EXPECT_THAT(rogue.said(), HasSubstr("where slice 0 was due")) << number;
  }
  {
    Rogue rogue;
    rogue.next(2, 4096);
    rogue.next(2, 4096);
    EXPECT_THAT(rogue.said(), HasSubstr("slice 2 where slice 0 was due")) << "twice the same";
  }
  for (const std::uint32_t number : {1u, 4u, number_mask}) {
    Rogue rogue;
    rogue.next(number, 0, Immediate::Kind::credits);
    EXPECT_THAT(rogue.said(), HasSubstr("slices where 0 were sent")) << number;
  }
}

TEST(VerbsFaults, HeadsThatLieEndTheRun) {
  const auto head_says = [](Head head, collective::Lane lane, int flip = -1) {
    Rogue rogue;
    auto bytes = encode(head, lane);
    if (flip >= 0) bytes[std::size_t(flip)] ^= std::byte{1};
    rogue.write(encode(Immediate{Immediate::Kind::slice, 0}), 0, bytes, 4096);
    return rogue.said();
  };
  for (int i = 0; i < int(head_bytes); ++i)
    EXPECT_THAT(head_says({Rogue::due, 0}, 0, i), HasSubstr("does not match its checksum")) << i;
  EXPECT_THAT(head_says({Rogue::due, 0}, 1), HasSubstr("does not match its checksum")) << "another lane's";
  EXPECT_THAT(head_says({Rogue::due, 1}, 0), HasSubstr("message 1 where message 0 was due"));
  for (const std::uint64_t length : {std::uint64_t(0), Rogue::due - 1, Rogue::due + 1, ~std::uint64_t(0)})
    EXPECT_THAT(head_says({length, 0}, 0), HasSubstr("bytes where 10000 were due")) << length;
}

TEST(VerbsFaults, SlicesOfOtherLengthsEndTheRun) {
  for (const std::uint32_t bytes : {1u, 4095u, 4097u}) {
    Rogue rogue;
    rogue.first(bytes);
    EXPECT_THAT(rogue.said(), HasSubstr(" bytes where 4112 were due")) << bytes;
  }
  {
    Rogue rogue;
    rogue.first(4096);
    rogue.next(1, 4096);
    rogue.next(2, 4096, Immediate::Kind::last);
    EXPECT_THAT(rogue.said(), HasSubstr("4096 bytes where 1808 were due"));
  }
  {
    Rogue rogue;
    rogue.first(4096, Immediate::Kind::last);
    EXPECT_THAT(rogue.said(), HasSubstr("the last slice after 4096 of 10000 bytes"));
  }
  {
    Rogue rogue;
    rogue.first(4096);
    rogue.next(1, 4096);
    rogue.next(2, 1808);
    EXPECT_THAT(rogue.said(), HasSubstr("one more slice after 10000 of 10000 bytes"));
  }
}

// The adapter does not let it; both ends hear of it.
TEST(VerbsFaults, WritesBesideTheRingFail) {
  for (const std::int64_t offset : {Rogue::ring_bytes, Rogue::ring_bytes - 99, std::int64_t(-1)}) {
    Rogue rogue;
    rogue.write_at(offset, 100);
    EXPECT_EQ(rogue.heard(), "remote access error") << offset;
    ASSERT_EQ(rogue.told().size(), 1u) << offset;
    EXPECT_EQ(rogue.told()[0].cause, Cause::corrupted);
    EXPECT_EQ(rogue.told()[0].where, "node1") << "who wrote, not the victim";
    EXPECT_THAT(rogue.told()[0].what, HasSubstr("rank 0 on node0 was sent a request by rank 1 on node1"));
    EXPECT_THAT(rogue.told()[0].what, HasSubstr("mlx5_0:1 to node1's mlx5_0:1: local access violation"));
  }
  Rogue rogue;
  rogue.write_at(Rogue::ring_bytes - 100, 100);
  EXPECT_EQ(rogue.heard(), "success");
  EXPECT_TRUE(rogue.is_quiet());
}

TEST(VerbsFaults, AnEventOfAQueuePairNamesItsHop) {
  VerbsHop hop;
  const auto raise = [&](Event::Kind kind, std::uint32_t queue_pair) {
    hop.pair.node(1).library->raise("mlx5_0", {kind, 0, queue_pair, "in its words"});
    hop.settle();
  };
  raise(Event::Kind::queue_broken, 0xabcdef);
  EXPECT_TRUE(hop.pair.node(1).failures.empty()) << "of a hop that is gone";
  raise(Event::Kind::queue_broken, hop.pair.fabric.queue_pairs().back());
  ASSERT_EQ(hop.pair.node(1).failures.size(), 1u);
  EXPECT_EQ(hop.pair.node(1).failures[0].where, "node1");
  EXPECT_EQ(hop.pair.node(1).failures[0].what,
            "the queue pair of rank 1 on node1 to rank 0 on node0 broke, from mlx5_0:1 to node0's mlx5_0:1: "
            "in its words");
}

TEST(VerbsFaults, AQueueThatBrokeBeforeAChannelWasOpenIsTold) {
  VerbsHop hop;
  hop.close();
  hop.pair.connect();
  hop.pair.fabric.break_queues();
  hop.settle();
  hop.open();
  hop.ends[1]->receive(1, {hop.memory(1), nullptr, 4, Arrival::store});
  ASSERT_TRUE(hop.owner[1].failure);
  EXPECT_THAT(hop.owner[1].failure->what, HasSubstr("a completion queue of mlx5_0 broke"));
}

}  // namespace
}  // namespace ringtrue::transport::verbs
