// Packets, timers and the view on the data in the simulated world, with small programs of their own.
#include "collective/packets.h"

#include <gtest/gtest.h>

#include <cstring>

#include "collective/gate.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using namespace ringtrue::collective;

constexpr std::uint64_t part_bytes = 1000;
constexpr double rate = 1e6, latency = 1e-3;

Fabric two_nodes() {
  Fabric fabric;
  fabric.nodes = 2;
  fabric.inter = {Seconds(latency), BytesPerSecond(rate), Seconds(0)};
  return fabric;
}

struct Seen {
  std::vector<std::uint32_t> numbers;
  std::vector<double> times;
};
Seen seen;  // by rank 1, in the run under way

std::array<std::byte, 4> header_of(std::uint32_t number) {
  std::array<std::byte, 4> header;
  std::memcpy(header.data(), &number, 4);
  return header;
}

class Listener final : public PacketHandler {
 public:
  Listener(Packets& packets, std::uint64_t length) : packets_(packets), length_(length) {}
  Placed place(Rank, std::span<const std::byte>, std::vector<PacketPart>& parts) override {
    parts.push_back({{Space::data, 0, length_}, true});
    return Placed::accepted;
  }
  void arrived(Rank, std::span<const std::byte> header) override {
    std::uint32_t number = 0;
    std::memcpy(&number, header.data(), 4);
    seen.numbers.push_back(number);
    seen.times.push_back(packets_.now().value);
    gate.raise();
  }
  Rank waiting_for() const override { return 0; }
  Gate gate;

 private:
  Packets& packets_;
  std::uint64_t length_;
};

std::vector<Edge> all_edges(const Layout&, Rank, const Call&) {
  return {};
}
std::uint64_t no_scratch(const Layout&, Rank, const Call&) {
  return 0;
}
Algorithm algorithm(Task (*program)(Endpoint&, const Call&)) {
  return {AlgorithmId::omnireduce, "a test", program, no_scratch, true, all_edges};
}

// Rank 0 sends call.elements packets; rank 1 listens, after call.shift milliseconds, for call.lanes of them.
Task stream(Endpoint& self, const Call& call) {
  Packets& packets = *self.packets();
  if (self.rank() == 0) {
    const Rank to = 1;
    const Slice part{Space::data, 0, part_bytes};
    Token last;
    for (std::uint32_t i = 0; i < call.elements; ++i) {
      const auto header = header_of(i);
      last = packets.send_packet({&to, 1}, header, {&part, 1});
    }
    const auto sent = self.wait(last);
    co_await sent;
    co_return;
  }
  Listener listener(packets, part_bytes);
  if (call.shift > 0) {
    const Token timer = packets.timer(Seconds(double(call.shift) * 1e-3));
    const auto rung = self.wait(timer);
    co_await rung;
  }
  packets.handle(&listener);
  const auto all = listener.gate.reaches(std::uint64_t(call.lanes));
  co_await all;
  packets.handle(nullptr);
}

SimReport play(Task (*program)(Endpoint&, const Call&), std::uint64_t packets, Rank wait_ms, int listen_for,
               const std::string& faults = "") {
  seen = {};
  Call call;
  call.elements = packets;
  call.shift = wait_ms;
  call.lanes = listen_for;
  call.omni.acked = !faults.empty();
  SimOptions options;
  options.faults = *parse_faults(faults);
  options.packets = true;
  const Result<SimReport> report = simulate(algorithm(program), call, two_nodes(), options);
  EXPECT_TRUE(report) << report.error().text();
  return *report;
}

TEST(SimPackets, TakeLatencyPlusBytesOverRateEach) {
  const SimReport report = play(stream, 3, 0, 3);
  ASSERT_FALSE(report.error) << report.error->text();
  EXPECT_EQ(seen.numbers, (std::vector<std::uint32_t>{0, 1, 2}));
  const double each = (part_bytes + 4) / rate;
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(seen.times[std::size_t(i)], latency + (i + 1) * each, 1e-12);
  EXPECT_EQ(report.messages, 3u);
  EXPECT_EQ(report.bytes_sent, 3 * (part_bytes + 4));
  ASSERT_EQ(report.packets.size(), 3u);
  EXPECT_EQ(report.packets[1].payload, part_bytes);
  EXPECT_EQ(report.packets[1].from, 0);
  EXPECT_EQ(report.counts.size(), 2u);
}

