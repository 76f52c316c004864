// OmniReduce on the modelled fabric: the protocol's exact counts, its model, and what loss does to it.
#include "collective/omnireduce/omnireduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "collective/sparse.h"
#include "ideal/omnireduce.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using namespace ringtrue::collective;
using Rows = std::vector<std::string>;  // a worker each: '#' a block that holds something, '.' zeros

struct Shape {
  std::uint32_t streams = 1, fusion = 1;
  Rank aggregators = 1;
  bool acked = false;
};

Call call_of(const Rows& rows, const Shape& shape) {
  Call call;
  call.elements = rows[0].size();
  call.omni = {Rank(rows.size()), shape.aggregators, 1, shape.streams, shape.fusion, shape.acked};
  return call;
}

SimReport play(const Rows& rows, const Shape& shape, const std::string& faults = "") {
  SimOptions options;
  options.has_block = [&](Rank worker, std::uint64_t k) { return rows[std::size_t(worker)][k] == '#'; };
  options.rounds = true;
  options.faults = *parse_faults(faults);
  Fabric fabric;
  fabric.nodes = int(rows.size()) + shape.aggregators;
  const Result<SimReport> report =
      simulate(**find_algorithm("omnireduce"), call_of(rows, shape), fabric, options);
  EXPECT_TRUE(report) << report.error().text();
  EXPECT_FALSE(report->error) << report->error->text();
  return *report;
}

struct Counts {
  std::vector<std::uint64_t> packets, blocks;
  std::uint64_t multicasts = 0, resent = 0;
  std::map<std::uint32_t, std::vector<std::uint64_t>> order;  // by stream

  Counts(const SimReport& report, std::size_t workers) {
    for (std::size_t rank = 0; rank < report.counts.size(); ++rank) {
      const PacketCounts& c = report.counts[rank];
      resent += c.resent;
      multicasts += c.multicasts;
      if (rank >= workers) continue;
      packets.push_back(c.packets);
      blocks.push_back(c.blocks);
    }
    for (const RoundSeen& round : report.rounds) {
      auto& blocks_of = order[round.stream];
      blocks_of.insert(blocks_of.end(), round.blocks.begin(), round.blocks.end());
    }
  }
};

Counts counts(const Rows& rows, const Shape& shape) {
  return Counts(play(rows, shape), rows.size());
}

using N = std::vector<std::uint64_t>;

// One stream of one column. Block 0 from both; then 2 (worker 0), 3 (worker 1), 5 (both).
TEST(SimOmnireduce, CountsAHandWorkedColumn) {
  const Rows rows = {"#.#..#", "...#.#"};
  const Counts c = counts(rows, {});
  EXPECT_EQ(c.packets, (N{3, 3}));
  EXPECT_EQ(c.blocks, (N{3, 3}));
  EXPECT_EQ(c.multicasts, 4u);
  EXPECT_EQ(c.order.at(0), (N{0, 2, 3, 5}));
  // Answering every round costs packets, not blocks.
  const Counts acked = counts(rows, {.acked = true});
  EXPECT_EQ(acked.packets, (N{4, 4}));
  EXPECT_EQ(acked.blocks, (N{3, 3}));
  EXPECT_EQ(acked.multicasts, 4u);
  EXPECT_EQ(acked.order.at(0), (N{0, 2, 3, 5}));
}

TEST(SimOmnireduce, SendsFirstBlocksWhateverTheyHold) {
  const Counts c = counts({"....", "....", "...."}, {});
  EXPECT_EQ(c.packets, (N{1, 1, 1}));
  EXPECT_EQ(c.blocks, (N{1, 1, 1}));
  EXPECT_EQ(c.multicasts, 1u);
  EXPECT_EQ(c.order.at(0), (N{0}));
}

