#include <gtest/gtest.h>

#include <algorithm>

#include "probe/live.h"
#include "probe/probe.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using test::SysfsTree;

class Answering : public Files {
 public:
  using Files::Files;
  Result<std::string> answer(std::string_view library) override {
    if (library != "system") return Files::answer(library);
    return R"({"nodename": "node9", "release": "6.8.0", "machine": "aarch64", "memlock": 65536})";
  }
};

Node probed(const SysfsTree& tree) {
  Answering source(tree.root());
  Node node;
  probe_pci(source, node);
  probe_system(source, node);
  return node;
}

bool has_gap(const Node& node, const std::string& what) {
  return std::any_of(node.gaps.begin(), node.gaps.end(), [&](const Gap& g) { return g.what == what; });
}

TEST(ProbeSystem, ReadsNames) {
  SysfsTree tree;
  tree.file("/proc/sys/kernel/hostname", "node3\n");
  tree.file("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
  tree.file("/etc/os-release", "NAME=Ubuntu\nPRETTY_NAME=\"Ubuntu 22.04.3 LTS\"\n");
  tree.file("/sys/class/dmi/id/sys_vendor", "NVIDIA\n");
  tree.file("/sys/class/dmi/id/product_name", "DGXH100\n");
  const System system = probed(tree).system;
  EXPECT_EQ(system.hostname, Fact<std::string>("node3", origin::sysfs));
  EXPECT_TRUE(system.kernel.is("5.15.0-91-generic"));
  EXPECT_TRUE(system.distribution.is("Ubuntu 22.04.3 LTS"));
  EXPECT_TRUE(system.board.is("NVIDIA DGXH100"));
}

TEST(ProbeSystem, AsksWhereFilesAreSilent) {
  const Node node = probed(SysfsTree());
  EXPECT_EQ(node.system.kernel, Fact<std::string>("6.8.0", origin::system));
  EXPECT_EQ(node.system.memlock, Fact<Bytes>(Bytes(65536), origin::system));
  EXPECT_TRUE(node.processors.architecture.is("aarch64"));
  EXPECT_FALSE(node.system.nvidia_peermem.known());
  EXPECT_FALSE(node.system.governor.known());
  EXPECT_FALSE(node.system.hugepages.known());
  EXPECT_FALSE(node.system.dmabuf.known());
}

// ---- IOMMU

void add_nic_group(SysfsTree& tree, const std::string& type) {
  const std::string folder = tree.pci("0000:00:03.0", {.device_class = 0x020700, .vendor = 0x15b3});
  tree.folder("/sys/class/iommu/dmar0");
  tree.link(folder + "/iommu_group", "/sys/kernel/iommu_groups/7");
  tree.file("/sys/kernel/iommu_groups/7/type", type + "\n");
}

TEST(ProbeSystem, TakesNoUnitsForAnIommuThatIsOff) {
  SysfsTree tree;
  tree.folder("/sys/class/iommu");
  EXPECT_TRUE(probed(tree).system.iommu.is("off"));
}

TEST(ProbeSystem, BelievesTheGroupsOfNics) {
  for (const auto& [type, mode] : {std::pair("DMA", "translated"), std::pair("DMA-FQ", "translated"),
                                   std::pair("identity", "passthrough")}) {
    SysfsTree tree;
    add_nic_group(tree, type);
    tree.file("/proc/cmdline", "quiet iommu=pt\n");
    const Node node = probed(tree);
    EXPECT_TRUE(node.system.iommu.is(mode)) << type;
    EXPECT_TRUE(node.pci.at(0).iommu_group.is(7));
  }
}

TEST(ProbeSystem, BelievesTheCommandLineWithoutGroups) {
  SysfsTree tree;
  tree.folder("/sys/class/iommu/dmar0");
  tree.file("/proc/cmdline", "quiet intel_iommu=on iommu=pt\n");
  EXPECT_TRUE(probed(tree).system.iommu.is("passthrough"));
  tree.file("/proc/cmdline", "quiet intel_iommu=on xiommu=pt\n");
  const Node node = probed(tree);
  EXPECT_FALSE(node.system.iommu.known());
  EXPECT_TRUE(has_gap(node, "IOMMU"));
}

// ---- GPUDirect

TEST(ProbeSystem, ReadsNvidiasModules) {
  SysfsTree tree;
  tree.folder("/sys/module/nvidia_peermem");
  tree.file("/proc/sys/kernel/osrelease", "5.15.0\n");
  tree.file("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
            "GCC version:  gcc version 12.3.0\n");
  const System system = probed(tree).system;
  EXPECT_TRUE(system.nvidia_peermem.is(true));
  EXPECT_TRUE(system.nvidia_driver.is("535.104.05"));
  EXPECT_TRUE(system.open_kernel_module.is(false));
  EXPECT_EQ(system.dmabuf, Fact<bool>(false, origin::derived));
}

TEST(ProbeSystem, DerivesDmabufFromOpenModulesAndKernel) {
  for (const auto& [kernel, possible] : {std::pair("5.15.0", true), std::pair("5.12.0", true),
                                         std::pair("5.4.0-100", false), std::pair("6.1-rc3", true)}) {
    SysfsTree tree;
    tree.folder("/sys/module/nvidia");
    tree.file("/proc/sys/kernel/osrelease", kernel);
    tree.file("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  545.23.08  Release Build\n");
    const System system = probed(tree).system;
    EXPECT_TRUE(system.nvidia_peermem.is(false));
    EXPECT_TRUE(system.nvidia_driver.is("545.23.08"));
    EXPECT_TRUE(system.open_kernel_module.is(true));
    EXPECT_TRUE(system.dmabuf.is(possible)) << kernel;
  }
}

// ---- limits and settings

TEST(ProbeSystem, ReadsTheSoftLimitOfLockedMemory) {
  SysfsTree tree;
  tree.file("/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max locked memory         8388608              unlimited            bytes     \n");
  EXPECT_EQ(probed(tree).system.memlock, Fact<Bytes>(Bytes(8388608), origin::sysfs));
  tree.file("/proc/self/limits",
            "Max locked memory         unlimited            unlimited            bytes\n");
  EXPECT_TRUE(probed(tree).system.memlock.is(Bytes(~0ull)));
}

TEST(ProbeSystem, ReadsGovernorsAndHugepages) {
  SysfsTree tree;
  tree.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
  tree.file("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
  tree.file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
  tree.file("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4\n");
  const System system = probed(tree).system;
  EXPECT_TRUE(system.governor.is("performance"));
  EXPECT_TRUE(system.hugepages.is(516));
  tree.file("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
  EXPECT_TRUE(probed(tree).system.governor.is("mixed"));
}

// ---- processors

TEST(ProbeSystem, CountsProcessorsWithoutHwloc) {
  SysfsTree tree;
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) 8480C\n");
  tree.file("/sys/devices/system/cpu/online", "0-7\n");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    tree.file(topology + "physical_package_id", fmt::format("{}\n", cpu % 4 / 2));
    tree.file(topology + "core_id", fmt::format("{}\n", cpu % 2));
  }
  tree.file("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  tree.file("/sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:       131072 kB\nNode 0 MemFree: 1 kB\n");
  tree.file("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  tree.file("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       65536 kB\n");
  const Processors processors = probed(tree).processors;
  EXPECT_TRUE(processors.model.is("Intel(R) Xeon(R) 8480C"));
  EXPECT_TRUE(processors.threads.is(8));
  EXPECT_TRUE(processors.cores.is(4));
  EXPECT_TRUE(processors.packages.is(2));
  ASSERT_EQ(processors.numa.size(), 2u);
  EXPECT_EQ(processors.numa[1].number, 1);
  EXPECT_EQ(processors.numa[1].package, 1);
  EXPECT_EQ(processors.numa[1].cpus, "2-3,6-7");
  EXPECT_TRUE(processors.numa[1].processors.is(4));
  EXPECT_TRUE(processors.numa[0].memory.is(Bytes(131072ull * 1024)));
}

// ---- all probes

TEST(Probe, OfNothingNamesTheGaps) {
  SysfsTree tree;
  Files files(tree.root());
  const Node node = probe(files);
  EXPECT_TRUE(node.pci.empty());
  EXPECT_TRUE(node.nics.empty());
  for (const char* what : {"PCI devices", "netdevs", "IOMMU"}) EXPECT_TRUE(has_gap(node, what)) << what;
}

TEST(Probe, OfThisMachineNeedsNoLibrary) {
  Files files;
  const Node node = probe(files);
  EXPECT_TRUE(node.system.kernel.known());
  EXPECT_TRUE(node.processors.threads.known());
  EXPECT_TRUE(node.system.memlock.known());
}

}  // namespace
}  // namespace ringtrue::probe
