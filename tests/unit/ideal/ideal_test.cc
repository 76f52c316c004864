#include "ideal/ideal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ringtrue::ideal {
namespace {

Rate gb(double v) {
  return {BytesPerSecond(v * 1e9), Origin::declared};
}

Ideal of(int nodes, int gpus, std::optional<Rate> inter, std::optional<Rate> intra) {
  Inputs in;
  in.nodes = nodes;
  in.gpus_per_node = gpus;
  in.inter = inter;
  in.intra = intra;
  auto ideal = compute(in);
  EXPECT_TRUE(ideal.has_value());
  return *ideal;
}

double busbw(const Ideal& ideal, std::string_view name) {
  const AlgorithmIdeal* a = ideal.find(*parse_key<collective::AlgorithmId>(name));
  EXPECT_NE(a, nullptr) << name;
  EXPECT_TRUE(a && a->busbw) << name;
  return a && a->busbw ? a->busbw->value / 1e9 : std::nan("");
}

TEST(Bound, WorkedExampleOfTwoNodesWithEightGpus) {
  const Ideal i = of(2, 8, gb(100), gb(450));
  EXPECT_NEAR(i.inter_node->value, 187.5e9, 1);
  EXPECT_NEAR(i.intra_node->value / 1e9, 482.1428571, 1e-6);
  EXPECT_NEAR(i.bound->value, 187.5e9, 1);
  EXPECT_FALSE(i.may_be_passed);
  ASSERT_EQ(i.arithmetic.size(), 3u);
  EXPECT_EQ(i.arithmetic[0], "between nodes: I (N-1) Q / (N (Q-1)) = 100 x 15 x 2 / (16 x 1) = 187.5 GB/s");
  EXPECT_EQ(i.arithmetic[1], "inside nodes: B (N-1) / (N-Q) = 450 x 15 / (16 - 2) = 482.143 GB/s");
  EXPECT_EQ(i.arithmetic[2], "bound: min(187.5, 482.143) = 187.5 GB/s");
}

TEST(Bound, OneGigabyteOver32GpusInATenthOfASecond) {
  const double algbw = 1e9 / 0.1;
  EXPECT_NEAR(algbw * busbw_factor(collective::AlgorithmId::ring, 32), 19.375e9, 1);
  EXPECT_NEAR(algbw * busbw_factor(collective::AlgorithmId::ring, 16), 18.75e9, 1);
  EXPECT_EQ(busbw_factor(collective::AlgorithmId::pairwise, 32), 1);
  EXPECT_EQ(busbw_factor(collective::AlgorithmId::ring, 1), 0);
}

TEST(Bound, TermsThatDoNotExistAreAbsent) {
  const Ideal flat = of(8, 1, gb(1), gb(450));
  EXPECT_FALSE(flat.intra_node);
  EXPECT_NEAR(flat.bound->value, 1e9, 1e-3);  // P = 1: the bound is I itself
  const Ideal one = of(1, 8, gb(1), gb(450));
  EXPECT_FALSE(one.inter_node);
  EXPECT_NEAR(one.bound->value, 450e9, 1e-3);
  const Ideal alone = of(1, 1, gb(1), gb(450));
  EXPECT_FALSE(alone.bound);
  EXPECT_FALSE(alone.find(collective::AlgorithmId::ring)->busbw);
  EXPECT_EQ(alone.find(collective::AlgorithmId::ring)->arithmetic, "one rank: nothing moves");
}

TEST(Bound, UnknownRatesStayUnknown) {
  const Ideal i = of(2, 8, gb(100), std::nullopt);
  EXPECT_FALSE(i.intra_node);
  EXPECT_NEAR(i.bound->value, 187.5e9, 1);
  EXPECT_EQ(i.notes.size(), 1u);
  EXPECT_FALSE(i.find(collective::AlgorithmId::ring)->busbw);
  EXPECT_EQ(i.find(collective::AlgorithmId::ring)->arithmetic,
            "1.875 / max(1.875 / 100, 1.875 / B) = unknown");
  EXPECT_FALSE(of(2, 8, std::nullopt, std::nullopt).bound);
}

TEST(Bound, NetworkFasterThanTheGpusLinksIsSaidToBreakTheModel) {
  const Ideal i = of(2, 8, gb(400), gb(31.5));  // a 400 Gbit/s NIC beside each PCIe GPU
  EXPECT_TRUE(i.may_be_passed);
  ASSERT_EQ(i.notes.size(), 1u);
  EXPECT_NE(i.notes[0].find("I / P = 50 GB/s is more than B = 31.5 GB/s"), std::string::npos);
  EXPECT_FALSE(of(1, 8, gb(4000), gb(31.5)).may_be_passed);
}

TEST(Algorithms, FlatRing) {
  EXPECT_NEAR(busbw(of(2, 8, gb(100), gb(450)), "ring"), 100, 1e-9);
  EXPECT_NEAR(busbw(of(8, 1, gb(0.0625), {}), "ring"), 0.0625, 1e-12);
  EXPECT_NEAR(busbw(of(1, 8, {}, gb(450)), "ring"), 450, 1e-9);
  EXPECT_EQ(of(2, 8, gb(100), gb(450)).find(collective::AlgorithmId::ring)->arithmetic,
            "1.875 / max(1.875 / 100, 1.875 / 450) = 100 GB/s");
}

TEST(Algorithms, DoubleTreeOverNodesWithAChainInside) {
  for (const auto& [q, share] : {std::pair{2, 1.0}, {3, 1.5}, {4, 2.0}, {5, 2.0}, {64, 2.0}}) {
    EXPECT_NEAR(busbw(of(q, 1, gb(10), {}), "double-tree"), 2.0 * (q - 1) / q * 10 / share, 1e-9) << q;
  }
  EXPECT_NEAR(busbw(of(1, 8, {}, gb(450)), "double-tree"), 7.0 / 8 * 450, 1e-9);
  EXPECT_NEAR(busbw(of(1, 2, {}, gb(450)), "double-tree"), 450, 1e-9);  // 2 x (N-1)/N x B
}

TEST(Algorithms, HierarchicalIsExactlyTheBound) {
  for (const int q : {2, 3, 16}) {
    for (const int p : {1, 2, 8}) {
      const Ideal i = of(q, p, gb(100), gb(70));
      EXPECT_NEAR(busbw(i, "hierarchical") / (i.bound->value / 1e9), 1, 1e-12) << q << " " << p;
    }
  }
}

TEST(Algorithms, TwoShotIsForOneNode) {
  EXPECT_NEAR(busbw(of(1, 8, {}, gb(450)), "two-shot"), 450, 1e-9);
  const Ideal two = of(2, 8, gb(100), gb(450));
  EXPECT_NEAR(busbw(of(1, 8, {}, gb(450)), "one-shot"), 2 * 450 / 8.0, 1e-9);
  EXPECT_FALSE(two.find(collective::AlgorithmId::two_shot)->busbw);
  EXPECT_NE(two.find(collective::AlgorithmId::two_shot)->arithmetic.find("one node"), std::string::npos);
}

TEST(Algorithms, NaiveSharesTheMastersPort) {
  EXPECT_NEAR(busbw(of(8, 1, gb(8), {}), "naive"), 2.0, 1e-9);       // 2 I / N
  EXPECT_NEAR(busbw(of(2, 2, gb(8), gb(800)), "naive"), 6.0, 1e-9);  // 1.5 / (2 / 8)
}

TEST(Algorithms, RecursiveDoublingSendsAllInEachStep) {
  EXPECT_NEAR(busbw(of(8, 1, gb(3), {}), "recursive-doubling"), 1.75, 1e-9);  // 7/4 x 3 / log2 8
  // 6 ranks: 4 take part, two of them pass their partner's share on: 2 steps and one more.
  EXPECT_NEAR(busbw(of(6, 1, gb(3), {}), "recursive-doubling"), 2.0 * 5 / 6 * 3 / 3, 1e-9);
  // 2 nodes of 4: 4 ranks of a node cross at once in the last step; two steps inside, one of them beside it.
  EXPECT_NEAR(busbw(of(2, 4, gb(100), gb(1)), "recursive-doubling"), 7.0 / 4 / 2, 1e-9);
  EXPECT_NEAR(busbw(of(2, 4, gb(4), gb(1000)), "recursive-doubling"), 7.0 / 4 / (1 + 1.0 / 1000), 1e-9);
}

TEST(Algorithms, HalvingDoublingIsAsGoodAsARingForPowersOfTwo) {
  EXPECT_NEAR(busbw(of(8, 1, gb(5), {}), "halving-doubling"), 5, 1e-9);
  // 6 ranks: fold (1), then 2 x 3/4 among four.
  EXPECT_NEAR(busbw(of(6, 1, gb(5), {}), "halving-doubling"), 2.0 * 5 / 6 * 5 / 2.5, 1e-9);
}

// Rounds inside a node, then rounds between: 1 + 1/2 + 1/4 at B, (1/8 + ... + 1/64) x 8 at I. Of the last
// round inside half goes on beside the network's, on the way there and on the way back.
TEST(Algorithms, HalvingDoublingTakesTurnsInsideNodesAndBetween) {
  const Ideal i = of(16, 8, gb(400), gb(450));
  const double seconds = 1.75 / 450 + 1.875 / 400 - 2 * (1.0 / 16) / 450;
  EXPECT_NEAR(busbw(i, "halving-doubling"), 2 * 127.0 / 128 / seconds, 1e-6);
  EXPECT_EQ(i.find(collective::AlgorithmId::halving_doubling)->arithmetic,
            "1.98438 / (1.875 / 400 + 1.75 / 450 - min(1 / 400, 0.125 / 450)) = 239.121 GB/s");
  // A network so fast that it is done before the data is there: its first round goes on beside.
  EXPECT_NEAR(busbw(of(2, 8, gb(1e6), gb(1)), "halving-doubling"), 1.875 / 1.75, 1e-5);
}

TEST(Algorithms, RecursiveDoublingOverlapsOneRoundInsideWithOneBetween) {
  EXPECT_NEAR(busbw(of(2, 8, gb(400), gb(450)), "recursive-doubling"), 1.875 / (8.0 / 400 + 2.0 / 450), 1e-9);
}

TEST(Algorithms, NoneBeatsTheBoundWhereItHolds) {
  for (const int q : {1, 2, 3, 5, 8, 13}) {
    for (const int p : {1, 2, 3, 8}) {
      if (q * p == 1) continue;
      const Ideal i = of(q, p, gb(50), gb(60));
      for (const AlgorithmIdeal& a : i.algorithms) {
        if (!a.busbw || a.algorithm == collective::AlgorithmId::pairwise) continue;
        EXPECT_LE(a.busbw->value, i.bound->value * (1 + 1e-12))
            << key_of(a.algorithm) << " " << q << " " << p;
      }
    }
  }
}

TEST(Algorithms, ReductionInTheNetworkPassesTheBound) {
  const Ideal one = of(1, 8, {}, gb(450));
  ASSERT_EQ(one.in_network.size(), 1u);
  EXPECT_NEAR(one.in_network[0].busbw.value, 700e9, 1);
  const Ideal many = of(4, 8, gb(100), gb(450));
  ASSERT_EQ(many.in_network.size(), 3u);
  EXPECT_NEAR(many.in_network[0].busbw.value, 2.0 * 31 / 32 * 100e9, 1);
}

TEST(Attainable, EthernetShareOfPayload) {
  EXPECT_NEAR(ethernet_tcp(1500)->share, 1448.0 / 1514, 1e-15);
  EXPECT_NEAR(ethernet_tcp(1500)->share, 0.956, 5e-4);
  EXPECT_NEAR(ethernet_tcp(9000)->share, 0.993, 5e-4);
  EXPECT_FALSE(ethernet_tcp(0));
  EXPECT_FALSE(ethernet_tcp(70000));
}

TEST(Rates, WhatRdmaLeavesToPayload) {
  EXPECT_DOUBLE_EQ(roce_v2(1024)->share, 1024.0 / 1082);
  EXPECT_NEAR(roce_v2(4096)->share, 0.986, 5e-4);
  EXPECT_DOUBLE_EQ(roce_v2(1024, true)->share, 1024.0 / 1102);
  EXPECT_DOUBLE_EQ(infiniband(4096)->share, 4096.0 / 4122);
  EXPECT_DOUBLE_EQ(infiniband(2048, true)->share, 2048.0 / (2048 + 66));
  EXPECT_EQ(roce_v2(1024)->source, "RoCE v2, path MTU 1024: 1024 / (1024 + 58)");
  for (const int mtu : {0, 128, 1000, 8192, -1024}) EXPECT_FALSE(roce_v2(mtu)) << mtu;
  EXPECT_FALSE(infiniband(1500));
  EXPECT_EQ(path_mtu(1500), 1024);
  EXPECT_EQ(path_mtu(9000), 4096);
  EXPECT_EQ(path_mtu(4200), 4096);
  EXPECT_EQ(path_mtu(4096), 2048);
  EXPECT_EQ(path_mtu(300), std::nullopt);
}

TEST(Attainable, ScalesEachTermByItsOwnLink) {
  Inputs in;
  in.nodes = 8;
  in.inter = gb(0.0625);
  EXPECT_FALSE(compute(in)->find(collective::AlgorithmId::ring)->attainable);
  in.inter_efficiency = *ethernet_tcp();
  EXPECT_NEAR(compute(in)->find(collective::AlgorithmId::ring)->attainable->value, 62.5e6 * 1448 / 1514,
              1e-3);
}

TEST(Attainable, Links) {
  EXPECT_EQ(attainable(LinkFamily::nvlink, "v4")->share, 0.82);
  EXPECT_EQ(attainable(LinkFamily::pcie, "Gen5")->share, 0.87);
  EXPECT_FALSE(attainable(LinkFamily::infiniband, "HDR"));
}

TEST(Inputs, EveryInputKnowsItsOrigin) {
  Inputs in;
  in.nodes = 2;
  in.inter = Rate{BytesPerSecond(1e9), Origin::fleet_majority};
  const auto all = list(in);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(std::string_view(key_of(all[2].origin)), "fleet majority");
  EXPECT_EQ(all[3].name, "intra_Bps");
  EXPECT_FALSE(all[3].value);
  EXPECT_EQ(std::string_view(key_of(all[3].origin)), "unknown");
}

TEST(Inputs, ImpossibleOnesAreRefused) {
  Inputs in;
  in.nodes = 20;
  in.nvlink_domain = 18;
  EXPECT_EQ(compute(in).error().cause, Cause::bad_input);
  in.nvlink_domain = 1;
  in.nodes = 0;
  EXPECT_EQ(compute(in).error().cause, Cause::bad_input);
  in.nodes = 1 << 20;
  in.gpus_per_node = 8;
  EXPECT_FALSE(compute(in));
  in = {};
  in.inter = Rate{BytesPerSecond(0), Origin::declared};
  EXPECT_FALSE(compute(in));
  in.inter.reset();
  in.inter_efficiency = Efficiency{1.2, ""};
  EXPECT_FALSE(compute(in));
}

}  // namespace
}  // namespace ringtrue::ideal
