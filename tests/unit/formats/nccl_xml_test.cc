#include <gmock/gmock.h>

#include "formats/format.h"
#include "tests/support/format_fixture.h"
#include "topology/links.h"
#include "topology/path.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::refusal;
using ringtrue::test::value;
using testing::AllOf;
using testing::HasSubstr;

TEST(NcclXml, Dump) {
  const Node node = value(read_nccl_xml(fixture("nccl-h100.xml"), "h100"));
  EXPECT_EQ(node.name, "h100");
  ASSERT_EQ(node.processors.numa.size(), 2u);
  EXPECT_EQ(node.processors.numa[0].cpus, "0-15,48-63");

  const PciDevice& port = *node.find_pci("0000:08:00.0");
  EXPECT_EQ(port.kind, PciKind::switch_upstream);
  EXPECT_TRUE(port.link.speed_GTps.is(5));
  EXPECT_TRUE(port.link.width.is(16));
  EXPECT_FALSE(port.link.max_speed_GTps.known());
  EXPECT_TRUE(node.find_pci("0000:0c:00.0")->link.speed_GTps.is(32));  // a line's end behind it
  EXPECT_EQ(node.find_pci("0000:0c:00.0")->parent, "0000:08:00.0");
  const PciDevice& unknown = *node.find_pci("0000:a4:00.0");
  EXPECT_FALSE(unknown.link.speed_GTps.known());
  EXPECT_FALSE(unknown.link.width.known());
  EXPECT_TRUE(unknown.numa.is(1));

  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].name, "GPU0");
  EXPECT_EQ(node.gpus[0].address, "0000:a4:00.0");
  EXPECT_TRUE(node.gpus[0].gdr.is(false));
  EXPECT_TRUE(node.gpus[1].compute_capability.is(90));
  ASSERT_EQ(node.gpus[1].nvlinks->size(), 18u);
  const NvLink& link = node.gpus[1].nvlinks->at(9);
  EXPECT_EQ(link.remote_address, "0000:1c:00.0");
  EXPECT_TRUE(link.version.is(4));
  EXPECT_EQ(link.rate->value, 25e9);
  // Behind a virtual machine's switches nobody knows which: links, and no switch.
  EXPECT_EQ(node.gpus[0].nvlinks->size(), 18u);
  EXPECT_EQ(node.gpus[0].nvlinks->front().remote, Remote::nvswitch);
  EXPECT_EQ(node.gpus[0].nvlinks->front().remote_address, "");
  EXPECT_EQ(node.nvswitches.size(), 2u);

  // One card with two ports, and a socket's NIC that is listed twice.
  ASSERT_EQ(node.nics.size(), 2u);
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.find_nic("mlx5_1"), &node.nics[0]);
  ASSERT_EQ(node.nics[0].ports.size(), 2u);
  EXPECT_EQ(node.nics[0].ports[1].number, 2);
  EXPECT_EQ(node.nics[0].ports[1].rate->value, 25e9);
  EXPECT_TRUE(node.nics[0].gdr.is(true));
  EXPECT_EQ(node.nics[1].name, "eth0");
  EXPECT_TRUE(node.nics[1].virtual_device);
}

TEST(NcclXml, CloudsFile) {
  const Node node = value(read_nccl_xml(fixture("nccl-cloud.xml"), "cloud"));
  ASSERT_EQ(node.gpus.size(), 3u);
  EXPECT_EQ(node.gpus[0].address, "0001:00:00.0");
  EXPECT_EQ(node.gpus[2].address, "10004:00:00.0");
  EXPECT_EQ(node.gpus[0].nvlinks, std::nullopt);  // not told is not none
  ASSERT_EQ(node.nics.size(), 2u);
  EXPECT_EQ(node.nics[0].name, "NIC0");
  EXPECT_EQ(node.nics[1].address, "0103:00:00.0");
  EXPECT_TRUE(node.nics[1].ports.empty());
  EXPECT_EQ(node.find_pci("ffff:ff:01.0")->kind, PciKind::switch_upstream);
  EXPECT_FALSE(node.find_pci("0101:00:00.0")->link.width.known());
}