TEST(SimOmnireduce, SendsEverythingWhereNothingIsZero) {
  const Counts c = counts({"#####", "#####"}, {});
  EXPECT_EQ(c.packets, (N{5, 5}));
  EXPECT_EQ(c.multicasts, 5u);
  EXPECT_EQ(c.order.at(0), (N{0, 1, 2, 3, 4}));
}

// Two columns in a packet: rows {0,1}, {2,3}, {4,5}, {6}; column 1 ends a row early.
//   round 0  blocks 0, 1 of both; worker 0 has 4 and 3 next, worker 1 has 6 and none
//   round 1  wants 4, 3: worker 0 sends both (next none, none)
//   round 2  wants 6 of column 0 alone: worker 1
TEST(SimOmnireduce, FusesColumnsWithTheirOwnNexts) {
  const Rows rows = {"...##..", "......#"};
  const Counts c = counts(rows, {.fusion = 2});
  EXPECT_EQ(c.packets, (N{2, 2}));
  EXPECT_EQ(c.blocks, (N{4, 3}));
  EXPECT_EQ(c.multicasts, 3u);
  EXPECT_EQ(c.order.at(0), (N{0, 1, 4, 3, 6}));
}

// Three streams over two aggregators; stream j owns block j, j + 3, ...
TEST(SimOmnireduce, DealsBlocksToStreams) {
  const Rows rows = {"#######", ".......", "..#..#."};
  const SimReport report = play(rows, {.streams = 3, .aggregators = 2});
  const Counts c(report, 3);
  EXPECT_EQ(c.order.at(0), (N{0, 3, 6}));
  EXPECT_EQ(c.order.at(1), (N{1, 4}));
  EXPECT_EQ(c.order.at(2), (N{2, 5}));
  EXPECT_EQ(c.packets, (N{7, 3, 4}));
  EXPECT_EQ(report.counts[3].multicasts, 5u);  // streams 0 and 2
  EXPECT_EQ(report.counts[4].multicasts, 2u);
  // More streams than blocks: those without a block do nothing.
  const Counts wide = counts(rows, {.streams = 8, .fusion = 2});
  EXPECT_EQ(wide.order.size(), 4u);
  EXPECT_EQ(wide.packets, (N{4, 4, 4}));
  EXPECT_EQ(wide.order.at(3), (N{6}));
}

TEST(SimOmnireduce, FarewellsAreNoPackets) {
  const SimReport report = play({"##", "##"}, {.acked = true});
  // 2 x 2 packets, 2 x 2 results, and a farewell of each worker.
  EXPECT_EQ(report.messages, 4u + 4 + 2);
}

// Loss, doubling, disorder and damage: it ends, and counts what it would count without them.
TEST(SimOmnireduce, RecoversFromLoss) {
  Rows rows(5, std::string(400, '.'));
  for (std::size_t w = 0; w < rows.size(); ++w) {
    for (std::size_t k = 0; k < 400; ++k) rows[w][k] = (k * 7919 + w * 104729) % 11 < 4 ? '#' : '.';
  }
  for (const Shape shape : {Shape{1, 1, 1, true}, {4, 4, 2, true}, {7, 3, 3, true}}) {
    const SimReport clean = play(rows, shape);
    const Counts wanted(clean, rows.size());
    EXPECT_EQ(wanted.resent, 0u);
    for (const char* faults : {"loss@*>*:share=1%", "loss@*>*:share=10%,seed=3", "duplicate@*>*:share=20%",
                               "reorder@*>*:share=20%", "corrupt@*>*:share=1%",
                               "loss@*>*:share=5%;duplicate@*>*:share=5%;reorder@*>*:share=5%"}) {
      const SimReport report = play(rows, shape, faults);
      const Counts c(report, rows.size());
      EXPECT_EQ(c.packets, wanted.packets) << faults;
      EXPECT_EQ(c.blocks, wanted.blocks) << faults;
      EXPECT_EQ(c.multicasts, wanted.multicasts) << faults;
      for (const auto& [stream, order] : wanted.order) EXPECT_EQ(c.order.at(stream), order) << faults;
      if (std::string(faults).starts_with("loss")) {
        EXPECT_GT(c.resent, 0u) << faults;
        EXPECT_GT(report.time.value, clean.time.value) << faults;
      }
      EXPECT_LT(report.time.value, 60) << faults;
    }
  }
}

