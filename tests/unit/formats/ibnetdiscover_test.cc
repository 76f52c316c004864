#include <gmock/gmock.h>

#include "formats/format.h"
#include "tests/support/format_fixture.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::refusal;
using ringtrue::test::value;
using testing::HasSubstr;

const FabricLink* find(const Fabric& fabric, const std::string& guid, int port) {
  for (const FabricLink& link : fabric.links)
    if ((link.a.guid == guid && link.a.port == port) || (link.b.guid == guid && link.b.port == port))
      return &link;
  return nullptr;
}

constexpr const char* leaf = "b83fd20300a1b2c0";
constexpr const char* spine = "b83fd20300d4e5f0";

TEST(Ibnetdiscover, Nodes) {
  const Fabric fabric = value(read_ibnetdiscover(fixture("fabric.ibnetdiscover")));
  ASSERT_EQ(fabric.switches.size(), 2u);
  EXPECT_EQ(fabric.switches[0].guid, leaf);
  EXPECT_EQ(fabric.switches[0].name, "MF0;leaf1:MQM8700/U1");
  EXPECT_EQ(fabric.switches[0].ports, 41);
  EXPECT_TRUE(fabric.switches[1].lid.is(4));
  ASSERT_EQ(fabric.hosts.size(), 3u);
  EXPECT_EQ(fabric.hosts[0].guid, "0c42a103004e6fd6");
  EXPECT_EQ(fabric.hosts[0].port_guid, "0c42a103004e6fd6");  // written without its zero
  EXPECT_EQ(fabric.hosts[0].name, "node1 mlx5_0");
  EXPECT_FALSE(fabric.hosts[0].aggregation);
  EXPECT_TRUE(fabric.hosts[2].aggregation);
}

TEST(Ibnetdiscover, EachCableOnce) {
  const Fabric fabric = value(read_ibnetdiscover(fixture("fabric.ibnetdiscover")));
  EXPECT_EQ(fabric.links.size(), 7u);
  Cluster cluster;
  cluster.fabric = fabric;
  EXPECT_EQ(counts(cluster).fabric_switches, 2);
  const FabricLink* host = find(fabric, "0c42a103004e6fda", 1);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->a, (FabricPort{leaf, 2}));
  EXPECT_EQ(host->rate->value, 12.5e9);  // split: two lanes of HDR
  const FabricLink* trunk = find(fabric, spine, 2);
  ASSERT_TRUE(trunk);
  EXPECT_EQ(*trunk->speed, "EDR");
  EXPECT_EQ(trunk->rate->value, 12.5e9);
  EXPECT_FALSE(find(fabric, spine, 3)->speed.known());
  EXPECT_FALSE(find(fabric, spine, 3)->rate.known());
  EXPECT_EQ(find(fabric, leaf, 30), find(fabric, leaf, 31));  // a cable from a switch to itself
}

TEST(Ibnetdiscover, Ports) {
  const Fabric fabric = value(read_ibnetdiscover(fixture("fabric-ports.ibnetdiscover")));
  EXPECT_EQ(fabric.switches.size(), 2u);
  ASSERT_EQ(fabric.hosts.size(), 1u);
  EXPECT_EQ(fabric.hosts[0].name, "node1 mlx5_0");
  EXPECT_EQ(fabric.links.size(), 2u);
  EXPECT_EQ(find(fabric, spine, 1)->rate->value, 25e9);
  EXPECT_EQ(find(fabric, leaf, 2), nullptr);  // nothing is plugged in
}

TEST(Ibnetdiscover, AShellsPromptAndAByteOrderMarkAreNoPartOfIt) {
  const std::string plain =
      "Switch\t36 \"S-1\"\t# \"leaf\" lid 3\n[1]\t\"H-2\"[1](3)\t# \"node0 mlx5_0\" lid 5 4xEDR\n";
  const Fabric wanted = value(read_ibnetdiscover(plain));
  ASSERT_EQ(wanted.links.size(), 1u);
  for (const char* before : {"[root@head ~]# ibnetdiscover\n", "head:~$ sudo ibnetdiscover\n",
                             "ibnetdiscover\n", "root@head:/tmp# /usr/sbin/ibnetdiscover -s\n",
                             "\xef\xbb\xbf", "\xef\xbb\xbf[root@head ~]# ibnetdiscover\n"})
    EXPECT_EQ(value(read_ibnetdiscover(before + plain)), wanted) << before;
  EXPECT_EQ(value(read_ibnetdiscover(plain + "[root@head ~]# \n")), wanted);
  EXPECT_THAT(refusal(read_ibnetdiscover("what is this\n" + plain)), HasSubstr("line 1"));
}

TEST(Ibnetdiscover, Refuses) {
  const auto why = [](std::string_view text) { return refusal(read_ibnetdiscover(text)); };
  EXPECT_THAT(why(""), HasSubstr("not the output of ibnetdiscover: no switch"));
  EXPECT_THAT(why("hello world\n"), HasSubstr("line 1: \"hello world\""));
  EXPECT_THAT(why("[1] \"S-1\"[1] # \"x\" lid 1 4xEDR"), HasSubstr("a port of no node"));
  const std::string head = "Switch\t36 \"S-0002c90000000001\"\t# \"s\" base port 0 lid 1 lmc 0\n";
  EXPECT_THAT(why(head + "[1]\t\"H-0002c90000"), HasSubstr("line 2: a cable to no node"));
  EXPECT_THAT(why(head + "[99999]\t\"H-2\"[1]"), HasSubstr("without a number"));
  EXPECT_THAT(why(head + "[1]\t\"H-0002c90000000001\"[1](1) # \"x\" lid 1 4xEDR"),
              HasSubstr("a switch and an adapter"));
  EXPECT_THAT(why("Switch 4294967296 \"S-1\" # \"\""), HasSubstr("a node without ports"));
  EXPECT_THAT(why(head + std::string(1, '\0')), HasSubstr("NUL"));
  std::string many = head;
  for (int i = 2; i < 70000; ++i) many += "Ca 1 \"H-" + std::to_string(i) + "\" # \"\"\n";
  EXPECT_THAT(why(many), HasSubstr("more than 65536 nodes"));
}

}  // namespace
}  // namespace ringtrue::formats
