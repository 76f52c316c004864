#include "ideal/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machines.h"

namespace ringtrue::ideal {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;
using topology::Node;
using topology::origin::nvml;
using topology::origin::sysfs;

topology::Node dgx(const std::string& name) {
  return hgx_h100_with(name, 8);
}

Facts facts_of(std::vector<Node> nodes, const FactOptions& options = {}) {
  topology::Cluster cluster;
  cluster.nodes = std::move(nodes);
  auto facts = from_topology(cluster, options);
  EXPECT_TRUE(facts) << facts.error().text();
  return facts ? *facts : Facts{};
}

double gb(const std::optional<Rate>& rate) {
  return rate ? rate->value.value / 1e9 : -1;
}

void add_virtual(Node& node, const std::string& name, double Bps) {
  topology::Nic nic;
  nic.name = name;
  nic.netdevs = {name};
  nic.virtual_device = true;
  nic.ports.emplace_back();
  nic.ports[0].state = from<std::string>(sysfs, "active");
  nic.ports[0].rate = {BytesPerSecond(Bps), sysfs};
  node.nics.push_back(nic);
}

TEST(Facts, HealthyMachinesGiveAllOfTheirLinks) {
  const Facts f = facts_of({dgx("node0"), dgx("node1")});
  EXPECT_EQ(f.inputs.nodes, 2);
  EXPECT_EQ(f.inputs.gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(gb(f.inputs.intra), 450);
  EXPECT_DOUBLE_EQ(gb(f.inputs.inter), 400);
  EXPECT_EQ(f.inputs.nodes_origin, Origin::probed);
  EXPECT_EQ(f.inputs.gpus_origin, Origin::probed);
  EXPECT_EQ(f.inputs.intra->origin, Origin::probed);
  EXPECT_EQ(f.nodes[0].intra_arithmetic, "18 NVLinks x 25 GB/s = 450 GB/s (nvml)");
  EXPECT_EQ(f.nodes[0].inter_arithmetic, "8 rails x 50 GB/s = 400 GB/s (sysfs)");
  EXPECT_EQ(f.arithmetic,
            (std::vector<std::string>{"Q: 2 nodes read", "P: 8 GPUs a node",
                                      "B: 18 NVLinks x 25 GB/s = 450 GB/s (nvml), on all nodes",
                                      "I: 8 rails x 50 GB/s = 400 GB/s (sysfs), on all nodes"}));
  EXPECT_TRUE(f.notes.empty()) << f.notes[0];
  ASSERT_EQ(f.nodes[0].rails.size(), 8u);
  EXPECT_EQ(f.nodes[0].rails[3].nic, "mlx5_3");
  EXPECT_EQ(f.nodes[0].rails[3].limit, "port");
  // What is seen in the field of these very links.
  EXPECT_DOUBLE_EQ(f.inputs.intra_efficiency->share, 0.82);
  EXPECT_DOUBLE_EQ(f.inputs.inter_efficiency->share, 0.92);
  // I / P = 50 <= B, so this is FACTS' bound: 400 x 15 x 2 / 16.
  const auto ideal = compute(f.inputs);
  EXPECT_DOUBLE_EQ(ideal->inter_node->value, 750e9);
  EXPECT_NEAR(ideal->bound->value, 450e9 * 15 / 14, 1);
}

TEST(Facts, DeclaredValuesOverrideOneByOne) {
  FactOptions options;
  options.nodes = 2;
  options.inter = BytesPerSecond(100e9);
  const Facts f = facts_of({dgx("node0")}, options);
  EXPECT_EQ(f.inputs.nodes, 2);
  EXPECT_EQ(f.inputs.nodes_origin, Origin::declared);
  EXPECT_EQ(f.inputs.gpus_origin, Origin::probed);
  EXPECT_EQ(f.inputs.inter->origin, Origin::declared);
  EXPECT_FALSE(f.inputs.inter_efficiency);  // that of the NICs is not that of a declared rate
  EXPECT_THAT(f.arithmetic, Contains("I: 100 GB/s, declared (probed: 8 rails x 50 GB/s = 400 GB/s (sysfs))"));
  // The worked example of the published method, from a machine and one flag.
  const auto ideal = compute(f.inputs);
  EXPECT_DOUBLE_EQ(ideal->bound->value, 187.5e9);
  EXPECT_NEAR(ideal->intra_node->value / 1e9, 482.142857, 1e-6);
  options.gpus_per_node = 4;
  options.intra = BytesPerSecond(300e9);
  const Facts all = facts_of({dgx("node0")}, options);
  EXPECT_EQ(all.inputs.gpus_per_node, 4);
  EXPECT_EQ(all.inputs.gpus_origin, Origin::declared);
  EXPECT_DOUBLE_EQ(gb(all.inputs.intra), 300);
}

TEST(Facts, RailsBehindOneUplinkAreCappedEachByItselfAndToldOf) {
  Node direct = hgx_h100("node0"), staged = direct;  // with GPUDirect, and where nobody knows of any
  staged.system.nvidia_peermem = {};
  staged.system.dmabuf = {};
  for (auto& nic : staged.nics) nic.gdr = {};
  const Facts f = facts_of({staged});
  EXPECT_DOUBLE_EQ(gb(f.inputs.inter), 8 * 50);
  EXPECT_EQ(f.nodes[0].rails[1].limit, "port");
  EXPECT_THAT(f.notes, Contains(HasSubstr("cannot carry all of them: 0000:11:00.0 (63.0154 GB/s, 2 rails)")));
  EXPECT_THAT(facts_of({direct}).notes, Not(Contains(HasSubstr("cannot carry"))));

  // A slow uplink caps what is below it, unless the data does not pass it.
  for (Node* node : {&direct, &staged}) {
    for (auto& device : node->pci)
      if (device.address == "0000:11:00.0") device.link.speed_GTps = {16, sysfs};
    port_above(*node, "0000:11:00.0").link.speed_GTps = {16, sysfs};
  }
  EXPECT_DOUBLE_EQ(gb(facts_of({direct}).inputs.inter), 8 * 50);
  const Facts slow = facts_of({staged});
  EXPECT_NEAR(gb(slow.inputs.inter), 8 * 31.507692, 1e-4);
  EXPECT_EQ(slow.nodes[0].rails[1].limit, "PCIe path at 0000:11:00.0");
  EXPECT_THAT(slow.notes, Contains(HasSubstr("GPUDirect the rails may carry 8 x 50 GB/s = 400 GB/s")));
}

TEST(Facts, PortsOfOneCardShareItsSlot) {
  Node node = four_rails("node0");
  for (auto& nic : node.nics) {
    nic.ports.push_back(nic.ports[0]);
    nic.ports[1].number = 2;
  }
  const Facts f = facts_of({node});
  EXPECT_NEAR(gb(f.inputs.inter), 8 * 31.507692 / 2, 1e-4);
  EXPECT_EQ(f.nodes[0].rails[1].limit, "PCIe path at 0000:22:00.0, shared by 2 ports");

  // And what is above it.
  Node below = hgx_h100("node0");
  below.system.nvidia_peermem = below.system.dmabuf = {};
  for (auto& nic : below.nics) nic.gdr = {};
  below.nics[1].ports.push_back(below.nics[1].ports[0]);
  below.nics[1].ports[1].number = 2;
  for (auto& device : below.pci)
    if (device.address == "0000:11:00.0") device.link.speed_GTps = {16, sysfs};
  port_above(below, "0000:11:00.0").link.speed_GTps = {16, sysfs};
  const Facts up = facts_of({below});
  EXPECT_NEAR(up.nodes[0].rails[1].rate->value / 1e9, 31.507692 / 2, 1e-4);
  EXPECT_EQ(up.nodes[0].rails[1].limit, "PCIe path at 0000:11:00.0, shared by 2 ports");
}

TEST(Facts, OneSlowRailSlowsStripingDown) {
  Node node = four_rails("node0");
  pci_of(node, node.nics[2]).link.width = {8, sysfs};  // 15.75 GB/s below a port of 25
  const Facts f = facts_of({node});
  EXPECT_NEAR(gb(f.inputs.inter), 4 * 15.753846, 1e-5);
  EXPECT_NEAR(f.nodes[0].sum->value / 1e9, 3 * 25 + 15.753846, 1e-5);
  EXPECT_EQ(f.nodes[0].rails[2].limit, "PCIe path at 0000:62:00.0");
  EXPECT_THAT(f.nodes[0].inter_arithmetic,
              HasSubstr("4 rails x 15.7538 GB/s = 63.0154 GB/s (mlx5_2: PCIe path"));
  EXPECT_THAT(f.nodes[0].inter_arithmetic, HasSubstr("the plain sum of the rails is 90.7538 GB/s"));
}

TEST(Facts, GpusWithoutNvlinksUseTheirPcieLink) {
  const Facts f = facts_of({four_rails("node0")});
  EXPECT_NEAR(gb(f.inputs.intra), 31.507692, 1e-5);
  EXPECT_EQ(f.nodes[0].intra_arithmetic, "no NVLinks: GPU0's PCIe link, 16 GT/s x16 = 31.5077 GB/s (sysfs)");
  Node idle = four_rails("node0");
  for (auto& gpu : idle.gpus) {
    pci_of(idle, gpu).link.speed_GTps = {2.5, sysfs};
    port_above(idle, gpu.address).link.speed_GTps = {2.5, sysfs};
  }
  const Facts i = facts_of({idle});
  EXPECT_NEAR(gb(i.inputs.intra), 31.507692, 1e-5);
  EXPECT_THAT(i.nodes[0].intra_arithmetic, HasSubstr("idle"));
  Node narrow = four_rails("node0");
  port_above(narrow, narrow.gpus[1].address).link.width = {4, sysfs};
  EXPECT_NEAR(gb(facts_of({narrow}).inputs.intra), 31.507692 / 4, 1e-5);
}

TEST(Facts, LinksThatAreDownAreNotCountedAndToldOf) {
  Node node = dgx("node0");
  node.gpus[5].nvlinks->at(3).up = {false, nvml};
  const Facts f = facts_of({node});
  EXPECT_DOUBLE_EQ(gb(f.inputs.intra), 17 * 25);
  EXPECT_THAT(f.notes, Contains("GPU5: 1 of its 18 NVLinks is down"));
  for (auto& link : *node.gpus[5].nvlinks) link.up = {false, nvml};
  const Facts all = facts_of({node});
  EXPECT_NEAR(gb(all.inputs.intra), 63.015385, 1e-5);  // PCIe remains
  EXPECT_THAT(all.notes, Contains("GPU5: 18 of its 18 NVLinks are down"));
}

TEST(Facts, UnknownNvlinksAreNotNone) {
  Node node = dgx("node0");
  for (auto& gpu : node.gpus) gpu.nvlinks.reset();
  const Facts f = facts_of({node});
  EXPECT_FALSE(f.inputs.intra);
  EXPECT_THAT(f.notes, Contains(HasSubstr("the NVLinks of GPU0, GPU1, GPU2")));
  EXPECT_EQ(list(f.inputs)[3].name, "intra_Bps");
  EXPECT_EQ(list(f.inputs)[3].origin, Origin::unknown);
}

TEST(Facts, ManagementPortsAndVirtualDevicesAreNoRails) {
  Node node = dgx("node0");
  add_bridge(node, "0000:e0:01.0", "", topology::PciKind::root_port, pcie(8, 4), 0, "0000:e0");
  add_nic(node, "0000:e0:01.0", "0000:e1:00.0", topology::LinkLayer::ethernet, "", BytesPerSecond(125e6),
          pcie(5, 1));
  node.nics.back().rdma.clear();
  pci_of(node, node.nics.back()).device = {0x1521, sysfs};
  add_virtual(node, "docker0", 1.25e9);
  const Facts f = facts_of({node});
  EXPECT_DOUBLE_EQ(gb(f.inputs.inter), 400);
  EXPECT_EQ(f.nodes[0].rails.size(), 8u);
  FactOptions options;
  options.nics = {"mlx5_8"};
  EXPECT_DOUBLE_EQ(gb(facts_of({node}, options).inputs.inter), 0.125);
  options.nics = {"mlx5_0", "mlx5_1"};
  EXPECT_DOUBLE_EQ(gb(facts_of({node}, options).inputs.inter), 100);
}

TEST(Facts, PortsThatAreDownAreNoRailsButNoted) {
  Node node = dgx("node0");
  node.nics[6].ports[0].state = from<std::string>(sysfs, "down");
  const Facts f = facts_of({node});
  EXPECT_DOUBLE_EQ(gb(f.inputs.inter), 350);
  EXPECT_THAT(f.notes, Contains("mlx5_6 is down and no rail"));
  for (auto& nic : node.nics) nic.ports[0].state = from<std::string>(sysfs, "down");
  const Facts none = facts_of({node});
  EXPECT_FALSE(none.inputs.inter);
  EXPECT_THAT(none.arithmetic, Contains("I: no NIC with a port that is up"));
}

TEST(Facts, AVirtualNicsRateIsInvented) {
  Node node = bare("vm");
  add_virtual(node, "eth0", 1.25e9);
  const Facts f = facts_of({node});
  EXPECT_FALSE(f.inputs.inter);
  EXPECT_EQ(f.nodes[0].rails.size(), 1u);
  EXPECT_EQ(f.nodes[0].rails[0].limit, "unknown");
  EXPECT_FALSE(f.nodes[0].rails[0].port_rate);
  EXPECT_THAT(f.notes, Contains(HasSubstr("eth0 is virtual")));
}

TEST(Facts, WithoutPortRatesPciePathsAreAnUpperBound) {
  Node node = dgx("node0");
  for (auto& nic : node.nics) nic.ports[0].rate = nic.ports[0].max_rate = {};
  const Facts f = facts_of({node});
  EXPECT_NEAR(gb(f.inputs.inter), 8 * 63.015385, 1e-4);
  EXPECT_THAT(f.notes, Contains(HasSubstr("their PCIe paths alone are an upper bound")));
  EXPECT_EQ(f.nodes[0].rails[0].limit, "PCIe path at 0000:14:00.0");
}

TEST(Facts, NicsWhosePortsNobodyShowsHaveOneEach) {
  Node node = dgx("node0");
  for (auto& nic : node.nics) nic.ports.clear();
  const Facts f = facts_of({node});
  EXPECT_EQ(f.nodes[0].rails.size(), 8u);
  EXPECT_NEAR(gb(f.inputs.inter), 8 * 63.015385, 1e-4);
  node.nics[0] = dgx("node0").nics[0];  // the others have no driver, then
  EXPECT_EQ(facts_of({node}).nodes[0].rails.size(), 1u);
}

TEST(Facts, UnequalNodesGiveTheLeastOfEach) {
  Node small = four_rails("node1");
  const Facts f = facts_of({dgx("node0"), small});
  EXPECT_EQ(f.inputs.gpus_per_node, 4);
  EXPECT_NEAR(gb(f.inputs.intra), 31.507692, 1e-5);
  EXPECT_DOUBLE_EQ(gb(f.inputs.inter), 100);
  EXPECT_THAT(f.notes, Contains("nodes are unequal: node1 has 4 GPUs, node0 has 8 GPUs; the least is taken"));
  EXPECT_THAT(f.notes, Contains("I differs between nodes: the least, 100 GB/s of node1, is taken"));
  EXPECT_THAT(f.arithmetic, Contains("I: 4 rails x 25 GB/s = 100 GB/s (sysfs), the least, of node1"));
}

TEST(Facts, WithoutGpusThereIsOneRankANode) {
  Node node = four_rails("node0");
  node.gpus.clear();
  const Facts f = facts_of({node, node, node});
  EXPECT_EQ(f.inputs.nodes, 3);
  EXPECT_EQ(f.inputs.gpus_per_node, 1);
  EXPECT_FALSE(f.inputs.intra);
  EXPECT_THAT(f.notes, Contains(HasSubstr("no GPUs: one rank a node")));
  EXPECT_DOUBLE_EQ(compute(f.inputs)->bound->value, 100e9);
}

TEST(Facts, PassedThroughFunctionsOfAGuestCount) {
  Node guest = dgx("vm");
  for (auto& nic : guest.nics) {
    nic.virtual_device = true;
    pci_of(guest, nic).virtual_function = true;
  }
  EXPECT_DOUBLE_EQ(gb(facts_of({guest}).inputs.inter), 400);
  for (auto& nic : guest.nics) pci_of(guest, nic).physical_function = "0000:aa:00.0";
  EXPECT_FALSE(facts_of({guest}).nodes[0].rails[0].port_rate);
}

TEST(Facts, SaysWhereDevicesCouldNotBeListed) {
  Node node;
  node.name = "node0";
  node.gaps = {{sysfs, std::string(topology::gap::pci_devices), "permission denied"}};
  EXPECT_THAT(
      facts_of({node}).notes,
      Contains("PCI devices could not be listed, so GPUs or NICs may be missing here: permission denied"));
}

TEST(Facts, RefusesWhatIsNotThere) {
  EXPECT_FALSE(from_topology({}));
  FactOptions options;
  options.nics = {"mlx5_77"};
  const auto none = from_topology(cluster_of(2, dgx), options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().cause, Cause::bad_input);
  EXPECT_THAT(none.error().text(), HasSubstr("mlx5_77"));
  EXPECT_THAT(none.error().text(), HasSubstr("mlx5_0, mlx5_1"));
}

TEST(Facts, WhetherSwitchesReduceIsAskedOfTheHardware) {
  const Inputs h100 = facts_of({dgx("node0"), dgx("node1")}).inputs;
  EXPECT_EQ(h100.infiniband, std::optional(true));
  EXPECT_EQ(h100.nvlink_reduces, std::optional(true));
  Node roce = dgx("node1");
  for (auto& nic : roce.nics) nic.ports[0].layer = topology::LinkLayer::ethernet;
  EXPECT_EQ(facts_of({dgx("node0"), roce}).inputs.infiniband, std::optional(false));
  Node unknown = dgx("node1"), efa = dgx("node1");
  for (Node* node : {&unknown, &efa})
    for (auto& nic : node->nics) nic.ports[0].layer = topology::LinkLayer::unknown;
  EXPECT_EQ(facts_of({dgx("node0"), unknown}).inputs.infiniband, std::nullopt);
  for (auto& nic : efa.nics) pci_of(efa, nic).vendor = {0x1d0f, sysfs};
  EXPECT_EQ(facts_of({efa}).inputs.infiniband, std::optional(false));

  Node a100 = dgx("node0"), cards = dgx("node0"), untold = dgx("node0");
  for (auto& gpu : a100.gpus)
    for (auto& link : *gpu.nvlinks) link.version = {3, nvml};
  EXPECT_EQ(facts_of({a100}).inputs.nvlink_reduces, std::optional(false));
  for (auto& link : *cards.gpus[0].nvlinks) link.remote = topology::Remote::gpu;
  EXPECT_EQ(facts_of({cards}).inputs.nvlink_reduces, std::optional(false));
  untold.gpus[3].nvlinks.reset();
  EXPECT_EQ(facts_of({untold}).inputs.nvlink_reduces, std::nullopt);
  EXPECT_EQ(facts_of({four_rails("node0")}).inputs.nvlink_reduces,
            std::optional(false));  // no NVLinks at all
}

// ---- above the ideal

Inputs declared(int nodes, int gpus, double inter, double intra) {
  Inputs in;
  in.nodes = nodes;
  in.gpus_per_node = gpus;
  if (inter > 0) in.inter = {BytesPerSecond(inter * 1e9), Origin::declared, {}};
  if (intra > 0) in.intra = {BytesPerSecond(intra * 1e9), Origin::declared, {}};
  return in;
}

std::optional<AboveIdeal> above(double measured, const Inputs& in,
                                collective::AlgorithmId algorithm = collective::AlgorithmId::ring) {
  return explain_above(BytesPerSecond(measured * 1e9), *compute(in), in, algorithm);
}

TEST(Above, UpToTwoPercentIsNothing) {
  const Inputs in = declared(4, 8, 12.5, 450);
  EXPECT_FALSE(above(12.5 * 1.019, in));
  EXPECT_TRUE(above(12.5 * 1.021, in));
  EXPECT_FALSE(above(900, declared(4, 8, 0, 0)));
}

TEST(Above, NamesTheLikelyCause) {
  const Inputs in = declared(4, 8, 12.5, 450);
  EXPECT_EQ(above(97, in)->likely, "the declared rate between nodes, 12.5 GB/s, is that of one of 8 rails");
  EXPECT_THAT(above(12.5 * 1.2, in)->likely, HasSubstr("shaper's burst"));
  EXPECT_THAT(above(12.5 * 1.5, in)->likely, HasSubstr("too low"));
  EXPECT_THAT(above(900, declared(1, 8, 0, 450))->likely, HasSubstr("inside a node, 450 GB/s"));
  EXPECT_THAT(above(900, declared(1, 8, 0, 450))->likely, HasSubstr("share memory"));
  EXPECT_TRUE(above(97, in)->wrong_model);
  EXPECT_EQ(
      above(97, in)->text(BytesPerSecond(97e9), BytesPerSecond(12.5e9)),
      "wrong model: busbw 97.0 GB/s is 776.0 % of the ideal, 12.5 GB/s; likely cause: the declared rate "
      "between "
      "nodes, 12.5 GB/s, is that of one of 8 rails");
}

TEST(Above, ReductionInTheNetworkExplainsWhatIsNotOurs) {
  const Inputs in = declared(1, 8, 0, 450);
  EXPECT_THAT(above(480, in, collective::AlgorithmId::omnireduce)->likely,
              HasSubstr("nvlink-sharp, up to 700 GB/s"));
  EXPECT_THAT(above(480, in)->likely, testing::Not(HasSubstr("sharp")));
}

TEST(Above, WhereTheModelFailsItMayBeRight) {
  const Inputs in = declared(2, 8, 400, 31.5);
  const auto found = above(40, in);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->wrong_model);
  EXPECT_THAT(found->text(BytesPerSecond(40e9), BytesPerSecond(31.5e9)), HasSubstr("it may be right here"));
}

}  // namespace
}  // namespace ringtrue::ideal
