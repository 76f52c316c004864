// Healthy machines, one alone and four alike: nothing above info is said of any of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "diagnosis/inspect/inspect.h"
#include "paths.h"
#include "probe/recording.h"
#include "report/text/wording.h"
#include "tests/support/machines.h"

namespace ringtrue::test {
namespace {

namespace fs = std::filesystem;
using namespace topology;

Cluster alike(const Node& node, int count) {
  Cluster cluster;
  for (int i = 0; i < count; ++i) {
    cluster.nodes.push_back(node);
    cluster.nodes.back().name = fmt::format("node{}", i);
  }
  return cluster;
}

std::string warnings(const Cluster& cluster) {
  std::string out;
  for (const diagnosis::Finding& f : diagnosis::inspect(cluster).findings) {
    if (f.severity == diagnosis::Severity::info) continue;
    out += fmt::format("{} {} {}\n", key_of(f.severity), key_of(f.kind), f.scope.text());
    for (const std::string& said : report::sentences(f.evidence)) out += "    " + said + "\n";
  }
  return out;
}

void expect_healthy(const Node& node) {
  for (const int count : {1, 2, 3, 4})
    EXPECT_EQ(warnings(alike(node, count)), "") << count << " of " << node.name;
}

class HealthyFile : public testing::TestWithParam<std::string> {};

std::vector<std::string> healthy_files() {
  const std::string fixtures = RINGTRUE_SOURCE_DIR "/tests/fixtures/";
  // The others there have a GPU without GPUDirect, and GPUs that no NIC is near.
  std::vector<std::string> files = {fixtures + "topology/hwloc-v1.xml", fixtures + "topology/nccl-cloud.xml"};
  for (const auto& file : fs::directory_iterator(fixtures + "healthy")) files.push_back(file.path().string());
  std::ranges::sort(files);
  return files;
}

std::string stem(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(In, HealthyFile, testing::ValuesIn(healthy_files()), stem);

TEST_P(HealthyFile, SaysNothingAboveInfo) {
  const auto loaded = probe::load({GetParam()});
  ASSERT_TRUE(loaded) << loaded.error().text();
  ASSERT_EQ(loaded->nodes.size(), 1u);
  ASSERT_FALSE(loaded->nodes[0].pci.empty());
  expect_healthy(loaded->nodes[0]);
}

// ---- machines by hand, as sysfs and the driver would show them

// Ten gigabits inside the chipset, behind a link that is not there.
Node server_with_chipset_lan(const std::string& name) {
  Node n = bare(name);
  for (int i = 0; i < 2; ++i) {
    const std::string root = fmt::format("0000:{:02x}", 0x30 + 0x40 * i);
    add_bridge(n, root + ":01.0", "", PciKind::root_port, pcie(16, 16), i, root);
    add_gpu(n, root + ":01.0", fmt::format("0000:{:02x}:00.0", 0x31 + 0x40 * i), "NVIDIA A100 80GB PCIe",
            0x20b5, 80, pcie(16, 16));
  }
  add_bridge(n, "0000:00:1c.0", "", PciKind::root_port, pcie(2.5, 1), 0, "0000:00");
  Nic& nic = add_nic(n, "0000:00:1c.0", "0000:02:00.0", LinkLayer::ethernet, "", BytesPerSecond(1.25e9),
                     pcie(2.5, 1));
  nic.rdma.clear();
  pci_of(n, nic).vendor.value = 0x8086;
  pci_of(n, nic).device.value = 0x37d2;
  return n;
}

// GPUs on both sockets, and no NIC but one of 1 Gbit/s on one of them.
Node server_for_management_alone(const std::string& name) {
  Node n = server_with_chipset_lan(name);
  n.nics[0].ports[0].rate.value = n.nics[0].ports[0].max_rate.value = BytesPerSecond(0.125e9);
  return n;
}

// Two ports of QDR in one slot, of which they fill 102 %: 8 GB/s on 7.88.
Node hca_that_fills_its_slot(const std::string& name) {
  Node n = bare(name);
  add_bridge(n, "0000:20:01.0", "", PciKind::root_port, pcie(8, 8), 0, "0000:20");
  Nic& nic = add_nic(n, "0000:20:01.0", "0000:21:00.0", LinkLayer::infiniband, "QDR", BytesPerSecond(8.04e9),
                     pcie(8, 8));
  nic.ports[0].max_rate = nic.ports[0].rate;
  return n;
}

Node workstation_with_geforce(const std::string& name) {
  Node n = four_rails(name);
  for (Gpu& gpu : n.gpus) {
    gpu.model.value = "NVIDIA GeForce RTX 4090";
    gpu.compute_capability.value = 89;
    pci_of(n, gpu).device_class.value = 0x030000;
    pci_of(n, gpu).device.value = 0x2684;
  }
  n.system.nvidia_peermem.value = n.system.dmabuf.value = false;
  return n;
}

TEST(HealthyMachine, SaysNothingAboveInfo) {
  for (const auto make : {server_with_chipset_lan, server_for_management_alone, hca_that_fills_its_slot,
                          workstation_with_geforce, hgx_h100, four_rails, pcie_box})
    expect_healthy(make("node0"));
}

TEST(HealthyMachine, IsOneOfFourAlikeWhateverIsNotAsItCouldBe) {
  Node n = hgx_h100("node0");
  for (PciDevice* end : {&pci_of(n, n.gpus[3]), &port_above(n, n.gpus[3].address)}) end->link.width.value = 8;
  EXPECT_NE(warnings(alike(n, 1)), "");
  EXPECT_NE(warnings(alike(n, 2)), "");
  EXPECT_EQ(warnings(alike(n, 4)), "");
  Cluster three_of_four = alike(n, 4);
  three_of_four.nodes[2] = hgx_h100("node2");
  EXPECT_NE(warnings(three_of_four), "");
}

// What software sets wrongly, it sets wrongly everywhere.
TEST(HealthyMachine, IsNoneOfFourWhoseSettingsAreWrongAlike) {
  Node n = hgx_h100("node0");
  n.system.nvidia_peermem.value = n.system.dmabuf.value = false;
  EXPECT_THAT(warnings(alike(n, 4)), testing::HasSubstr("gpudirect-impossible"));
}

TEST(HealthyMachine, IsSureOfWhatIsReadAlone) {
  Node n = hgx_h100("node0");
  for (PciDevice& d : n.pci) d.link.max_speed_GTps = {}, d.link.max_width = {};
  pci_of(n, "0000:21:00.0").link.width.value = 8;
  port_above(n, "0000:21:00.0").link.width.value = 8;
  (*n.gpus[2].nvlinks)[3].up.value = false;
  for (const diagnosis::Finding& f : diagnosis::inspect(alike(n, 1)).findings) {
    if (f.kind == diagnosis::FindingKind::nvlink_down) EXPECT_EQ(f.confidence, 1);
    if (f.kind == diagnosis::FindingKind::pcie_uplink_slower) EXPECT_LT(f.confidence, 1);
  }
}

}  // namespace
}  // namespace ringtrue::test