Node with_gpus(const std::string& gpus) {
  return value(read_nccl_xml("<system><cpu numaid='-1'>" + gpus + "</cpu></system>", "x"));
}

TEST(NcclXml, NvlinksThatNoRowSpeaksOfAreUnknown) {
  const auto gpu = [](int sm) {
    return with_gpus("<pci busid='1:0.0' class='0x030200'><gpu dev='0' sm='" + std::to_string(sm) +
                     "'/></pci>")
        .gpus.at(0);
  };
  for (const int sm : {70, 80, 90, 100}) EXPECT_EQ(gpu(sm).nvlinks, std::nullopt) << sm;
  for (const int sm : {61, 89, 120}) {  // which never have any
    ASSERT_TRUE(gpu(sm).nvlinks) << sm;
    EXPECT_TRUE(gpu(sm).nvlinks->empty()) << sm;
  }
}

TEST(NcclXml, NvlinksOfOneGpuThatOthersHaveAreNone) {
  const Node node = with_gpus(
      "<pci busid='1:0.0' class='0x030200'><gpu dev='0' sm='90'>"
      "<nvlink target='fffffff:ff:ff.0' count='18' tclass='0x068000'/></gpu></pci>"
      "<pci busid='2:0.0' class='0x030200'><gpu dev='1' sm='90'/></pci>"
      "<pci busid='3:0.0' class='0x030200'/>");
  EXPECT_EQ(node.gpus.at(0).nvlinks->size(), 18u);
  ASSERT_TRUE(node.gpus.at(1).nvlinks);
  EXPECT_TRUE(node.gpus[1].nvlinks->empty());
  EXPECT_EQ(node.gpus.at(2).nvlinks, std::nullopt);  // of which the file says nothing at all
}

TEST(NcclXml, XgmiLinksAreLinksOfGpus) {
  const auto node = [](const std::string& gcn) {
    return with_gpus("<pci busid='1:0.0' class='0x038000'><gpu dev='0' sm='94' gcn='" + gcn +
                     "'><xgmi target='0000:02:00.0' count='1' tclass='0x038000'/>"
                     "<xgmi target='0000:03:00.0' count='2' tclass='0x120000'/></gpu></pci>"
                     "<pci busid='2:0.0' class='0x038000'><gpu dev='1' sm='94' gcn='" +
                     gcn + "'/></pci>");
  };
  const Node mi300x = node("gfx942");
  ASSERT_EQ(mi300x.gpus.at(0).nvlinks->size(), 3u);
  for (const NvLink& link : *mi300x.gpus[0].nvlinks) {
    EXPECT_TRUE(link.up.is(true));
    EXPECT_FALSE(link.version.known());
    EXPECT_EQ(link.remote, Remote::gpu);
    EXPECT_EQ(link.rate->value, 64e9);
  }
  EXPECT_EQ(mi300x.gpus[0].nvlinks->at(1).remote_address, "0000:03:00.0");
  EXPECT_EQ(node("910").gpus[0].nvlinks->front().rate->value, 50e9);
  EXPECT_EQ(node("gfx90a:sramecc+:xnack-").gpus[0].nvlinks->front().rate->value, 50e9);
  EXPECT_EQ(node("gfx950").gpus[0].nvlinks->front().rate->value, 76.8e9);
  EXPECT_FALSE(node("gfx1100").gpus[0].nvlinks->front().rate.known());
}

