// Known machines: what one GPU drives, and latencies beside NCCL's cost model.
#include <gtest/gtest.h>

#include "collective/algorithm.h"
#include "sim/settings.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

Fabric machine(const char* preset, int nodes, const char* ranks = nullptr) {
  Description description;
  EXPECT_TRUE(set(description, "preset", preset));
  if (ranks) {
    EXPECT_TRUE(set(description, "gpus-per-node", ranks));
  }
  description.fabric.nodes = nodes;
  return *description.finished();
}

double seconds_of(const char* algorithm, const Fabric& fabric, std::uint64_t bytes) {
  collective::Call call;
  call.elements = bytes / 4;
  const auto report = simulate(**collective::find_algorithm(algorithm), call, fabric, {});
  EXPECT_TRUE(report && !report->error);
  return report->time.value;
}

// busbw of an allreduce over so many ranks.
double busbw(double seconds, std::uint64_t bytes, int ranks) {
  return double(bytes) / seconds * 2 * (ranks - 1) / ranks;
}

constexpr std::uint64_t gigabyte = 1 << 30;

// Its own way to eight NICs of 50 GB/s is PCIe Gen5 x16.
TEST(DgxH100, OneGpuDrivesWhatItsPcieCarries) {
  EXPECT_NEAR(busbw(seconds_of("ring", machine("dgx-h100", 4, "1"), gigabyte), gigabyte, 4), 63e9, 0.5e9);
  EXPECT_NEAR(busbw(seconds_of("ring", machine("dgx-h100", 4, "2"), gigabyte), gigabyte, 8), 126e9, 8e9);
}

// Eight drive all: what leaves by another's NIC takes NVLink to it.
TEST(DgxH100, EightGpusDriveAllNics) {
  const double plain = seconds_of("ring", machine("dgx-h100", 4), gigabyte);
  EXPECT_NEAR(busbw(plain, gigabyte, 32), 400e9, 8e9);
  Fabric narrow = machine("dgx-h100", 4);
  narrow.gpu_pcie = BytesPerSecond(63e9);
  EXPECT_NEAR(seconds_of("ring", narrow, gigabyte), plain, 0.02 * plain);
  narrow.intra.rate = BytesPerSecond(100e9);
  // The last GPU of a node sends one in eight itself and seven over its NVLink.
  EXPECT_LT(busbw(seconds_of("ring", narrow, gigabyte), gigabyte, 32), 100e9 * 8 / 7);
}

// The rings of several segments between nodes hide their latency: one ring alone reached 65 %.
TEST(DgxH100, HierarchicalComesNearItsIdealOnSixteenNodes) {
  const double bound = 400e9 * 127 * 16 / (128 * 15);
  constexpr std::uint64_t bytes = gigabyte / 2;
  EXPECT_GT(busbw(seconds_of("hierarchical", machine("dgx-h100", 16), bytes), bytes, 128), bound * 0.85);
}

// NCCL, src/graph/tuning.cc, LL: a ring's hops of 0.6 us over NVLink and 2.7 us over the network, after 6.6
// us that are no hop's; a tree's hop over the network takes it 5 us.
TEST(Summit, TakesWhatNcclsCostModelHasForNoBytes) {
  constexpr int nodes = 64, gpus = 6;
  const double between = 2 * (nodes - 1), inside = 2 * (nodes * gpus - 1) - between;
  EXPECT_NEAR(seconds_of("ring", machine("summit", nodes), 1024), inside * 0.6e-6 + between * 2.7e-6, 10e-6);
  Fabric fabric = machine("summit", nodes);
  fabric.inter.latency = Seconds(5e-6);
  EXPECT_NEAR(seconds_of("double-tree", fabric, 1024), 2 * ((gpus - 1) * 0.6e-6 + 6 * 5e-6), 6e-6);
}

}  // namespace
}  // namespace ringtrue::sim
