// OmniReduce of (key, value) pairs in the simulated world: what is counted there is what the rules say, and
// its time is that of the model.
#include <gtest/gtest.h>

#include "ideal/omnireduce.h"
#include "sim/simulate.h"
#include "tests/support/pair_cases.h"

namespace ringtrue::sim {
namespace {

using namespace ringtrue::collective;

SimReport simulate_pairs(const test::PairCase& c, const std::string& faults = "") {
  SimOptions options;
  options.values = [&](Rank worker, std::uint64_t begin, std::uint64_t end,
                       std::vector<std::uint64_t>& into) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (c.holds(worker, i)) into.push_back(i);
  };
  options.rounds = true;
  options.faults = *parse_faults(faults);
  Fabric fabric;
  fabric.nodes = c.call.omni.workers + c.call.omni.aggregators;
  const Result<SimReport> report = simulate(**find_algorithm("omnireduce"), c.call, fabric, options);
  EXPECT_TRUE(report) << report.error().text();
  EXPECT_FALSE(report->error) << report->error->text();
  return *report;
}

void expect_counts(const test::PairCase& c, const SimReport& report) {
  const test::PairProtocol right = test::expected_protocol(c);
  std::uint64_t multicasts = 0;
  for (std::size_t rank = 0; rank < report.counts.size(); ++rank) {
    multicasts += report.counts[rank].multicasts;
    if (rank >= right.packets.size()) continue;
    EXPECT_EQ(report.counts[rank].packets, right.packets[rank]) << rank;
    EXPECT_EQ(report.counts[rank].pairs, right.pairs[rank]) << rank;
  }
  EXPECT_EQ(multicasts, right.multicasts);
  for (const RoundSeen& seen : report.rounds) {
    EXPECT_EQ(seen.keys, right.streams.at(seen.stream).at(seen.round).keys);
    EXPECT_EQ(seen.wanted, test::Keys{right.streams.at(seen.stream).at(seen.round).wanted});
  }
}

TEST(SimPairs, CountsWhatTheRulesSay) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const test::PairCase c = test::drawn_pairs(seed);
    SCOPED_TRACE(c.text());
    expect_counts(c, simulate_pairs(c));
  }
}

TEST(SimPairs, RecoversFromLoss) {
  std::uint64_t resent = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::PairCase c = test::drawn_pairs(seed);
    c.call.omni.acked = true;
    SCOPED_TRACE(c.text());
    const SimReport report =
        simulate_pairs(c, "loss@*>*:share=10%;duplicate@*>*:share=5%;reorder@*>*:share=5%");
    expect_counts(c, report);
    for (const PacketCounts& counts : report.counts) resent += counts.resent;
  }
  EXPECT_GT(resent, 20u);
}

// Everybody the same fifth of the values: as blocks all of it would go, as pairs 2/5 of the bytes.
TEST(SimPairs, TakeTheModelsTimeOnTheWire) {
  Call call;
  call.elements = 4 << 20;
  call.omni = {.workers = 4, .aggregators = 4, .block = 256, .streams = 64, .pairs = 1024};
  SimOptions options;
  options.values = [](Rank, std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& into) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (i % 5 == 0) into.push_back(i);
  };
  Fabric fabric;
  fabric.nodes = 8;
  fabric.inter = {Seconds(5e-6), BytesPerSecond(1.25e9), Seconds(0)};
  const auto report = simulate(**find_algorithm("omnireduce"), call, fabric, options);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_FALSE(report->error);
  ideal::OmniInputs in;
  in.workers = in.aggregators = 4;
  in.density = in.density_union = 0.2;
  in.bytes = Bytes(call.bytes());
  in.rate = fabric.inter.rate;
  in.latency = fabric.inter.latency;
  in.payload = 0.5;
  const auto model = ideal::omnireduce_model(in);
  ASSERT_TRUE(model);
  EXPECT_NEAR(report->time / model->dedicated.time, 1, 0.05);
}

}  // namespace
}  // namespace ringtrue::sim
