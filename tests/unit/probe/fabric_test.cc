// The fabric's answer, and whether anybody misses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/probe.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using ::testing::IsEmpty;

Node node_with(LinkLayer layer) {
  Node node;
  node.nics.emplace_back();
  node.nics[0].ports.emplace_back();
  node.nics[0].ports[0].layer = layer;
  return node;
}

std::optional<Fabric> probe(const Recording& recording, Node& node) {
  RecordedSource source(recording);
  return probe_fabric(source, node);
}

TEST(FabricProbe, ReadsWhatTheLibrarySaid) {
  Recording recording;
  recording.answers["fabric"] =
      "#\n# Initiated from mlx5_0 port 1\n#\n"
      "\nvendid=0x2c9\ndevid=0xcf08\nswitchguid=0x248a070300f88ae0(248a070300f88ae0)\n"
      "Switch\t36 \"S-248a070300f88ae0\"\t\t# \"leaf1\" enhanced port 0 lid 5 lmc 0\n"
      "[1]\t\"H-248a070300aaaa10\"[1](248a070300aaaa10) \t\t# \"node1 mlx5_0\" lid 7 4xEDR\n"
      "[36]\t\"S-248a070300f88af0\"[36]\t\t# \"leaf2\" lid 6 4xEDR\n"
      "\nvendid=0x2c9\ndevid=0xcf08\nswitchguid=0x248a070300f88af0(248a070300f88af0)\n"
      "Switch\t36 \"S-248a070300f88af0\"\t\t# \"leaf2\" enhanced port 0 lid 6 lmc 0\n"
      "[36]\t\"S-248a070300f88ae0\"[36]\t\t# \"leaf1\" lid 5 4xEDR\n"
      "\nvendid=0x2c9\ndevid=0x1017\ncaguid=0x248a070300aaaa10\n"
      "Ca\t1 \"H-248a070300aaaa10\"\t\t# \"node1 mlx5_0\"\n"
      "[1](248a070300aaaa10) \t\"S-248a070300f88ae0\"[1]\t\t# lid 7 lmc 0 \"leaf1\" lid 5 4xEDR\n";
  Node node = node_with(LinkLayer::infiniband);
  const auto fabric = probe(recording, node);
  EXPECT_THAT(node.gaps, IsEmpty());
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->switches.size(), 2u);
  EXPECT_EQ(fabric->hosts.size(), 1u);
  EXPECT_EQ(fabric->links.size(), 2u);
}

TEST(FabricProbe, NamesAReasonWhereThereIsInfiniband) {
  Recording recording;
  recording.errors["fabric"] = {Cause::refused, "no permission for /dev/infiniband/umad0", "", "run as root"};
  Node node = node_with(LinkLayer::infiniband);
  EXPECT_FALSE(probe(recording, node));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0], (Gap{"fabric", "fabric", "no permission for /dev/infiniband/umad0; run as root"}));

  Node ethernet = node_with(LinkLayer::ethernet);
  EXPECT_FALSE(probe(recording, ethernet));
  EXPECT_THAT(ethernet.gaps, IsEmpty());
}

TEST(FabricProbe, WhatWasNotAskedForIsNotMissing) {
  Recording recording;
  recording.errors["fabric"] = {Cause::bad_input, "the fabric was not asked for", "", ""};
  Node node = node_with(LinkLayer::infiniband);
  EXPECT_FALSE(probe(recording, node));
  EXPECT_THAT(node.gaps, IsEmpty());
}

TEST(FabricProbe, ADamagedAnswerIsAGap) {
  Recording recording;
  recording.answers["fabric"] = "Switch\t36 \"S-zzzz";
  Node node = node_with(LinkLayer::infiniband);
  EXPECT_FALSE(probe(recording, node));
  EXPECT_EQ(node.gaps.size(), 1u);
}

}  // namespace
}  // namespace ringtrue::probe
