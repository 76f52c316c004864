#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/live.h"
#include "probe/probe.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using test::PciFunction;
using test::SysfsTree;
using testing::HasSubstr;

const PciFunction gpu{.device_class = 0x030200, .vendor = 0x10de, .device = 0x20b2};
const PciFunction nic{.device_class = 0x020700, .vendor = 0x15b3, .device = 0x1021, .driver = "mlx5_core"};

Node probed(const SysfsTree& tree) {
  Files files(tree.root());
  Node node;
  probe_pci(files, node);
  return node;
}

// A switch below a root port, with a GPU and an NIC.
void add_switch(SysfsTree& tree) {
  tree.pci("0000:3a:00.0");
  tree.pci("0000:3a:00.0/0000:3b:00.0");
  tree.pci("0000:3a:00.0/0000:3b:00.0/0000:3c:00.0");
  tree.pci("0000:3a:00.0/0000:3b:00.0/0000:3c:01.0");
  tree.pci("0000:3a:00.0/0000:3b:00.0/0000:3c:00.0/0000:3d:00.0", gpu);
  tree.pci("0000:3a:00.0/0000:3b:00.0/0000:3c:01.0/0000:3e:00.0", nic);
}

TEST(ProbePci, BuildsTheTree) {
  SysfsTree tree;
  add_switch(tree);
  const Node node = probed(tree);
  ASSERT_EQ(node.pci.size(), 6u);
  EXPECT_TRUE(node.gaps.empty());
  EXPECT_EQ(node.pci[0].address, "0000:3a:00.0");
  EXPECT_EQ(node.find_pci("0000:3a:00.0")->kind, PciKind::root_port);
  EXPECT_EQ(node.find_pci("0000:3b:00.0")->kind, PciKind::switch_upstream);
  EXPECT_EQ(node.find_pci("0000:3c:01.0")->kind, PciKind::switch_downstream);
  const PciDevice& device = *node.find_pci("0000:3e:00.0");
  EXPECT_EQ(device.kind, PciKind::endpoint);
  EXPECT_EQ(device.parent, "0000:3c:01.0");
  EXPECT_EQ(device.root, "0000:3a");
  EXPECT_EQ(device.driver, Fact<std::string>("mlx5_core", origin::sysfs));
  EXPECT_EQ(device.numa, Fact<int>(0, origin::sysfs));
  EXPECT_EQ(device.link.speed_GTps, Fact<double>(16, origin::sysfs));
  EXPECT_EQ(device.link.width, Fact<int>(16, origin::sysfs));
}

TEST(ProbePci, TakesUnknownForUnknown) {
  SysfsTree tree;
  PciFunction f = nic;
  f.speed = "Unknown", f.max_speed = "Unknown speed", f.width = "0", f.max_width = "255", f.numa = -1;
  tree.pci("0000:00:05.0", f);
  const PciDevice device = probed(tree).pci.at(0);
  EXPECT_EQ(device.link, PciLink());
  EXPECT_FALSE(device.numa.known());
  EXPECT_EQ(device.parent, "");
}

TEST(ProbePci, ReadsOldAndIdleSpeeds) {
  SysfsTree tree;
  PciFunction f = gpu;
  f.speed = "2.5 GT/s", f.max_speed = "8 GT/s";
  tree.pci("0000:00:05.0", f);
  const PciDevice device = probed(tree).pci.at(0);
  EXPECT_TRUE(device.link.speed_GTps.is(2.5));
  EXPECT_TRUE(device.link.max_speed_GTps.is(8));
}

TEST(ProbePci, CallsABridgeWithDevicesBelowARootPortABridge) {
  SysfsTree tree;
  tree.pci("0000:00:1c.0");
  tree.pci("0000:00:1c.0/0000:02:00.0", {.vendor = 0x1a03, .device = 0x1150});
  tree.pci("0000:00:1c.0/0000:02:00.0/0000:03:00.0", {.device_class = 0x030000, .vendor = 0x1a03});
  const Node node = probed(tree);
  EXPECT_EQ(node.find_pci("0000:02:00.0")->kind, PciKind::bridge);
  EXPECT_FALSE(is_gpu(*node.find_pci("0000:03:00.0")));
}

TEST(ProbePci, KeepsVirtualFunctionsWithTheirPhysicalOne) {
  SysfsTree tree;
  tree.pci("0000:3a:00.0");
  tree.pci("0000:3a:00.0/0000:3b:00.0", nic);
  PciFunction f = nic;
  f.physical = "0000:3b:00.0";
  tree.pci("0000:3a:00.0/0000:3b:00.1", f);
  const Node node = probed(tree);
  EXPECT_FALSE(node.find_pci("0000:3b:00.0")->virtual_function);
  EXPECT_TRUE(node.find_pci("0000:3b:00.1")->virtual_function);
  EXPECT_EQ(node.find_pci("0000:3b:00.1")->physical_function, "0000:3b:00.0");
}

TEST(ProbePci, LeavesOutTheChipset) {
  SysfsTree tree;
  tree.pci("0000:00:00.0", {.device_class = 0x060000, .max_speed = "Unknown"});
  tree.pci("0000:00:1f.0", {.device_class = 0x060100, .speed = ""});
  EXPECT_TRUE(probed(tree).pci.empty());
}

TEST(ProbePci, TakesVmdsOwnDomainAsARoot) {
  SysfsTree tree;
  const std::string path = "/sys/devices/pci0000:5d/0000:5d:05.5/pci10000:00/10000:00:02.0";
  tree.file(path + "/class", "0x060400\n");
  tree.link("/sys/bus/pci/devices/10000:00:02.0", path);
  const PciDevice device = probed(tree).pci.at(0);
  EXPECT_EQ(device.root, "10000:00");
  EXPECT_EQ(device.parent, "");
}

