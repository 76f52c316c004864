// Packets between two ranks over one channel each, both ends driven by hand in one thread.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/packets/arithmetic.h"
#include "engine/packets/channel.h"
#include "engine/packets/endpoint.h"
#include "engine/session/call_reducer.h"
#include "engine/session/endpoint.h"
#include "transport/tcp/channel.h"

namespace ringtrue::engine {
namespace {

using collective::Operation;
using collective::PacketPart;
using collective::Type;

// Takes packets to what the test says, and keeps their headers.
class Handler final : public collective::PacketHandler {
 public:
  Placed place(Rank, std::span<const std::byte> header, std::vector<PacketPart>& parts) override {
    placed.emplace_back(reinterpret_cast<const char*>(header.data()), header.size());
    parts = next;
    return answer;
  }
  void arrived(Rank, std::span<const std::byte> header) override {
    came.emplace_back(reinterpret_cast<const char*>(header.data()), header.size());
  }
  Rank waiting_for() const override { return 1; }

  std::vector<PacketPart> next;
  Placed answer = Placed::accepted;
  std::vector<std::string> placed, came;
};

class Packets : public testing::Test, public FailureListener {
 protected:
  Packets() {
    call_.elements = 1000;
    call_.omni.workers = 1;
    call_.omni.aggregators = 1;
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    for (const Rank r : {0, 1}) {
      End& end = ends_[r];
      end.fd = pair[r];
      end.self = std::make_unique<RankEndpoint>(r, layout_, RankEndpoint::Memory{bytes(r), bytes(r) + 2000},
                                                *loop_, *this);
      PacketEndpoint::Setup setup;
      setup.call = &call_;
      setup.room = end.room;
      setup.room_bytes = sizeof end.room;
      setup.describe = [](Rank rank) { return fmt::format("the one at {}", rank); };
      setup.node = [](Rank rank) { return fmt::format("node{}", rank); };
      end.self->set_packets(std::make_unique<PacketEndpoint>(*end.self, *loop_, std::move(setup)));
      PacketEndpoint& packets = *end.self->packets();
      auto route = std::make_unique<ChannelRoute>(1 - r, packets, *end.self, packets.take_buffer());
      end.channel = std::make_unique<transport::tcp::Channel>(
          end.fd, *loop_, staging_.data(), transport::Hop{r, 1 - r, 0, fmt::format("node{}", 1 - r)}, *route,
          reducer_, transport::faulty::Script());
      route->attach(end.channel.get());
      end.self->add_channel(*end.channel);
      packets.add_route(std::move(route));
      packets.begin_call(nullptr);
    }
  }
  ~Packets() override {
    for (End& end : ends_) {
      end.channel.reset();
      ::close(end.fd);
    }
  }
  void failed(Error error) override {
    if (!failure_) failure_ = std::move(error);
  }

  PacketEndpoint& packets(Rank r) { return *ends_[r].self->packets(); }
  std::byte* bytes(Rank r) { return reinterpret_cast<std::byte*>(memory_[r]); }
  static std::span<const std::byte> header(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }
  Token send(Rank from, const std::string& text, std::vector<Slice> parts) {
    const Rank to[] = {1 - from};
    return packets(from).send_packet(to, header(text), parts);
  }
  template <class Until>
  bool run(Until until, Seconds patience = Seconds(5)) {
    return loop_->run([&] { return until() || failure_; }, Deadline::in(patience)) && !failure_;
  }

  struct End {
    int fd = -1;
    std::byte room[8 * 1024];
    std::unique_ptr<RankEndpoint> self;
    std::unique_ptr<transport::tcp::Channel> channel;
  };
  collective::Call call_;
  collective::Layout layout_ = collective::Layout::one_node(2);
  CallReducer reducer_{call_, 1};
  std::unique_ptr<transport::Loop> loop_ = *transport::Loop::make();
  std::vector<std::byte> staging_ = std::vector<std::byte>(transport::tcp::Channel::staging_bytes);
  float memory_[2][1000] = {};
  Handler handler_[2];
  std::optional<Error> failure_;
  End ends_[2];
};

constexpr Slice data(std::uint64_t first, std::uint64_t count) {
  return {Space::data, 4 * first, 4 * count};
}

TEST_F(Packets, StoresAndReducesEachPartWhereItBelongs) {
  for (int i = 0; i < 8; ++i) memory_[0][i] = float(i + 1), memory_[1][100 + i] = 10;
  handler_[1].next = {{data(100, 3), true}, {data(200, 5), false}};
  packets(1).handle(&handler_[1]);
  const Token sent = send(0, "hello", {data(0, 3), data(3, 5)});
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == 1; }));
  EXPECT_TRUE(ends_[0].self->done(sent));
  EXPECT_EQ(handler_[1].came[0], "hello");
  EXPECT_EQ(memory_[1][102], 13);
  EXPECT_EQ(memory_[1][103], 10);
  EXPECT_EQ(memory_[1][204], 8);
  EXPECT_EQ(packets(1).received()[0].bytes, 32u);
}