TEST(SimPackets, WaitForAHandler) {
  const SimReport report = play(stream, 5, 50, 5);
  ASSERT_FALSE(report.error);
  EXPECT_EQ(seen.numbers, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  for (const double time : seen.times) EXPECT_NEAR(time, 0.05, 1e-12);
}

TEST(SimPackets, GetLostDoubledAndReorderedByShare) {
  const SimReport lost = play(stream, 400, 0, 1000, "loss@*>*:share=25%");
  ASSERT_TRUE(lost.error);  // it waits for packets that never come
  EXPECT_NEAR(double(seen.numbers.size()), 300, 40);
  const auto first = seen.numbers;
  play(stream, 400, 0, 1000, "loss@*>*:share=25%");
  EXPECT_EQ(seen.numbers, first);  // deterministic
  play(stream, 400, 0, 1000, "loss@*>*:share=25%,seed=2");
  EXPECT_NE(seen.numbers, first);

  play(stream, 400, 0, 1000, "duplicate@*>*:share=25%");
  EXPECT_NEAR(double(seen.numbers.size()), 500, 40);

  play(stream, 400, 0, 1000, "corrupt@*>*:share=25%");
  EXPECT_NEAR(double(seen.numbers.size()), 300, 40);
  EXPECT_TRUE(std::is_sorted(seen.numbers.begin(), seen.numbers.end()));

  play(stream, 400, 0, 1000, "reorder@*>*:share=25%");
  EXPECT_GE(seen.numbers.size(), 398u);  // the last ones may wait for others in vain
  EXPECT_FALSE(std::is_sorted(seen.numbers.begin(), seen.numbers.end()));
  for (std::size_t i = 0; i < seen.numbers.size(); ++i) EXPECT_NEAR(seen.numbers[i], double(i), 10);
}

TEST(SimPackets, RefuseLossWhereNothingRecovers) {
  SimOptions options;
  options.faults = *parse_faults("loss@*>*:share=1%");
  Call call;
  call.elements = 1;
  const auto refused = simulate(algorithm(stream), call, two_nodes(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::bad_input);
  EXPECT_FALSE(simulate(**find_algorithm("ring"), call, two_nodes(), options));
}

Task wrong_lengths(Endpoint& self, const Call& call) {
  Packets& packets = *self.packets();
  if (self.rank() == 0) {
    const auto sending = stream(self, call);
    co_await sending;
    co_return;
  }
  Listener listener(packets, part_bytes - 1);
  packets.handle(&listener);
  const auto all = listener.gate.reaches(1);
  co_await all;
}

TEST(SimPackets, HoldPlacesToWhatWasSent) {
  const SimReport report = play(wrong_lengths, 1, 0, 1);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->cause, Cause::internal);
  EXPECT_TRUE(seen.numbers.empty());
}

Task impatient(Endpoint& self, const Call&) {
  Packets& packets = *self.packets();
  if (self.rank() == 0) co_return;
  const Token never = packets.timer(Seconds(1));
  packets.cancel(never);
  const Token soon = packets.timer(Seconds(2));
  const auto rung = self.wait(soon);
  co_await rung;
  EXPECT_FALSE(self.done(never));
  EXPECT_NEAR(packets.now().value, 2, 1e-12);
  EXPECT_EQ(packets.non_zero().known(), 10u);
  EXPECT_TRUE(packets.non_zero()[3]);
  packets.give_up(0, "no answer for 2 s");
  const Token later = packets.timer(Seconds(1));
  const auto more = self.wait(later);
  co_await more;
  ADD_FAILURE() << "resumed after it gave up";
}

TEST(SimPackets, TimersRunOnVirtualTimeAndGivingUpEndsTheRun) {
  Call call;
  call.elements = 10;
  call.omni.block = 1;
  const auto report = simulate(algorithm(impatient), call, two_nodes());
  ASSERT_TRUE(report && report->error);
  EXPECT_EQ(report->error->what, "no answer for 2 s");
  EXPECT_EQ(report->error->where, "rank 1 > rank 0");
  EXPECT_NEAR(report->time.value, 2, 1e-12);
}

}  // namespace
}  // namespace ringtrue::sim
