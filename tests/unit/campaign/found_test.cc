// Faults that were missed once, or taken for others, though a check meets them.
#include <gtest/gtest.h>

#include "campaign/campaign.h"
#include "campaign/nuisances.h"

namespace ringtrue::campaign {
namespace {

struct Missed {
  std::uint64_t seed, number;
  const char* nuisances;
  const char* what;
};

class Found : public testing::TestWithParam<Missed> {};

TEST_P(Found, IsNamedAlone) {
  Limits limits;
  limits.nuisances = *parse_nuisances(GetParam().nuisances);
  const Case c = draw_case(GetParam().seed, GetParam().number, limits);
  const diagnosis::CaseScore score = score_of(c, check(c));
  EXPECT_EQ(score.found, score.faults) << GetParam().what << ": " << c.text();
  EXPECT_EQ(score.findings, score.faults) << GetParam().what << ": " << c.text();
  EXPECT_EQ(score.wrong, 0) << GetParam().what << ": " << c.text();
}

INSTANTIATE_TEST_SUITE_P(
    Once, Found,
    testing::Values(Missed{99, 9321, "none", "a late node, alone in the leaf that was guessed for it"},
                    Missed{99, 1097, "half", "one of two nodes, slow at times, away in the first pairs"}),
    [](const auto& info) {
      return "seed_" + std::to_string(info.param.seed) + "_case_" + std::to_string(info.param.number);
    });

}  // namespace
}  // namespace ringtrue::campaign
