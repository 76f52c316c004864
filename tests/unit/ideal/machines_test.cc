// Worked examples by hand: what machines that many have should reach, from files as their owners find them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/format.h"
#include "ideal/facts.h"

namespace ringtrue::ideal {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int gpus_of_a_board = 8;

// NCCL's file of a board of eight GPUs, each behind a link of 32 GT/s x16 (63.0154 GB/s); `rows` gives what
// stands inside the GPU's element.
template <class Rows>
Facts board(const std::string& gpu_attributes, const Rows& rows) {
  std::string text = "<system version='1'><cpu numaid='0'>";
  for (int g = 0; g < gpus_of_a_board; ++g)
    text += fmt::format(
        "<pci busid='0000:{:02x}:00.0' class='0x030200' link_speed='32.0 GT/s PCIe' link_width='16'>"
        "<gpu dev='{}' {}>{}</gpu></pci>",
        g + 1, g, gpu_attributes, rows(g));
  const auto node = formats::read_nccl_xml(text + "</cpu></system>", "node0");
  EXPECT_TRUE(node) << node.error().text();
  const auto facts = from_topology({{*node}, {}});
  EXPECT_TRUE(facts);
  return *facts;
}

TEST(Machines, P5WithoutNvlinkRowsHasAnUnknownRateInside) {
  const Facts facts = board("sm='90'", [](int) { return std::string(); });
  EXPECT_EQ(facts.inputs.gpus_per_node, 8);
  EXPECT_FALSE(facts.inputs.intra);  // 450 GB/s in truth, and never the 63 of its PCIe links
  EXPECT_THAT(facts.notes, Contains(HasSubstr("the NVLinks of GPU0, GPU1, GPU2")));
  EXPECT_FALSE(compute(facts.inputs)->bound);
  const Facts told = board("sm='90'", [](int) {
    return std::string("<nvlink target='ffff:ff:ff.0' count='18' tclass='0x068000'/>");
  });
  EXPECT_DOUBLE_EQ(told.inputs.intra->value.value, 450e9);
}

TEST(Machines, GpusThatNeverHaveNvlinksUsePcie) {
  const Facts l40s = board("sm='89'", [](int) { return std::string(); });
  EXPECT_NEAR(l40s.inputs.intra->value.value, 63.0153846e9, 1e3);
}

// Each GPU has a link to each of the seven others: 7 x 64 GB/s one way.
TEST(Machines, Mi300xReachesItsSistersOverXgmi) {
  const Facts facts = board("sm='94' gcn='gfx942'", [](int self) {
    std::string rows;
    for (int other = 0; other < gpus_of_a_board; ++other)
      if (other != self)
        rows += fmt::format("<xgmi target='0000:{:02x}:00.0' count='1' tclass='0x038000'/>", other + 1);
    return rows;
  });
  EXPECT_DOUBLE_EQ(facts.inputs.intra->value.value, 448e9);
  EXPECT_THAT(facts.arithmetic, Contains("B: 7 xGMI links x 64 GB/s = 448 GB/s (derived)"));
  EXPECT_THAT(facts.notes, Not(Contains(HasSubstr("NVLink"))));
  EXPECT_DOUBLE_EQ(compute(facts.inputs)->bound->value, 448e9);
}

}  // namespace
}  // namespace ringtrue::ideal
