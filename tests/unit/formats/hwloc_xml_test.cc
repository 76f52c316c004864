#include <gmock/gmock.h>

#include "formats/format.h"
#include "tests/support/format_fixture.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::refusal;
using ringtrue::test::value;
using testing::ElementsAre;
using testing::HasSubstr;

Node read(const std::string& name) {
  return value(read_hwloc_xml(fixture(name), "file"));
}

TEST(HwlocXml, Version1) {
  const Node node = read("hwloc-v1.xml");
  EXPECT_EQ(node.name, "old1");
  EXPECT_EQ(*node.system.board, "Acme Blade 7");
  EXPECT_EQ(*node.system.kernel, "3.10.0-1160");
  EXPECT_EQ(*node.processors.packages, 2);
  EXPECT_EQ(*node.processors.cores, 4);
  EXPECT_EQ(*node.processors.threads, 4);
  EXPECT_EQ(*node.processors.model, "Acme CPU 2.0");
  ASSERT_EQ(node.processors.numa.size(), 2u);
  EXPECT_EQ(node.processors.numa[1].package, 1);
  EXPECT_EQ(node.processors.numa[1].cpus, "2-3");
  EXPECT_EQ(node.processors.numa[1].memory->value, 8589934592u);
  EXPECT_THAT(node.processors.caches, ElementsAre(Cache{"L3", 2, Bytes(8388608)}));

  // An InfiniBand adapter of old; the BMC's VGA is no GPU, and what is above it is no PCIe switch.
  EXPECT_TRUE(node.gpus.empty());
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_EQ(node.nics[0].name, "mthca0");
  EXPECT_THAT(node.nics[0].netdevs, ElementsAre("ib0"));
  EXPECT_EQ(*node.nics[0].guid, "0002c90200273314");
  ASSERT_EQ(node.nics[0].ports.size(), 1u);
  const Port& port = node.nics[0].ports[0];
  EXPECT_EQ(port.layer, LinkLayer::infiniband);
  EXPECT_EQ(*port.state, "active");
  EXPECT_EQ(*port.lid, 26);
  EXPECT_EQ(*port.guid, "0002c90200273315");
  EXPECT_EQ(node.find_pci("0000:05:00.0")->kind, PciKind::bridge);
  EXPECT_EQ(node.find_pci("0000:00:01.0")->kind, PciKind::root_port);
  EXPECT_EQ(node.find_pci("0000:02:00.0")->link.rate->value, 2e9);
  EXPECT_FALSE(node.find_pci("0000:06:00.0")->link.rate.known());
}

TEST(HwlocXml, Version2) {
  const Node node = read("hwloc-v2.xml");
  EXPECT_EQ(node.name, "file");
  EXPECT_EQ(*node.system.board, "Acme GPU box");
  const PciDevice& gpu = *node.find_pci("0000:40:00.0");
  EXPECT_EQ(gpu.parent, "0000:3c:04.0");
  EXPECT_EQ(gpu.root, "0000:3a");
  EXPECT_TRUE(gpu.numa.is(0));
  EXPECT_EQ(*gpu.device_class, 0x030200u);
  EXPECT_EQ(node.find_pci("0000:3a:00.0")->kind, PciKind::root_port);
  EXPECT_EQ(node.find_pci("0000:3b:00.0")->kind, PciKind::switch_upstream);
  EXPECT_EQ(node.find_pci("0000:3c:04.0")->kind, PciKind::switch_downstream);

  // Names are NVML's numbers; one link less for GPU0 than for GPU1; a switch that hwloc could not read.
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].name, "GPU0");
  EXPECT_EQ(node.gpus[0].address, "0000:41:00.0");
  EXPECT_EQ(node.gpus[0].nvlinks->size(), 2u);
  ASSERT_EQ(node.gpus[1].nvlinks->size(), 3u);
  const NvLink& link = node.gpus[1].nvlinks->back();
  EXPECT_TRUE(link.version.is(2));
  EXPECT_EQ(link.rate->value, 25e9);
  EXPECT_EQ(link.remote, Remote::nvswitch);
  EXPECT_EQ(link.remote_address, "0000:45:00.0");
  EXPECT_EQ(node.nvswitches.size(), 2u);

  // Two physical functions, three virtual ones.
  ASSERT_EQ(node.nics.size(), 5u);
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.nics[0].ports[0].layer, LinkLayer::ethernet);
  EXPECT_EQ(node.nics[1].name, "NIC0");
  EXPECT_FALSE(node.nics[1].virtual_device);
  for (int i = 2; i < 5; ++i) EXPECT_TRUE(node.nics[i].virtual_device);
  EXPECT_EQ(node.find_pci("0000:81:00.3")->physical_function, "0000:81:00.0");
}