TEST(SimOmnireduce, NamesASilentAggregator) {
  Rows rows(2, std::string(50, '#'));
  SimOptions options;
  options.faults = *parse_faults("loss@3>*:share=100%");
  Fabric fabric;
  fabric.nodes = 4;
  const auto report =
      simulate(**find_algorithm("omnireduce"), call_of(rows, {2, 1, 2, true}), fabric, options);
  ASSERT_TRUE(report && report->error);
  EXPECT_NE(report->error->where.text().find("> rank 3"), std::string::npos) << report->error->text();
}

// ---- the model ----

struct Case {
  Rank workers = 8, aggregators = 8;
  double density = 1;
  double gbit = 10;
  bool colocated = false;
  Overlap overlap = Overlap::same;
};

struct Timed {
  double time = 0, worker = 0, united = 0;  // seconds, shares of blocks
};

constexpr double bytes = 1e8, latency = 5e-6;

double data_time(const Case& c) {
  return bytes / (c.gbit * 1e9 / 8);
}

// Packets of four blocks, and three round trips' worth of them in flight.
Call call_of(const Case& c) {
  Call call;
  call.elements = std::uint64_t(bytes / 4);
  const double in_flight = 3 * 2 * latency * c.gbit * 1e9 / 8;
  const std::uint32_t streams = std::max(2u, std::uint32_t(in_flight / 4096 / c.aggregators + 1));
  call.omni = {c.workers, c.aggregators, 256, streams * std::uint32_t(c.aggregators), 4, false};
  return call;
}

// The blocks that hold something, dealt evenly over the columns, or drawn.
Timed time_of(const Case& c, bool even) {
  const Call call = call_of(c);
  const SparsePattern pattern({c.density, 1, c.overlap, call.omni.block}, call.elements, 1);
  const std::uint64_t columns = OmniShape(call).columns();
  Fabric fabric;
  fabric.inter = {Seconds(latency), BytesPerSecond(c.gbit * 1e9 / 8), Seconds(0)};
  for (Rank w = 0; w < c.workers; ++w) fabric.node_of_rank.push_back(w);
  for (Rank a = 0; a < c.aggregators; ++a)
    fabric.node_of_rank.push_back(c.colocated ? a % c.workers : c.workers + a);
  SimOptions options;
  options.has_block = [&](Rank worker, std::uint64_t block) {
    if (!even) return pattern.has(worker, block);
    const double row = double(block / columns), phase = std::fmod(double(block % columns) * 0.618, 1.0);
    return std::floor((row + 1) * c.density + phase) > std::floor(row * c.density + phase);
  };
  const auto report = simulate(**find_algorithm("omnireduce"), call, fabric, options);
  EXPECT_TRUE(report && !report->error);
  if (even) return {report->time.value, c.density, c.density};
  const auto shares = densities(pattern, call.elements, c.workers, call.omni.block);
  return {report->time.value, shares.worker, shares.united};
}

// The same on the wire: headers, first blocks, both hops and the packets that fill them.
double wire_time(const Case& c) {
  const Call call = call_of(c);
  const OmniShape shape(call);
  ideal::OmniInputs in;
  in.workers = c.workers;
  in.aggregators = c.aggregators;
  in.density = in.density_union = c.density;
  in.bytes = Bytes(call.bytes());
  in.rate = BytesPerSecond(c.gbit * 1e9 / 8);
  in.latency = Seconds(latency);
  in.payload = ideal::payload_share(shape.block_bytes(), shape.fusion());
  in.first = double(shape.columns()) / double(shape.blocks());
  in.packet = Bytes(max_packet(call));
  return ideal::omnireduce_on_the_wire(in, c.colocated)->value;
}

