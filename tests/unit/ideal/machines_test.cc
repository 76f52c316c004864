// Worked examples by hand: what machines that many have should reach, from files as their owners find them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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

// ---- reduction in switches, B and I in GB/s

struct Machine {
  int nodes, gpus;
  double inter, intra;
  std::optional<bool> infiniband, nvlink_reduces;
  int domain = 1;
};

std::map<std::string, double> reduced(const Machine& m) {
  Inputs in;
  in.nodes = m.nodes;
  in.gpus_per_node = m.gpus;
  if (m.inter > 0) in.inter = {BytesPerSecond(m.inter * 1e9), Origin::declared, {}};
  if (m.intra > 0) in.intra = {BytesPerSecond(m.intra * 1e9), Origin::declared, {}};
  in.infiniband = m.infiniband;
  in.nvlink_reduces = m.nvlink_reduces;
  in.nvlink_domain = m.domain;
  const auto ideal = compute(in);
  EXPECT_TRUE(ideal);
  std::map<std::string, double> all;
  for (const InNetwork& way : ideal->in_network) all[way.name] = way.busbw.value / 1e9;
  return all;
}

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// 16 nodes, B = 300, I = 8 x 25 = 200; its NVSwitches cannot reduce.
TEST(Machines, DgxA100) {
  // 2 x 200 x 127 / 128 = 396.875, and 300 x 127 / (128 - 16) = 340.18 to feed it.
  EXPECT_THAT(reduced({16, 8, 200, 300, true, false}),
              ElementsAre(Pair("infiniband-sharp", DoubleNear(340.178571, 1e-6))));
  EXPECT_THAT(reduced({16, 8, 200, 300, false, false}), IsEmpty());
  EXPECT_THAT(reduced({1, 8, 0, 300, {}, false}), IsEmpty());
}

// 16 nodes, B = 450, I = 8 x 50 = 400.
TEST(Machines, DgxH100) {
  EXPECT_THAT(reduced({1, 8, 0, 450, {}, true}), ElementsAre(Pair("nvlink-sharp", DoubleNear(700, 1e-9))));
  // Fed by GPUs: 450 x 127 / 112 = 510.27; by switches: 2 x 450 x 127 / 128 x 8 / 9 = 793.75.
  // Over the network: reduced 2 x 400 x 127 / 128 = 793.75, and not 400 x 127 x 16 / (128 x 15) = 423.33.
  EXPECT_THAT(reduced({16, 8, 400, 450, true, true}),
              ElementsAre(Pair("infiniband-sharp", DoubleNear(510.267857, 1e-6)),
                          Pair("nvlink-and-infiniband-sharp", DoubleNear(793.75, 1e-9)),
                          Pair("nvlink-sharp", DoubleNear(423.333333, 1e-6))));
  EXPECT_THAT(reduced({16, 8, 400, 450, true, false}),
              ElementsAre(Pair("infiniband-sharp", DoubleNear(510.267857, 1e-6))));
  EXPECT_THAT(reduced({16, 8, 400, 450, false, true}),
              ElementsAre(Pair("nvlink-sharp", DoubleNear(423.333333, 1e-6))));
  EXPECT_THAT(reduced({16, 8, 400, 450, false, false}), IsEmpty());
  // A network that is twice as fast does not pass what NVLink feeds it.
  EXPECT_THAT(reduced({16, 8, 900, 450, true, true})["nvlink-and-infiniband-sharp"],
              DoubleNear(793.75, 1e-9));
  EXPECT_THAT(reduced({16, 8, 900, 450, true, false})["infiniband-sharp"], DoubleNear(510.267857, 1e-6));
}

// A rack of 18 trays of 4 GPUs, B = 18 x 50 = 900, I = 4 x 100 = 400 a tray: NVLink joins all of them.
TEST(Machines, Nvl72IsOneNodeOf72Gpus) {
  Inputs in;
  in.nodes = 18;
  in.gpus_per_node = 4;
  in.inter = {BytesPerSecond(200e9), Origin::declared, {}};
  in.intra = {BytesPerSecond(900e9), Origin::declared, {}};
  EXPECT_NEAR(compute(in)->bound->value / 1e9, 200.0 * 71 * 18 / (72 * 17), 1e-6);  // 208.8, as trays alone
  in.nvlink_domain = 18;
  EXPECT_DOUBLE_EQ(compute(in)->bound->value, 900e9);
  EXPECT_THAT(compute(in)->arithmetic[0], "NVLink joins 18 nodes: taken as 1 node of 72 GPUs");
  EXPECT_NEAR(compute(in)->find(collective::AlgorithmId::ring)->busbw->value, 900e9, 1);
  EXPECT_THAT(reduced({18, 4, 200, 900, {}, true, 18}),
              ElementsAre(Pair("nvlink-sharp", DoubleNear(2 * 900.0 * 71 / 73, 1e-6))));
  // Two racks: a domain sends 18 x 200; 3600 x 143 x 2 / (144 x 1) is more than 900 x 143 / (144 - 2).
  in.nodes = 36;
  EXPECT_NEAR(compute(in)->inter_node->value / 1e9, 3600.0 * 143 * 2 / 144, 1e-6);
  EXPECT_NEAR(compute(in)->bound->value / 1e9, 900.0 * 143 / 142, 1e-6);
}

}  // namespace
}  // namespace ringtrue::ideal