TEST_F(Packets, WaitForAHandlerAndForTheNextOne) {
  handler_[1].next = {{data(0, 1), false}};
  send(0, "a", {data(0, 1)});
  EXPECT_FALSE(run([] { return false; }, Seconds(0.01)));
  EXPECT_TRUE(handler_[1].placed.empty());
  packets(1).handle(&handler_[1]);
  EXPECT_TRUE(handler_[1].placed.empty()) << "never from inside a call";
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == 1; }));
  packets(1).handle(nullptr);
  send(0, "bc", {data(0, 1)});
  EXPECT_FALSE(run([] { return false; }, Seconds(0.01)));
  EXPECT_EQ(handler_[1].placed.size(), 1u);
  packets(1).handle(&handler_[1]);
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == 2; }));
  EXPECT_EQ(handler_[1].came[1], "bc");
}

TEST_F(Packets, MoreOfThemThanBuffersGoOneAfterTheOther) {
  constexpr std::size_t many = 500;
  handler_[1].next = {{data(0, 100), false}};
  packets(1).handle(&handler_[1]);
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < many; ++i) tokens.push_back(send(0, std::to_string(i), {data(0, 100)}));
  EXPECT_FALSE(ends_[0].self->done(tokens.back()));
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == many; }));
  for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(handler_[1].came[i], std::to_string(i));
  for (const Token token : tokens) EXPECT_TRUE(ends_[0].self->done(token));
}

TEST_F(Packets, DroppedOnesGoNowhereAndTheNextOneArrives) {
  packets(1).handle(&handler_[1]);
  memory_[0][0] = 1;
  handler_[1].answer = Placed::dropped;
  send(0, "late", {data(0, 100), data(500, 7)});
  ASSERT_TRUE(run([&] { return handler_[1].placed.size() == 1; }));
  EXPECT_FALSE(run([] { return false; }, Seconds(0.005)));
  handler_[1].answer = Placed::accepted;
  send(0, "empty", {});
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == 1; }));
  EXPECT_EQ(handler_[1].came[0], "empty");
  EXPECT_EQ(memory_[1][0], 0);
}

TEST_F(Packets, WhatDisagreesOrMakesNoSenseEndsTheRun) {
  packets(1).handle(&handler_[1]);
  handler_[1].next = {{data(0, 4), false}};
  send(0, "x", {data(0, 3)});
  EXPECT_FALSE(run([] { return false; }));
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->cause, Cause::corrupted);
  EXPECT_NE(failure_->what.find("12 bytes where 16 belong"), std::string::npos) << failure_->what;
  EXPECT_EQ(failure_->where, "node0");

  failure_.reset();
  packets(0).handle(&handler_[0]);
  handler_[0].answer = Placed::broken;
  send(1, "y", {});
  EXPECT_FALSE(run([] { return false; }));
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->cause, Cause::corrupted);
  EXPECT_NE(failure_->what.find("the one at 1"), std::string::npos) << failure_->what;
}

TEST_F(Packets, AHangUpMattersOnlyToWhoHandlesPackets) {
  packets(1).handle(&handler_[1]);
  send(0, "a", {});
  ASSERT_TRUE(run([&] { return handler_[1].came.size() == 1; }));
  packets(1).handle(nullptr);
  ::shutdown(ends_[0].fd, SHUT_RDWR);
  EXPECT_FALSE(run([] { return false; }, Seconds(0.01)));
  EXPECT_FALSE(failure_);
  packets(1).handle(&handler_[1]);
  EXPECT_FALSE(run([] { return false; }));
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->cause, Cause::peer_lost);
  EXPECT_EQ(failure_->where, "node0");
}