TEST(NcclXml, OneCpuOfNoNumaNodeIsOne) {
  const auto read = [](const std::string& cpus) {
    return value(read_nccl_xml("<system>" + cpus + "</system>", "x"));
  };
  const std::string gpu = "<pci busid='1:0.0' class='0x030200'/>",
                    nic = "<pci busid='2:0.0' class='0x020000'/>";
  const Node one = read("<cpu numaid='-1'>" + gpu + nic + "</cpu>");
  ASSERT_EQ(one.processors.numa.size(), 1u);
  EXPECT_TRUE(one.pci.at(0).numa.is(0));
  EXPECT_EQ(value(path(one, "GPU0", "NIC0")).kind, PathKind::phb);
  const Node two = read("<cpu numaid='-1'>" + gpu + "</cpu><cpu numaid='-1'>" + nic + "</cpu>");
  EXPECT_TRUE(two.processors.numa.empty());
  EXPECT_FALSE(two.pci.at(0).numa.known());
  EXPECT_EQ(value(path(two, "GPU0", "NIC0")).kind, PathKind::unknown);
}

TEST(NcclXml, GpuOfGrace) {
  const Node node =
      value(read_nccl_xml("<system><cpu numaid='0'><pci busid='1:0.0' class='0x030200'>"
                          "<gpu dev='0' sm='103'>"
                          "<nvlink target='fffffff:ff:ff.0' count='18' tclass='0x068000'/>"
                          "<c2c bw='44712' count='5'/></gpu></pci></cpu></system>",
                          "x"));
  EXPECT_TRUE(node.gpus.at(0).c2c.is(true));
  EXPECT_EQ(node.gpus[0].nvlinks->size(), 18u);
  EXPECT_TRUE(node.nvswitches.empty());
}

TEST(NcclXml, SocketsAndFabricAdapters) {
  const auto nic = [](const std::string& net) {
    return value(read_nccl_xml("<system><cpu numaid='0'><pci busid='1:0.0' class='0x028000'><nic>" + net +
                                   "</nic></pci></cpu></system>",
                               "x"))
        .nics.at(0);
  };
  // A wireless card: its speed is NCCL's invention, and GPUDirect is nothing that a socket has.
  const Nic wireless = nic("<net name='wlan0' dev='1' speed='10000' port='0' guid='0x1' gdr='0'/>");
  EXPECT_EQ(wireless.rdma, "");
  EXPECT_FALSE(wireless.ports.at(0).rate.known());
  EXPECT_FALSE(wireless.gdr.known());
  EXPECT_EQ(
      nic("<net name='eth0' dev='0' speed='25000' port='0' guid='0x0' gdr='0'/>").ports.at(0).rate->value,
      3.125e9);
  // Plugins count their devices from 0 and call that a GUID.
  const Nic efa = nic("<net name='rdmap79s0' dev='0' speed='100000' port='1' guid='0' gdr='1'/>");
  EXPECT_EQ(efa.rdma, "rdmap79s0");
  EXPECT_TRUE(efa.gdr.is(true));
}

TEST(NcclXml, Refuses) {
  const auto why = [](std::string_view text) { return refusal(read_nccl_xml(text, "x")); };
  EXPECT_THAT(why("<graphs/>"), HasSubstr("not a topology of NCCL: the root element is <graphs>"));
  EXPECT_THAT(why("<system/>"), HasSubstr("no cpu and no device"));
  EXPECT_THAT(why("<system><cpu numaid='0'><pci busid='zz'/></cpu></system>"),
              HasSubstr("not a PCI address"));
  EXPECT_THAT(why("<system><cpu numaid='0'><pci busid='1:0.0'><pci busid='1:0.0'/></pci></cpu></system>"),
              AllOf(HasSubstr("two devices at 0000:01:00.0"), HasSubstr("leave one of the two")));
  EXPECT_THAT(why("<system><cpu host_hash='1'/><cpu host_hash='2'/></system>"),
              AllOf(HasSubstr("2 hosts"), HasSubstr("give a file a host")));
  EXPECT_THAT(why("<system><cpu><pci busid='1:0.0' class='0x030200'><gpu><nvlink "
                  "count='999999999'/></gpu></pci></cpu>"
                  "</system>"),
              HasSubstr("more than 64 NVLinks"));
}

}  // namespace
}  // namespace ringtrue::formats
