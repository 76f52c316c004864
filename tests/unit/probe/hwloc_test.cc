// What hwloc adds to what sysfs told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/probe.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* machine = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <info name="HostName" value="elsewhere"/>
    <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <info name="CPUModel" value="AMD EPYC 7763"/>
      <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="16735866880"/>
      <object type="L3Cache" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="4" cache_size="33554432" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="5">
          <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="6"/>
          <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="7"/>
        </object>
      </object>
      <object type="Bridge" gp_index="8" bridge_type="0-1" depth="0" bridge_pci="0000:[00-3b]">
        <object type="Bridge" gp_index="9" bridge_type="1-1" depth="1" bridge_pci="0000:[3b-3b]" pci_busid="0000:3a:00.0" pci_type="0604 [8086:347a] [0000:0000] 04" pci_link_speed="31.507692">
          <object type="PCIDev" gp_index="10" pci_busid="0000:3b:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="31.507692">
            <info name="PCIVendor" value="NVIDIA Corporation"/>
            <info name="PCIDevice" value="GA100 [A100 SXM4 80GB]"/>
          </object>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

Node probe_recorded(const Recording& recording, Node node = {}) {
  RecordedSource source(recording);
  probe_hwloc(source, node);
  return node;
}

Recording recorded() {
  Recording recording;
  recording.answers["hwloc"] = machine;
  return recording;
}

TEST(HwlocProbe, GivesProcessorsAndTheTreeWhereSysfsHasNone) {
  const Node node = probe_recorded(recorded());
  EXPECT_THAT(node.gaps, IsEmpty());
  EXPECT_EQ(node.processors.model.value_or(""), "AMD EPYC 7763");
  EXPECT_EQ(node.processors.packages.value_or(0), 1);
  EXPECT_EQ(node.processors.cores.value_or(0), 1);
  EXPECT_EQ(node.processors.threads.value_or(0), 2);
  ASSERT_EQ(node.processors.numa.size(), 1u);
  EXPECT_EQ(node.processors.numa[0].memory.value_or(Bytes(0)), Bytes(16735866880));
  ASSERT_EQ(node.pci.size(), 2u);
  EXPECT_EQ(node.pci[1].address, "0000:3b:00.0");
  EXPECT_EQ(node.pci[1].parent, "0000:3a:00.0");
}

TEST(HwlocProbe, AddsWhatSysfsDidNotTellAndNothingElse) {
  Node known;
  PciDevice gpu;
  gpu.address = "0000:3b:00.0";
  gpu.numa = {1, origin::sysfs};
  gpu.link.speed_GTps = {16, origin::sysfs};
  gpu.link.width = {8, origin::sysfs};
  known.pci.push_back(gpu);
  known.processors.threads = {64, origin::sysfs};
  const Node node = probe_recorded(recorded(), known);
  ASSERT_EQ(node.pci.size(), 1u);
  EXPECT_THAT(node.pci[0].name.value_or(""), HasSubstr("A100"));
  EXPECT_EQ(node.pci[0].name.origin, origin::hwloc);
  EXPECT_TRUE(node.pci[0].vendor.is(0x10de));
  EXPECT_FALSE(node.pci[0].link.rate.known());  // sysfs's speed and width say it
  EXPECT_EQ(*node.processors.threads, 64);
}

TEST(HwlocProbe, WithoutItThereIsAGapAndNothingLost) {
  Recording recording;
  recording.errors["hwloc"] = {Cause::deadline, "hwloc did not answer within 3 s", "", ""};
  Node known;
  known.pci.emplace_back();
  Node node = probe_recorded(recording, known);
  EXPECT_EQ(node.pci.size(), 1u);
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].why, "hwloc did not answer within 3 s");

  recording.errors.clear();
  recording.answers["hwloc"] = "<topology";
  node = probe_recorded(recording, known);
  EXPECT_EQ(node.pci.size(), 1u);
  EXPECT_EQ(node.gaps.size(), 1u);
}

}  // namespace
}  // namespace ringtrue::probe