TEST(ProbePci, WakesNothing) {
  SysfsTree tree;
  PciFunction f = nic;
  f.power = "suspended";
  tree.pci("0000:00:05.0", f);
  const Node node = probed(tree);
  EXPECT_EQ(node.pci.at(0).link, PciLink());
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_THAT(node.gaps[0].what, HasSubstr("0000:00:05.0"));
  EXPECT_THAT(node.gaps[0].why, HasSubstr("wake"));
}

// ---- the configuration space

// Of a port of that type; `acs`: the control register, in a capability behind another one.
std::string config(unsigned port_type, int acs, std::size_t size = 4096) {
  std::string bytes(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value) {
    bytes[at] = char(value & 0xff);
    bytes[at + 1] = char(value >> 8);
  };
  put(0x06, 0x0010);
  put(0x34, 0x40);
  put(0x40, 0x6001);  // power management, then
  put(0x60, 0x0010);
  put(0x62, port_type << 4 | 2);
  put(0x100, 0x0001);  // AER, then
  put(0x102, 0x1481);
  if (acs >= 0) {
    put(0x148, 0x000d);
    put(0x14a, 0x0001);
    put(0x14e, unsigned(acs));
  }
  return bytes.substr(0, size);
}

TEST(ProbePci, ReadsPortTypesAndAcs) {
  SysfsTree tree;
  add_switch(tree);
  const std::string top = "/sys/bus/pci/devices/";
  tree.file(top + "0000:3a:00.0/config", config(4, 0x1d));
  tree.file(top + "0000:3b:00.0/config", config(5, -1));
  tree.file(top + "0000:3c:00.0/config", config(6, 0x1d));
  tree.file(top + "0000:3c:01.0/config", config(6, 0x01));  // source validation alone
  const Node node = probed(tree);
  EXPECT_TRUE(node.find_pci("0000:3a:00.0")->acs_redirect.is(true));
  EXPECT_TRUE(node.find_pci("0000:3b:00.0")->acs_redirect.is(false));
  EXPECT_TRUE(node.find_pci("0000:3c:00.0")->acs_redirect.is(true));
  EXPECT_TRUE(node.find_pci("0000:3c:01.0")->acs_redirect.is(false));
  EXPECT_TRUE(node.gaps.empty());
}

TEST(ProbePci, BelievesThePortTypeRatherThanTheStructure) {
  SysfsTree tree;
  tree.pci("0000:3a:00.0");
  tree.file("/sys/bus/pci/devices/0000:3a:00.0/config", config(5, -1));  // a machine that hides its root port
  EXPECT_EQ(probed(tree).pci.at(0).kind, PciKind::switch_upstream);
}

TEST(ProbePci, SaysOnceThatAcsNeedsRoot) {
  SysfsTree tree;
  add_switch(tree);
  for (const char* port : {"0000:3a:00.0", "0000:3b:00.0", "0000:3c:00.0", "0000:3c:01.0"})
    tree.file(std::string("/sys/bus/pci/devices/") + port + "/config", config(4, 0x1d, 64));
  const Node node = probed(tree);
  EXPECT_FALSE(node.find_pci("0000:3c:00.0")->acs_redirect.known());
  EXPECT_EQ(node.find_pci("0000:3c:00.0")->kind, PciKind::switch_downstream);
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_THAT(node.gaps[0].why, HasSubstr("root"));
}

TEST(ProbePci, EndsWhereCapabilitiesLeadInCircles) {
  SysfsTree tree;
  tree.pci("0000:3a:00.0");
  std::string bytes = config(4, -1);
  bytes[0x61] = 0x40, bytes[0x60] = 0x05;                // 0x40 -> 0x60 -> 0x40
  bytes[0x102] = char(0x01), bytes[0x103] = char(0x10);  // 0x100 -> 0x100
  tree.file("/sys/bus/pci/devices/0000:3a:00.0/config", bytes);
  const Node node = probed(tree);
  EXPECT_EQ(node.pci.at(0).kind, PciKind::root_port);
  EXPECT_TRUE(node.pci.at(0).acs_redirect.is(false));
}

// ---- bad places

// A device that is being removed answers some questions with errors.
class HalfRemoved : public Files {
 public:
  using Files::Files;
  Result<std::string> read(const std::string& path) override {
    if (path.ends_with("_link_speed") || path.ends_with("_link_width"))
      return fail(Cause::unavailable, path + ": No such device");
    return Files::read(path);
  }
};

TEST(ProbePci, NamesWhatAHalfRemovedDeviceDoesNotSay) {
  SysfsTree tree;
  tree.pci("0000:00:05.0", nic);
  HalfRemoved files(tree.root());
  Node node;
  probe_pci(files, node);
  ASSERT_EQ(node.pci.size(), 1u);
  EXPECT_TRUE(node.pci[0].vendor.is(0x15b3));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_THAT(node.gaps[0].what, HasSubstr("0000:00:05.0: current_link_speed"));
  EXPECT_THAT(node.gaps[0].why, HasSubstr("No such device"));
}

TEST(ProbePci, NamesAMissingSysfs) {
  SysfsTree tree;
  const Node node = probed(tree);
  EXPECT_TRUE(node.pci.empty());
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].what, "PCI devices");
}

TEST(ProbePci, IgnoresNamesThatAreNoAddresses) {
  SysfsTree tree;
  tree.folder("/sys/bus/pci/devices/0000:zz:00.0");
  tree.folder("/sys/bus/pci/devices/..evil");
  EXPECT_TRUE(probed(tree).pci.empty());
}

}  // namespace
}  // namespace ringtrue::probe
