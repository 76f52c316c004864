// One suite that every transport passes: two ranks, both ends driven by hand in one thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <numeric>

#include "collective/fault.h"
#include "run/rdma.h"
#include "tests/support/adder.h"
#include "tests/support/post.h"
#include "tests/support/verbs_pair.h"
#include "transport/shm/transport.h"
#include "transport/tcp/channel.h"
#include "transport/transport.h"

namespace ringtrue::transport {
namespace {

using test::Adder;
using test::Post;

constexpr std::uint64_t room = 4 << 20;  // bytes of buffer a rank

// Two ranks and a channel end each per lane. `threads`: how many loops play them.
class World {
 public:
  virtual ~World() = default;
  virtual Channel& end(Rank self, Lane lane = 0) = 0;
  virtual std::byte* memory(Rank self) = 0;
  virtual Loop& loop(Rank self) = 0;

  Post owner[2];

  std::int32_t* ints(Rank self) { return reinterpret_cast<std::int32_t*>(memory(self)); }

  // Lets both sides work until `until` holds, an error comes, or `patience` is over.
  template <class Until>
  bool run(Until until, Seconds patience = Seconds(5)) {
    const Deadline deadline = Deadline::in(patience);
    while (!until() && !owner[0].failure && !owner[1].failure && !deadline.passed())
      for (const Rank r : {0, 1}) loop(r).run([&] { return until(); }, Deadline::in(Seconds(0.0005)));
    return until();
  }
  bool run_until_done(std::size_t zero, std::size_t one) {
    return run([=, this] { return owner[0].done.size() >= zero && owner[1].done.size() >= one; });
  }
};

class ShmWorld final : public World {
 public:
  ShmWorld(int threads, const std::string& faults, int lanes) {
    plan_.ranks = {0, 1};
    plan_.thread_of = {0, threads - 1};
    plan_.threads = threads;
    for (Lane lane = 0; lane < lanes; ++lane) {
      plan_.directions.push_back({0, 1, lane});
      plan_.directions.push_back({1, 0, lane});
    }
    std::sort(plan_.directions.begin(), plan_.directions.end());
    plan_.data_bytes = {room, room};
    plan_.scratch_bytes = {0, 0};
    layout_ = shm::lay_out(plan_);
    base_ = static_cast<std::byte*>(
        ::mmap(nullptr, layout_.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::vector<int> doorbells;
    for (int t = 0; t < threads; ++t) {
      loops_.push_back(*Loop::make());
      doorbells.push_back(loops_.back()->doorbell());
    }
    const auto script = *collective::parse_faults(faults);
    for (int t = 0; t < threads; ++t) {
      transports_.push_back(
          std::make_unique<shm::Transport>(shm::Transport::Setup{base_, &plan_, &layout_, t, doorbells}));
      transports_.back()->set_loop(loops_[std::size_t(t)].get());
      loops_[std::size_t(t)]->add_source(transports_.back().get());
    }
    for (const Rank r : {0, 1})
      for (Lane lane = 0; lane < lanes; ++lane)
        ends_[r].push_back(&transports_[std::size_t(plan_.thread_of[std::size_t(r)])]->open(
            Hop{r, 1 - r, lane, "node" + std::to_string(1 - r)}, owner[r], adder_, {script, r, 1 - r}));
  }
  ~ShmWorld() override { ::munmap(base_, layout_.bytes); }

  void receive_all(std::span<Channel* const> from, std::uint64_t token, const Destination& destination) {
    transports_.back()->receive_all(from, token, destination);
  }
  Channel& end(Rank self, Lane lane) override { return *ends_[self][lane]; }
  std::byte* memory(Rank self) override { return base_ + layout_.data[std::size_t(self)]; }
  Loop& loop(Rank self) override { return *loops_[std::size_t(plan_.thread_of[std::size_t(self)])]; }

 private:
  Adder adder_;
  shm::Plan plan_;
  shm::Layout layout_;
  std::byte* base_ = nullptr;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::unique_ptr<shm::Transport>> transports_;
  std::vector<shm::Channel*> ends_[2];
};

class TcpWorld final : public World {
 public:
  TcpWorld(const std::string& faults, int lanes)
      : loop_(*Loop::make()), staging_(tcp::Channel::staging_bytes) {
    const auto script = *collective::parse_faults(faults);
    for (Lane lane = 0; lane < lanes; ++lane) {
      int pair[2];  // a stream is a stream: the frames do not know what carries them
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
      for (const Rank r : {0, 1}) {
        fds_[r].push_back(pair[r]);
        ends_[r].push_back(std::make_unique<tcp::Channel>(
            pair[r], *loop_, staging_.data(), Hop{r, 1 - r, lane, "node" + std::to_string(1 - r)}, owner[r],
            adder_, faulty::Script(script, r, 1 - r)));
      }
    }
    for (auto& m : memory_) m.resize(room);
  }
  ~TcpWorld() override {
    for (auto& ends : ends_) ends.clear();
    for (auto& fds : fds_)
      for (const int fd : fds) ::close(fd);
  }
  Channel& end(Rank self, Lane lane) override { return *ends_[self][lane]; }
  std::byte* memory(Rank self) override { return memory_[self].data(); }
  Loop& loop(Rank) override { return *loop_; }
  void hang_up(Rank self) { ::shutdown(fds_[self][0], SHUT_RDWR); }
  void inject(Rank self, std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(fds_[self][0], bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }

 private:
  Adder adder_;
  std::unique_ptr<Loop> loop_;
  std::vector<std::byte> staging_;
  std::vector<int> fds_[2];
  std::vector<std::unique_ptr<tcp::Channel>> ends_[2];
  std::vector<std::byte> memory_[2];
};

enum class Kind { shm_one_thread, shm_two_threads, tcp, verbs, verbs_rails, verbs_staged };

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::shm_one_thread:
      return "ShmOneThread";
    case Kind::shm_two_threads:
      return "ShmTwoThreads";
    case Kind::tcp:
      return "Tcp";
    case Kind::verbs:
      return "Verbs";
    case Kind::verbs_rails:
      return "VerbsTwoRailsTwoQueuePairs";
    case Kind::verbs_staged:
      return "VerbsStaged";
  }
  return {};
}

class VerbsWorld final : public World {
 public:
  VerbsWorld(Kind kind, const std::string& faults, int lanes) : world_(setup(kind), lanes) {
    const auto script = *collective::parse_faults(faults);
    for (const Rank r : {0, 1})
      for (Lane lane = 0; lane < lanes; ++lane)
        ends_[r].push_back(world_.open(r, lane, owner[r], adder_, faulty::Script(script, r, 1 - r)));
  }
  ~VerbsWorld() override {
    for (auto& ends : ends_) ends.clear();
    world_.close();
    EXPECT_THAT(world_.fabric.complaints(), testing::IsEmpty());
  }
  Channel& end(Rank self, Lane lane) override { return *ends_[self][lane]; }
  std::byte* memory(Rank self) override { return world_.node(self).memory.data(); }
  Loop& loop(Rank self) override { return *world_.node(self).loops.front(); }