// Version 3 counts types in bits, puts what it knows of the machine at the end, and older GPUs have links of
// 20 GB/s, some to the processor.
TEST(HwlocXml, Version3) {
  const Node node = value(read_hwloc_xml(R"(<topology version="3.0">
    <object type="Machine" cpuset="0x3" nodeset="0x1" gp_index="1">
      <object type="Package" os_index="8" cpuset="0x3" nodeset="0x1" gp_index="2">
        <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" gp_index="3"/>
        <object type="PCIDev" gp_index="5" pci_busid="0002:01:00.0" pci_type="0302 [10de:15f9] [10de:116b] a1 00">
          <object type="OSDev" gp_index="6" name="nvml0" subtype="NVML" osdev_type="4"/>
          <object type="OSDev" gp_index="9" name="cuda0" osdev_type="8">
            <info name="CUDAGlobalMemorySize" value="16671616KiB"/>
          </object>
        </object>
        <object type="PCIDev" gp_index="7" pci_busid="0003:01:00.0" pci_type="0302 [10de:15f9] [10de:116b] a1 00">
          <object type="OSDev" gp_index="8" name="nvml1" subtype="NVML" osdev_type="4"/>
        </object>
        <object type="PCIDev" gp_index="11" pci_busid="0004:01:00.0" pci_type="0200 [1137:0043] [1137:0085] a2 00">
          <object type="OSDev" gp_index="12" name="eth4" osdev_type="16"/>
          <object type="OSDev" gp_index="13" name="usnic_0" osdev_type="32"/>
        </object>
        <object type="PCIDev" gp_index="14" pci_busid="0004:01:00.1" pci_type="0200 [1137:00cf] [1137:0000] a2 00"/>
      </object>
    </object>
    <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">
      <indexes>OSDev:6 OSDev:8 Package:2 </indexes>
      <u64values>1000000 40000 40000 40000 1000000 20000 40000 20000 1000000 </u64values>
    </distances2hetero>
    <info name="HostName" value="power8"/>
  </topology>)",
                                         "file"));
  EXPECT_EQ(node.name, "power8");
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].memory->value, 16671616ull * 1024);
  ASSERT_EQ(node.gpus[0].nvlinks->size(), 4u);
  EXPECT_EQ(node.gpus[1].nvlinks->size(), 3u);
  EXPECT_TRUE(node.gpus[0].nvlinks->front().version.is(1));
  EXPECT_EQ(node.gpus[0].nvlinks->front().rate->value, 20e9);
  EXPECT_EQ(node.gpus[0].nvlinks->front().remote_address, "0003:01:00.0");
  EXPECT_EQ(node.gpus[0].nvlinks->back().remote, Remote::cpu);
  EXPECT_EQ(node.processors.numa.at(0).package, 8);
  ASSERT_EQ(node.nics.size(), 2u);
  EXPECT_EQ(node.nics[0].name, "usnic_0");
  EXPECT_THAT(node.nics[0].netdevs, ElementsAre("eth4"));
  EXPECT_TRUE(node.nics[1].virtual_device);
}

// A virtual machine that was given a virtual function has no other hardware.
TEST(HwlocXml, VirtualFunctionByItself) {
  const Node node = value(read_hwloc_xml(R"(<topology version="2.0"><object type="Machine">
    <object type="PCIDev" pci_busid="0101:00:02.0" pci_type="0207 [15b3:101e] [0000:0000] 00" pci_link_speed="0.0">
      <info name="PCIDevice" value="ConnectX Family mlx5Gen Virtual Function"/>
    </object></object></topology>)",
                                         "vm"));
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_FALSE(node.nics[0].virtual_device);
  EXPECT_FALSE(node.gpus.size());
}

// From version 3 of NVLink on, hwloc's figure a link has been both ways' in some releases.
TEST(HwlocXml, BothWaysFigures) {
  const auto with = [](int MBps) {
    return value(read_hwloc_xml(
        "<topology version='2.0'><object type='Machine'>"
        "<object type='PCIDev' gp_index='1' pci_busid='0:1:0.0' pci_type='0302 [10de:20b0] [10de:1] a1'/>"
        "<object type='PCIDev' gp_index='2' pci_busid='0:2:0.0' pci_type='0680 [10de:1af1] [10de:1] "
        "a1'/></object>"
        "<distances2hetero nbobjs='2' name='NVLinkBandwidth'><indexes>PCIDev:1 "
        "PCIDev:2</indexes><u64values>0 " +
            std::to_string(MBps) + " " + std::to_string(MBps) +
            " 0</u64values></distances2hetero></topology>",
        "a100"));
  };
  EXPECT_EQ(with(12 * 25000).gpus.at(0).nvlinks->size(), 12u);
  EXPECT_EQ(with(12 * 50000).gpus.at(0).nvlinks->size(), 12u);
  EXPECT_EQ(with(11 * 50000).gpus.at(0).nvlinks->size(), 11u);
}

TEST(HwlocXml, Refuses) {
  const auto why = [](std::string_view text) { return refusal(read_hwloc_xml(text, "x")); };
  EXPECT_THAT(why("<system/>"), HasSubstr("not an hwloc XML: the root element is <system>"));
  EXPECT_THAT(why("<topology/>"), HasSubstr("no object"));
  const std::string head = "<topology version='2.0'><object type='Machine'>", tail = "</object></topology>";
  EXPECT_THAT(why(head + "<object type='PCIDev' pci_busid='../..'/>" + tail), HasSubstr("not a PCI address"));
  const std::string one = "<object type='PCIDev' pci_busid='0000:01:00.0'/>";
  EXPECT_THAT(why(head + one + one + tail), HasSubstr("two devices at 0000:01:00.0"));
  const std::string matrix = "</object><distances2 name='NVLinkBandwidth' ";
  EXPECT_THAT(why(head + matrix + "nbobjs='99999999'/></topology>"), HasSubstr("too many objects"));
  EXPECT_THAT(why(head + matrix + "nbobjs='2'/></topology>"), HasSubstr("without all of its values"));
}

}  // namespace
}  // namespace ringtrue::formats
