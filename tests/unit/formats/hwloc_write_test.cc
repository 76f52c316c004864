#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "formats/format.h"
#include "formats/text.h"
#include "tests/support/format_fixture.h"
#include "tests/support/machines.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::value;

std::vector<Node> nodes() {
  return {test::hgx_h100("node1"),
          test::pcie_box("node2"),
          test::four_rails("node3"),
          value(read_hwloc_xml(fixture("hwloc-v1.xml"), "v1")),
          value(read_hwloc_xml(fixture("hwloc-v2.xml"), "v2")),
          value(read_nccl_xml(fixture("nccl-h100.xml"), "nccl")),
          value(read_nccl_xml(fixture("nccl-cloud.xml"), "cloud"))};
}

TEST(HwlocWrite, ComesBack) {
  for (const Node& node : nodes()) {
    const Node again = value(read_hwloc_xml(write_hwloc_xml(node), "again"));
    EXPECT_EQ(again.name, node.name);
    ASSERT_EQ(again.pci.size(), node.pci.size()) << node.name;
    for (const PciDevice& device : node.pci) {
      const PciDevice* other = again.find_pci(device.address);
      ASSERT_TRUE(other) << device.address;
      EXPECT_EQ(other->parent, device.parent) << device.address;
      EXPECT_EQ(other->device_class.value_or(0), device.device_class.value_or(0)) << device.address;
      EXPECT_NEAR(pci_rate(other->link).value_or(BytesPerSecond(0)).value,
                  pci_rate(device.link).value_or(BytesPerSecond(0)).value, 1e3)
          << device.address;
    }
    ASSERT_EQ(again.gpus.size(), node.gpus.size());
    for (const Gpu& gpu : node.gpus) {
      ASSERT_TRUE(again.find_gpu(gpu.name)) << gpu.name;
      EXPECT_EQ(again.find_gpu(gpu.name)->address, gpu.address);
      EXPECT_EQ(again.find_gpu(gpu.name)->model.value_or(""), gpu.model.value_or(""));
    }
    EXPECT_EQ(again.nics.size(), node.nics.size());
    ASSERT_EQ(again.processors.numa.size(), std::max<std::size_t>(node.processors.numa.size(), 1));
    for (std::size_t i = 0; i < node.processors.numa.size(); ++i) {
      EXPECT_EQ(again.processors.numa[i].cpus, number_list(node.processors.numa[i].cpus)->text());
      EXPECT_EQ(again.processors.numa[i].memory.value, node.processors.numa[i].memory.value);
    }
  }
}

TEST(HwlocWrite, NvlinksComeBack) {
  const Node node = test::hgx_h100("node1");
  const Counts before = counts(node), after = counts(value(read_hwloc_xml(write_hwloc_xml(node), "again")));
  EXPECT_EQ(after.nvlinks, before.nvlinks);
  EXPECT_EQ(after.nvswitches, before.nvswitches);
  EXPECT_EQ(after.pcie_switches, before.pcie_switches);
}

TEST(HwlocWrite, ANodeOfWhichNothingIsKnown) {
  Node node;
  node.name = "empty \x1b[31m<\"&";
  const Node again = value(read_hwloc_xml(write_hwloc_xml(node), "again"));
  EXPECT_EQ(again.name, "empty  [31m<\"&");
  EXPECT_TRUE(again.pci.empty());
}

TEST(HwlocWrite, LstopoReadsIt) {
  if (std::system("command -v lstopo-no-graphics >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no lstopo-no-graphics";
  const std::filesystem::path folder = testing::TempDir();
  for (const Node& node : nodes()) {
    if (node.name == "cloud") continue;  // hwloc cannot read its domain of five digits
    const auto path = folder / (node.name + ".hwloc-write.xml");
    std::ofstream(path) << write_hwloc_xml(node);
    // What hwloc does not like it says on stderr.
    const std::string command =
        "! lstopo-no-graphics -i " + path.string() + " --if xml --of console 2>&1 >/dev/null | grep .";
    EXPECT_EQ(std::system(command.c_str()), 0) << node.name;
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace ringtrue::formats
