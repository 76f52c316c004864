// Healthy clusters in which somebody was accused once, and why nobody is.
#include <gtest/gtest.h>

#include "campaign/campaign.h"
#include "campaign/nuisances.h"

namespace ringtrue::campaign {
namespace {

struct Accused {
  std::uint64_t seed, number;
  const char* why;
  int most_nodes = Limits{}.max_nodes, least_nodes = Limits{}.min_nodes;
  const char* nuisances = "half";
};

class Healthy : public testing::TestWithParam<Accused> {};

TEST_P(Healthy, IsNotAccused) {
  Limits limits;
  limits.nuisances = *parse_nuisances(GetParam().nuisances);
  limits.max_nodes = GetParam().most_nodes;
  limits.min_nodes = GetParam().least_nodes;
  const Case c = draw_case(GetParam().seed, GetParam().number, limits);
  ASSERT_TRUE(c.world.fabric.faults.empty());
  const Checked checked = check(c);
  for (const auto& finding : checked.diagnosis.findings)
    EXPECT_EQ(finding.severity, diagnosis::Severity::info) << key_of(finding.kind) << ": " << GetParam().why;
}

INSTANTIATE_TEST_SUITE_P(
    Once, Healthy,
    testing::Values(
        Accused{2026, 166, "a sender below a leaf that nobody knows, on trunks that others use"},
        Accused{2026, 918, "leaves that were guessed, on trunks that others use"},
        Accused{31, 1038,
                "a receiver to which tables lead by a trunk that others use, its leaf guessed in part"},
        Accused{32, 914, "a sender, its leaf guessed in part, on trunks that others use"},
        Accused{32, 768, "one of eight rails of three busy nodes"},
        Accused{99, 262, "three nodes of two generations, beside a declaration that none reaches", 4},
        Accused{99, 1052, "both directions of two nodes, beside a declaration that none reaches", 4},
        Accused{2027, 344, "two of 760 ports that differ", 1024, 2, "spread=3%"},
        Accused{2030, 1230, "a port of four nodes whose ports differ", 256, 2, "spread=3%"},
        Accused{2030, 1312, "a port of 40 nodes whose ports differ", 256, 2, "spread=3%"},
        Accused{2030, 1648, "a port of eight nodes whose ports differ", 256, 2, "spread=3%"},
        Accused{2027, 460, "a path across trunks that are slower than ports", 1024, 2, "tails=10%"},
        Accused{9101, 2862, "a leaf of which 28 pairs were low, where most are", 64, 9, "none"},
        Accused{9102, 1004, "a receiver that met nobody as fast below its own leaf", 64, 9},
        Accused{9102, 2778, "a leaf of which two pairs were low, where few others were measured", 64, 9},
        Accused{9102, 2858, "a leaf of which three pairs were low, where few others were measured", 64, 9}),
    [](const auto& info) {
      return "seed_" + std::to_string(info.param.seed) + "_case_" + std::to_string(info.param.number);
    });

}  // namespace
}  // namespace ringtrue::campaign
