// Known machines.
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

// The rings of several segments between nodes hide their latency: one ring alone reached 65 %.
TEST(DgxH100, HierarchicalComesNearItsIdealOnSixteenNodes) {
  const double bound = 400e9 * 127 * 16 / (128 * 15);
  constexpr std::uint64_t bytes = gigabyte / 2;
  EXPECT_GT(busbw(seconds_of("hierarchical", machine("dgx-h100", 16), bytes), bytes, 128), bound * 0.85);
}

}  // namespace
}  // namespace ringtrue::sim