 private:
  static test::VerbsPair::Setup setup(Kind kind) {
    test::VerbsPair::Setup setup;
    setup.memory_bytes = room;
    setup.max_message = 1 << 20;
    if (kind == Kind::verbs_rails) {
      setup.rails = 2;
      setup.settings.queue_pairs = 2;
      setup.shuffle = 1;
    }
    if (kind == Kind::verbs_staged) setup.settings.registration = run::Registration::staged;
    return setup;
  }
  Adder adder_;
  test::VerbsPair world_;
  std::vector<std::unique_ptr<verbs::Channel>> ends_[2];
};

class Suite : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<World> make(const std::string& faults = "", int lanes = 1) {
    switch (GetParam()) {
      case Kind::shm_one_thread:
      case Kind::shm_two_threads:
        return std::make_unique<ShmWorld>(GetParam() == Kind::shm_one_thread ? 1 : 2, faults, lanes);
      case Kind::tcp:
        return std::make_unique<TcpWorld>(faults, lanes);
      default:
        return std::make_unique<VerbsWorld>(GetParam(), faults, lanes);
    }
  }
};

TEST_P(Suite, MovesAnySizeWhicheverSideComesFirst) {
  for (const bool receive_first : {false, true}) {
    for (const std::uint64_t bytes : {0u, 1u, 3u, 23u, 24u, 4095u, 4096u, 4097u, 70'001u, 1u << 20}) {
      auto world = make();
      for (std::uint64_t i = 0; i < bytes; ++i) world->memory(0)[i] = std::byte(i * 7 + 1);
      const Destination into{world->memory(1), nullptr, bytes, Arrival::store};
      if (receive_first) world->end(1).receive(2, into);
      world->end(0).send(1, world->memory(0), bytes);
      if (!receive_first) world->end(1).receive(2, into);
      ASSERT_TRUE(world->run_until_done(1, 1)) << bytes;
      EXPECT_EQ(std::memcmp(world->memory(0), world->memory(1), bytes), 0) << bytes;
      EXPECT_EQ(world->end(0).sent().bytes, bytes);
      EXPECT_EQ(world->end(1).received().messages, 1u);
    }
  }
}

TEST_P(Suite, ReducesOnArrivalInThreeAddresses) {
  for (const std::uint64_t elements : {1u, 5u, 1023u, 1024u, 100'003u}) {
    auto world = make();
    std::int32_t *from = world->ints(0), *to = world->ints(1), *with = world->ints(1) + 200'000;
    for (std::uint64_t i = 0; i < elements; ++i) from[i] = std::int32_t(i), with[i] = 1000, to[i] = -1;
    world->end(1).receive(
        2, {world->memory(1), reinterpret_cast<std::byte*>(with), elements * 4, Arrival::reduce});
    world->end(0).send(1, world->memory(0), elements * 4);
    ASSERT_TRUE(world->run_until_done(1, 1));
    for (std::uint64_t i = 0; i < elements; ++i) ASSERT_EQ(to[i], std::int32_t(i) + 1000) << i;
  }
}

TEST_P(Suite, KeepsOrderOverManyMoreMessagesThanSlots) {
  constexpr int messages = 500;
  auto world = make();
  std::iota(world->ints(0), world->ints(0) + messages, 0);
  for (int i = 0; i < messages; ++i) world->end(0).send(std::uint64_t(i) + 1, world->memory(0) + 4 * i, 4);
  for (int i = 0; i < messages; ++i)
    world->end(1).receive(std::uint64_t(i) + 1, {world->memory(1) + 4 * i, nullptr, 4, Arrival::store});
  ASSERT_TRUE(world->run_until_done(messages, messages));
  for (int i = 0; i < messages; ++i) EXPECT_EQ(world->ints(1)[i], i);
  EXPECT_EQ(world->owner[0].events.size(), std::size_t(messages));
  EXPECT_EQ(world->owner[1].events.size(), std::size_t(messages));
}

TEST_P(Suite, BothDirectionsAtOnce) {
  constexpr std::uint64_t bytes = 1 << 20;
  auto world = make();
  for (const Rank r : {0, 1}) {
    std::memset(world->memory(r), r + 1, bytes);
    world->end(r).send(1, world->memory(r), bytes);
    world->end(r).receive(2, {world->memory(r) + 2 * bytes, nullptr, bytes, Arrival::store});
  }
  ASSERT_TRUE(world->run_until_done(2, 2));
  for (const Rank r : {0, 1}) EXPECT_EQ(world->memory(r)[2 * bytes + 12345], std::byte(2 - r));
}

TEST_P(Suite, LanesDoNotWaitForEachOther) {
  auto world = make("", 2);
  world->ints(0)[0] = 11;
  world->ints(0)[1] = 22;
  world->end(0, 0).send(1, world->memory(0), 4);  // nobody receives on lane 0 yet
  world->end(0, 1).send(2, world->memory(0) + 4, 4);
  world->end(1, 1).receive(3, {world->memory(1), nullptr, 4, Arrival::store});
  ASSERT_TRUE(world->run([&] { return world->owner[1].done.contains(3); }));
  EXPECT_EQ(world->ints(1)[0], 22);
  world->end(1, 0).receive(4, {world->memory(1), nullptr, 4, Arrival::store});
  ASSERT_TRUE(world->run_until_done(2, 2));
  EXPECT_EQ(world->ints(1)[0], 11);
}

TEST_P(Suite, DifferentLengthsAreABrokenFrame) {
  auto world = make();
  world->end(0).send(1, world->memory(0), 8);
  world->end(1).receive(2, {world->memory(1), nullptr, 4, Arrival::store});
  EXPECT_FALSE(world->run_until_done(1, 1));
  const auto& failure = world->owner[0].failure ? world->owner[0].failure : world->owner[1].failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause, Cause::corrupted);
  EXPECT_NE(failure->what.find("8 bytes"), std::string::npos) << failure->what;
}

TEST_P(Suite, AScriptBreaksTheValueAndNothingElse) {
  auto world = make("corrupt-value@0>1:nth=2");
  std::fill_n(world->ints(0), 300, 7);
  for (int i = 0; i < 3; ++i) {
    world->end(0).send(std::uint64_t(i) + 1, world->memory(0) + 400 * i, 400);
    world->end(1).receive(std::uint64_t(i) + 1, {world->memory(1) + 400 * i, nullptr, 400, Arrival::store});
  }
  ASSERT_TRUE(world->run_until_done(3, 3));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(world->ints(1)[i] == 7, i != 100) << i;
  EXPECT_EQ(world->ints(0)[100], 7) << "the sender's own buffer was changed";
}

TEST_P(Suite, AScriptBreaksAFrame) {
  auto world = make("corrupt-frame@*>1");
  world->end(0).send(1, world->memory(0), 400);
  world->end(1).receive(2, {world->memory(1), nullptr, 400, Arrival::store});
  world->run([] { return false; }, Seconds(0.2));
  const auto& failure = world->owner[0].failure ? world->owner[0].failure : world->owner[1].failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause, Cause::corrupted);
}

TEST_P(Suite, AScriptDropsDelaysAndCuts) {
  {
    auto world = make("drop@0>1:nth=1");
    for (const std::uint64_t token : {1, 2}) {
      world->end(0).send(token, world->memory(0), 4);
      world->end(1).receive(token, {world->memory(1), nullptr, 4, Arrival::store});
    }
    world->run([] { return false; }, Seconds(0.2));
    const auto& failure = world->owner[0].failure ? world->owner[0].failure : world->owner[1].failure;
    ASSERT_TRUE(failure) << "a lost message went unnoticed";
    EXPECT_EQ(failure->cause, Cause::corrupted);
  }
  {
    auto world = make("delay@0>1:time=30ms");
    const std::int64_t began = now_ns();
    world->end(0).send(1, world->memory(0), 4);
    world->end(1).receive(2, {world->memory(1), nullptr, 4, Arrival::store});
    ASSERT_TRUE(world->run_until_done(1, 1));
    EXPECT_GE(seconds_since(began).value, 0.03);
  }
  {
    auto world = make("cut@0>1");
    world->end(0).send(1, world->memory(0), 4);
    EXPECT_FALSE(world->run_until_done(1, 0));
    ASSERT_TRUE(world->owner[0].failure);
    EXPECT_EQ(world->owner[0].failure->cause, Cause::peer_lost);
    EXPECT_EQ(world->owner[0].failure->where, "node1");
  }
}

TEST_P(Suite, AShorterMessageIsWelcomeWhereItIsSaidToBe) {
  for (const bool receive_first : {false, true}) {
    auto world = make();
    std::memset(world->memory(0), 7, 64);
    std::uint64_t came = 99;
    Destination into{world->memory(1), nullptr, 64, Arrival::store};
    into.up_to = true;
    into.came = &came;
    if (receive_first) world->end(1).receive(2, into);
    world->end(0).send(1, world->memory(0), 10);
    if (!receive_first) world->end(1).receive(2, into);
    ASSERT_TRUE(world->run_until_done(1, 1));
    EXPECT_EQ(came, 10u);
    EXPECT_EQ(world->memory(1)[9], std::byte{7});
    EXPECT_EQ(world->memory(1)[10], std::byte{0});
    EXPECT_EQ(world->end(1).received().bytes, 10u);

    world->end(0).send(3, world->memory(0), 65);
    world->end(1).receive(4, into);
    EXPECT_FALSE(world->run_until_done(2, 2)) << "a longer one is not";
    const auto& failure = world->owner[0].failure ? world->owner[0].failure : world->owner[1].failure;
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->cause, Cause::corrupted);
  }
}

TEST_P(Suite, TheReceiverMovesOrDropsWhatItIsToldTo) {
  constexpr int messages = 100;  // more than slots
  for (const bool receive_first : {false, true}) {
    auto world = make();
    std::fill_n(world->ints(0), messages, 3);
    const auto receive = [&] {
      for (int i = 0; i < messages; ++i) {
        Destination into{world->memory(1), world->memory(1), 4, Arrival::reduce};
        into.receiver_moves = true;
        if (i % 4 == 0) {
          into = {nullptr, nullptr, 4, Arrival::store};
          into.discard = true;
        }
        world->end(1).receive(std::uint64_t(i) + 1, into);
      }
    };
    if (receive_first) receive();
    for (int i = 0; i < messages; ++i) world->end(0).send(std::uint64_t(i) + 1, world->memory(0) + 4 * i, 4);
    if (!receive_first) receive();
    ASSERT_TRUE(world->run_until_done(messages, messages));
    EXPECT_EQ(world->ints(1)[0], 3 * 75);
    EXPECT_EQ(world->end(1).received().messages, std::uint64_t(messages));
  }
}

TEST_P(Suite, WhatIsSaidToBeFollowedByMoreArrivesWithIt) {
  auto world = make();
  std::iota(world->ints(0), world->ints(0) + 1000, 0);
  for (int i = 0; i < 10; ++i) {
    world->end(0).send(std::uint64_t(2 * i + 1), world->memory(0) + 400 * i, 40, true);
    world->end(0).send(std::uint64_t(2 * i + 2), world->memory(0) + 400 * i + 40, 360);
  }
  for (int i = 0; i < 10; ++i) {
    world->end(1).receive(std::uint64_t(2 * i + 1),
                          {world->memory(1) + 400 * i, nullptr, 40, Arrival::store});
    world->end(1).receive(std::uint64_t(2 * i + 2),
                          {world->memory(1) + 400 * i + 40, nullptr, 360, Arrival::store});
  }
  ASSERT_TRUE(world->run_until_done(20, 20));
  EXPECT_EQ(std::memcmp(world->memory(0), world->memory(1), 4000), 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, Suite,
                         testing::Values(Kind::shm_one_thread, Kind::shm_two_threads, Kind::tcp, Kind::verbs,
                                         Kind::verbs_rails, Kind::verbs_staged),
                         [](const auto& info) { return name_of(info.param); });

TEST(ShmGroup, ReducesSeveralSourcesInOnePassOnceAllAreThere) {
  ShmWorld world(2, "", 2);
  world.ints(0)[0] = 5, world.ints(0)[1] = 6, world.ints(1)[0] = 100;
  Channel* ends[] = {&world.end(1, 0), &world.end(1, 1)};
  ASSERT_NE(ends[0], ends[1]);
  world.end(0, 0).send(1, world.memory(0), 4);
  world.receive_all(ends, 9, {world.memory(1), world.memory(1), 4, Arrival::reduce});
  world.run([] { return false; }, Seconds(0.02));
  EXPECT_TRUE(world.owner[1].done.empty());
  world.end(0, 1).send(2, world.memory(0) + 4, 4);
  ASSERT_TRUE(world.run_until_done(2, 1));
  EXPECT_EQ(world.ints(1)[0], 111);
}

TEST(TcpChannel, APeerThatHangsUpIsNamed) {
  TcpWorld world("", 1);
  world.end(1, 0).receive(1, {world.memory(1), nullptr, 4, Arrival::store});
  world.hang_up(0);
  world.run([] { return false; }, Seconds(0.2));
  ASSERT_TRUE(world.owner[1].failure);
  EXPECT_EQ(world.owner[1].failure->cause, Cause::peer_lost);
  EXPECT_EQ(world.owner[1].failure->where, "node0");
}

TEST(TcpChannel, AHangUpWhenNothingIsDueHarmsNobody) {
  TcpWorld world("", 1);
  world.hang_up(0);
  world.run([] { return false; }, Seconds(0.02));
  EXPECT_FALSE(world.owner[1].failure);
}

TEST(TcpChannel, GarbageIsABrokenFrame) {
  TcpWorld world("", 1);
  world.end(1, 0).receive(1, {world.memory(1), nullptr, 4, Arrival::store});
  const std::vector<std::byte> garbage(64, std::byte{0x5a});
  world.inject(0, garbage);
  world.run([] { return false; }, Seconds(0.2));
  ASSERT_TRUE(world.owner[1].failure);
  EXPECT_EQ(world.owner[1].failure->cause, Cause::corrupted);
}

TEST(TcpChannel, BytesThatTrickleInAreReassembled) {
  TcpWorld world("", 1);
  world.ints(1)[0] = 1, world.ints(1)[1] = 2;
  world.end(1, 0).receive(1, {world.memory(1), world.memory(1), 8, Arrival::reduce});
  const auto header = tcp::encode(tcp::Frame{0, 8, 0});
  std::vector<std::byte> all(header.begin(), header.end());
  const std::int32_t values[] = {10, 20};
  all.insert(all.end(), reinterpret_cast<const std::byte*>(values),
             reinterpret_cast<const std::byte*>(values + 2));
  for (const std::byte& b : all) {
    world.inject(0, std::span(&b, 1));
    world.run([] { return false; }, Seconds(0.0005));
  }
  ASSERT_TRUE(world.run([&] { return world.owner[1].done.size() == 1; }));
  EXPECT_EQ(world.ints(1)[0], 11);
  EXPECT_EQ(world.ints(1)[1], 22);
}

TEST(TcpChannel, HeadersLeaveWithWhatFollowsThem) {
  TcpWorld world("", 1);
  world.end(0, 0).send(1, world.memory(0), 40, true);
  world.run([] { return false; }, Seconds(0.005));
  EXPECT_TRUE(world.owner[0].done.empty());
  world.end(0, 0).send(2, world.memory(0), 360);
  EXPECT_EQ(world.owner[0].done.size(), 2u) << "both are with the kernel now";
}

TEST(Loop, ACancelledTimerDoesNotFire) {
  auto loop = *Loop::make();
  std::vector<int> fired;
  loop->at(now_ns() + 1'000'000, [&] { fired.push_back(1); });
  const Loop::TimerId second = loop->at(now_ns() + 1'000'000, [&] { fired.push_back(2); });
  loop->at(now_ns() + 1'000'000, [&] { fired.push_back(3); });
  loop->cancel(second);
  loop->cancel(second);
  EXPECT_TRUE(loop->run([&] { return fired.size() == 2; }, Deadline::in(Seconds(5))));
  EXPECT_EQ(fired, (std::vector{1, 3}));
}

TEST(Loop, TimersAreFinerThanAMillisecond) {
  auto loop = *Loop::make();
  int fired = 0;
  std::function<void()> again = [&] {
    if (++fired < 20) loop->at(now_ns() + 50'000, again);
  };
  const std::int64_t began = now_ns();
  loop->at(now_ns(), again);
  EXPECT_TRUE(loop->run([&] { return fired == 20; }, Deadline::in(Seconds(5))));
  EXPECT_GE(seconds_since(began).value, 19 * 50e-6);
}

// Always has work.
class Busy final : public Source {
 public:
  bool work() override { return ++pieces > 0; }
  bool prepare_to_sleep() override { return false; }
  void awake() override {}
  std::uint64_t pieces = 0;
};

TEST(Loop, IdleWorkWaitsForOtherWorkButNotForEver) {
  auto loop = *Loop::make();
  Busy busy;
  loop->add_source(&busy);
  std::uint64_t pieces_before = 0;
  const std::int64_t began = now_ns();
  loop->when_idle([&] { pieces_before = busy.pieces; });
  EXPECT_TRUE(loop->run([&] { return pieces_before > 0; }, Deadline::in(Seconds(5))));
  EXPECT_GE(now_ns() - began, Loop::max_wait_ns);
  EXPECT_GT(pieces_before, 10u);
  loop->remove_source(&busy);
  int done = 0;
  for (int i = 0; i < 3; ++i) loop->when_idle([&, i] { EXPECT_EQ(done++, i); });
  EXPECT_TRUE(loop->run([&] { return done == 3; }, Deadline::in(Seconds(5))));
}

}  // namespace
}  // namespace ringtrue::transport