TEST_F(Packets, GivingUpNamesThePeer) {
  packets(0).give_up(1, "no answer for 5 s");
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->cause, Cause::peer_lost);
  EXPECT_EQ(failure_->what, "the one at 1 does not answer rank 0: no answer for 5 s");
  EXPECT_EQ(failure_->where, "node1");
}

collective::Task await(RankEndpoint& self, Token token, int& count) {
  const auto wait = self.wait(token);
  co_await wait;
  ++count;
}

TEST_F(Packets, TimersComeInTimeAndCancelledOnesNever) {
  RankEndpoint& self = *ends_[0].self;
  const Seconds began = packets(0).now();
  const Token late = packets(0).timer(Seconds(0.02)), never = packets(0).timer(Seconds(0.01)),
              soon = packets(0).timer(Seconds(0.001)), idle = packets(0).idle();
  int woken = 0, cancelled = 0;
  collective::Task tasks[] = {await(self, late, woken), await(self, soon, woken), await(self, idle, woken),
                              await(self, never, cancelled)};
  for (collective::Task& task : tasks) task.start();
  EXPECT_EQ(self.waiting().peer, -1) << "nobody is waited for";
  packets(0).cancel(never);
  ASSERT_TRUE(run([&] { return woken == 3; }));
  EXPECT_GE((packets(0).now() - began).value, 0.02);
  EXPECT_EQ(cancelled, 0);
  packets(0).cancel(late);  // done long ago
}

TEST_F(Packets, WhoIsWaitedForIsWhomTheHandlerNames) {
  packets(0).handle(&handler_[0]);
  EXPECT_EQ(ends_[0].self->waiting().peer, 1);
  packets(0).abandon();
  EXPECT_EQ(ends_[0].self->waiting().peer, -1);
}

// What neutral() and conclude() do to a float32.
TEST(PacketArithmetic, NeutralChangesNothingAndZeroIsFoldedInWhereItMatters) {
  const float inputs[] = {3.5f, -2.0f, 0.0f, -0.0f, std::numeric_limits<float>::infinity()};
  for (const Operation operation : collective::all_operations)
    for (const float input : inputs) {
      std::vector<float> sum(131, 99.0f), in(131, input);
      fill_neutral(Type::float32, operation, sum.data(), 130);
      reduce(Type::float32, operation, sum.data(), sum.data(), in.data(), 130);
      EXPECT_EQ(std::memcmp(sum.data(), in.data(), 130 * sizeof(float)), 0) << key_of(operation) << input;
      EXPECT_EQ(sum[130], 99.0f);

      conclude(Type::float32, operation, sum.data(), 130, 4, 0);
      const float whole = operation == Operation::avg ? input / 4 : input;
      EXPECT_EQ(sum[129], whole) << key_of(operation) << input;
      fill_neutral(Type::float32, operation, sum.data(), 130);
      reduce(Type::float32, operation, sum.data(), sum.data(), in.data(), 130);
      conclude(Type::float32, operation, sum.data(), 130, 4, 1);
      const float zero = operation == Operation::min    ? std::min(input, 0.0f)
                         : operation == Operation::max  ? std::max(input, 0.0f)
                         : operation == Operation::prod ? input * 0.0f
                                                        : whole;
      if (std::isnan(zero)) {
        EXPECT_TRUE(std::isnan(sum[129]));
      } else {
        EXPECT_EQ(sum[129], zero) << key_of(operation) << input;
      }
      EXPECT_EQ(sum[130], 99.0f);
    }
}

TEST(PacketArithmetic, NeutralOfEveryType) {
  for (const Type type : collective::all_types)
    for (const Operation operation : collective::all_operations) {
      // Bits of small positive values that are exact in every type: by bytes, 2.0 or 2.
      const std::uint64_t unit = size_of(type), elements = 1000;
      std::vector<std::byte> value(elements * unit), sum(elements * unit);
      for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint64_t bits = type == Type::float16    ? 0x4000
                                   : type == Type::bfloat16 ? 0x4000
                                   : type == Type::float32  ? 0x40000000
                                   : type == Type::float64  ? 0x4000000000000000
                                                            : 2;
        std::memcpy(&value[i * unit], &bits, unit);
      }
      fill_neutral(type, operation, sum.data(), elements);
      EXPECT_NE(sum, value);
      reduce(type, operation, sum.data(), sum.data(), value.data(), elements);
      EXPECT_EQ(sum, value) << key_of(type) << " " << key_of(operation);
    }
}

}  // namespace
}  // namespace ringtrue::engine
