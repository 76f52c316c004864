#include "campaign/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "campaign/cases.h"

namespace ringtrue::campaign {
namespace {

// Parts of equal number fail as often in all their ways together as their source says, and kinds of which no
// source tells weigh as much as the mean of the others.
TEST(Weights, FollowFromWhatTheSourcesCount) {
  const auto of = [](std::initializer_list<const char*> kinds) {
    double sum = 0;
    for (const char* kind : kinds) sum += weight_of(kind, Weights::field);
    return sum;
  };
  const double hosts = of({"slow-out", "slow-in", "slow-node-links", "narrow-nic", "lossy", "flapping"});
  const double cables = of({"slow-trunk", "slow-cable"}), nics = of({"slow-nic"});
  const double switches = of({"slow-leaf", "slow-spine", "slow-core"});
  EXPECT_NEAR(hosts / cables, 1, 1e-9);
  EXPECT_NEAR(nics / hosts, 0.0241 / 0.057, 0.001);
  EXPECT_NEAR(switches / hosts, (2.0 / 3 / 32 + 2 * 2.0 / 3 / 64) / 0.057, 0.001);
  EXPECT_NEAR(of({"slow-compute"}) / (hosts + cables + nics + switches), 0.05, 1e-9);
  EXPECT_NEAR(hosts + cables + nics + switches + of({"slow-compute"}), 13, 1e-9);
  for (const char* kind : {"late", "late-path", "slow-path", "dead", "small-mtu", "two", "three"})
    EXPECT_EQ(weight_of(kind, Weights::field), 1) << kind;
}

TEST(Weights, AreHowOftenKindsAreDrawn) {
  for (const Weights weights : {Weights::field, Weights::even}) {
    Limits limits;
    limits.weights = weights;
    limits.min_nodes = limits.max_nodes = 16;
    std::map<std::string_view, int> drawn;
    constexpr int faulty = 4000;
    for (std::uint64_t k = 0; k < faulty; ++k) ++drawn[draw_case(8, 2 * k + 1, limits).kind->name];
    double all = 0;
    for (const Kind& kind : kinds())
      if (kind.group != Kind::Group::healthy && !kind.named_only) all += weight_of(kind.name, weights);
    for (const Kind& kind : kinds()) {
      if (kind.group == Kind::Group::healthy || kind.named_only) continue;
      const double expected = faulty * weight_of(kind.name, weights) / all;
      EXPECT_NEAR(drawn[kind.name], expected, 4 * std::sqrt(expected)) << kind.name;
    }
  }
}

}  // namespace
}  // namespace ringtrue::campaign
