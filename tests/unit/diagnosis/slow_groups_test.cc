// Nodes that are slow with all others, where nobody told how they hang together.
#include <gtest/gtest.h>

#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double full = 100e6;
constexpr int nodes = 6;

bool inside(int node) {
  return node < 3;
}

HopReading hop_of(int source, int destination, double share, double bytes) {
  HopReading hop;
  hop.source = source, hop.destination = destination;
  hop.bytes = Bytes(std::uint64_t(bytes));
  hop.busy = Seconds(bytes / (share * full));
  return hop;
}

// Nodes 0 to 2 and 3 to 5 below two leaves, whose link carries `share` of a port from the first to the
// second. In company the link is full, and acknowledgements of what comes back wait there.
struct TwoLeaves {
  explicit TwoLeaves(double share) : share_(share) {
    for (int shift = 1; shift < nodes; ++shift) {
      Observation seen;
      for (int x = 0; x < nodes; ++x) {
        const int y = (x + shift) % nodes;
        seen.hops.push_back(hop_of(x, y, inside(x) == inside(y) ? 1 : 0.4, 20e6));
      }
      readings.add(seen, run_++, true);
    }
    // Two leaves' pairs are met by few hops at once.
    for (int x = 0; x < 3; ++x)
      for (int y = 3; y < nodes; ++y) {
        Observation seen;
        seen.hops = {hop_of(x, y, share_, 20e6), hop_of(y, x, 0.6, 20e6)};
        readings.add(seen, run_++, true);
      }
  }
  // Briefly, one direction at a time.
  void measure_alone(int x, int y) {
    Observation seen;
    seen.experiment.algorithm = collective::AlgorithmId::naive;
    seen.hops = {hop_of(x, y, share_, 3e6), hop_of(y, x, 1.05, 3e6)};
    alone.add(seen, run_++, true);
  }
  std::vector<SlowGroup> groups() const {
    return infer(readings, alone, std::nullopt, std::nullopt, {}).groups;
  }

  Readings readings{nodes}, alone{nodes};

 private:
  const double share_;
  int run_ = 0;
};

TEST(SlowGroups, TheWayBackThatIsFastAloneTellsWhichDirectionIsSlow) {
  TwoLeaves fleet(0.4);
  ASSERT_EQ(fleet.groups().size(), 1u);
  EXPECT_TRUE(fleet.groups().front().sends && fleet.groups().front().receives);
  for (int x = 0; x < 3; ++x)
    for (int y = 3; y < nodes; ++y) fleet.measure_alone(x, y);
  ASSERT_EQ(fleet.groups().size(), 1u);
  const SlowGroup group = fleet.groups().front();
  EXPECT_NE(group.sends, group.receives);
  EXPECT_TRUE(group.confirmed);
  EXPECT_TRUE(group.explains(0, 4));
  EXPECT_FALSE(group.explains(4, 0));
  EXPECT_LT(group.readings.front().rate, 0.5 * full);
}

TEST(SlowGroups, NoneIsLeftWhereBothWaysAreFastAlone) {
  TwoLeaves fleet(1);
  for (int x = 0; x < 3; ++x) fleet.measure_alone(x, x + 3);
  EXPECT_TRUE(fleet.groups().empty());
}

}  // namespace
}  // namespace ringtrue::diagnosis