TEST(SimOmnireduce, TakesTheModelsTimeOnTheWireWithinAPercent) {
  for (const auto& [workers, aggregators] : {std::pair<Rank, Rank>{2, 2}, {8, 8}, {8, 2}}) {
    for (const double density : {1.0, 0.1, 0.01}) {
      const Case c{workers, aggregators, density};
      EXPECT_NEAR(time_of(c, true).time / wire_time(c), 1, 0.01)
          << workers << " " << aggregators << " " << density;
    }
  }
  for (const double density : {1.0, 0.1}) {
    const Case c{8, 8, density, 10, true};
    EXPECT_NEAR(time_of(c, true).time / wire_time(c), 1, 0.01) << density;
  }
}

// T = max(D, Du) max(1, N/A) S/B where the data takes long against the round trip and is dealt evenly.
TEST(SimOmnireduce, TakesTheModelsTimeWithDedicatedAggregators) {
  for (const auto& [workers, aggregators] : {std::pair<Rank, Rank>{2, 2}, {8, 8}, {8, 2}}) {
    for (const double density : {1.0, 0.4, 0.1}) {
      const Case c{workers, aggregators, density};
      const double model = density * std::max(1.0, double(workers) / aggregators) * data_time(c);
      const double time = time_of(c, true).time;
      EXPECT_GE(time, model) << workers << " " << aggregators << " " << density;
      EXPECT_LE(time, (density == 1 ? 1.02 : 1.05) * model)
          << workers << " " << aggregators << " " << density;
    }
  }
}

// T = (N-1)/N (D + Du) S/B.
TEST(SimOmnireduce, TakesTheModelsTimeBesideTheWorkers) {
  for (const Rank n : {2, 8}) {
    for (const double density : {1.0, 0.4, 0.1}) {
      const Case c{n, n, density, 10, true};
      const double model = (n - 1.0) / n * 2 * density * data_time(c);
      const double time = time_of(c, true).time;
      EXPECT_GE(time, model * 0.999) << n << " " << density;
      EXPECT_LE(time, (density == 1 ? 1.02 : 1.05) * model) << n << " " << density;
    }
  }
}

// Drawn blocks fall on aggregators unevenly, which costs some more.
TEST(SimOmnireduce, ComesNearTheModelWithDrawnBlocks) {
  for (const Overlap overlap : {Overlap::same, Overlap::random}) {
    const Case c{8, 8, 0.1, 10, false, overlap};
    const Timed timed = time_of(c, false);
    EXPECT_NEAR(timed.worker, 0.1, 0.001);
    EXPECT_NEAR(timed.united, overlap == Overlap::same ? 0.1 : 0.57, 0.01);
    EXPECT_NEAR(timed.time / (timed.united * data_time(c)), 1.07, 0.06);
  }
}

TEST(SimOmnireduce, ShowsASlowAggregatorsPort) {
  const Case c{4, 4, 1};
  const Call call = call_of(c);
  Fabric fabric;
  fabric.nodes = 8;
  fabric.inter = {Seconds(latency), BytesPerSecond(1.25e9), Seconds(0)};
  fabric.ingress[5] = 0.25;
  const auto report = simulate(**find_algorithm("omnireduce"), call, fabric);
  ASSERT_TRUE(report && !report->error);
  EXPECT_NEAR(report->time.value / data_time(c), 4, 0.1);
  // Its packets stand before the port all the time.
  for (Rank a = 4; a < 8; ++a) {
    const double share = report->receiving[std::size_t(a)].value / report->time.value;
    EXPECT_NEAR(share, a == 5 ? 1.0 : 0.3, 0.15) << a;
  }
}

}  // namespace
}  // namespace ringtrue::sim
