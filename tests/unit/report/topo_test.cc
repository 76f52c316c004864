// Views of a topology, on machines made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/json/json.h"
#include "report/text/text.h"
#include "report/topo/topo.h"
#include "tests/support/machines.h"
#include "topology/json.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using topology::Cluster;

ops::TopoDocument document_of(Cluster cluster) {
  auto inspection = diagnosis::inspect(cluster);
  return {std::move(cluster), std::move(inspection), std::nullopt};
}

diagnosis::Finding finding(diagnosis::Severity severity, const std::string& node, const std::string& device) {
  diagnosis::Finding f;
  f.severity = severity;
  f.kind = diagnosis::FindingKind::port_down;
  f.scope.type = diagnosis::ScopeType::gpu;
  f.scope.subject.node = node;
  f.scope.subject.device = device;
  f.evidence = {"it is so"};
  return f;
}

std::string text_of(const ops::TopoDocument& document, TopoView view = TopoView::overview, bool all = false) {
  return text(document, view, all, {});
}

// The first line that has `part`; empty: none.
std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) return line;
  return "";
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TopoTree, NestsDevicesBelowTheirSwitches) {
  const std::string out = text_of({{{test::hgx_h100("a")}, {}}, {}, {}}, TopoView::tree);
  EXPECT_EQ(line_with(out, "GPUs"), "  8 GPUs, 8 NICs, 4 PCIe switches, 144 NVLinks, 4 NVSwitches");
  EXPECT_THAT(line_with(out, "NUMA node 1"), HasSubstr("package 1"));
  EXPECT_EQ(line_with(out, "PCIe switch 0000:11"), "      PCIe switch 0000:11:00.0, 32 GT/s x16, 63.0 GB/s");
  EXPECT_EQ(line_with(out, "GPU0 "),
            "        GPU0 0000:13:00.0, NVIDIA H100 80GB HBM3, 32 GT/s x16, 63.0 GB/s, "
            "18 NVLinks v4 to 4 NVSwitches, 450 GB/s");
  EXPECT_THAT(line_with(out, "port 1"), HasSubstr("InfiniBand active, NDR 4x, 50.0 GB/s, MTU 4096, ib0"));
  EXPECT_LT(out.find("GPU1 "), out.find("PCIe switch 0000:21"));
  EXPECT_THAT(out, Not(HasSubstr("root port")));  // says nothing that is not below it
  EXPECT_THAT(text_of({{{test::hgx_h100("a")}, {}}, {}, {}}, TopoView::tree, true), HasSubstr("root port"));
}

TEST(TopoTree, MarksWhatIsDegradedWithTheReason) {
  using diagnosis::Severity;
  ops::TopoDocument document{{{test::hgx_h100("a")}, {}}, {}, {}};
  test::pci_of(document.cluster.nodes[0], document.cluster.nodes[0].gpus[3]).link.width = {8, "sysfs"};
  document.inspection.findings = {
      finding(Severity::critical, "a", "GPU3"), finding(Severity::warning, "a", "mlx5_1/1"),
      finding(Severity::info, "a", "0000:20:01.0"), finding(Severity::critical, "b", "GPU4")};
  const std::string out = text_of(document, TopoView::tree);
  EXPECT_THAT(line_with(out, "GPU3 "),
              testing::MatchesRegex("! .*32 GT/s x8 of 32 GT/s x16.*<- port-down: it is so"));
  EXPECT_EQ(count_of(out, "<- "), 3);
  EXPECT_THAT(line_with(out, "? "), HasSubstr("port 1: InfiniBand"));
  EXPECT_THAT(line_with(out, "i "), HasSubstr("root port 0000:20:01.0"));  // shown because it is marked
  EXPECT_EQ(line_with(out, "GPU4 ").front(), ' ');
}

TEST(TopoTree, FoldsVirtualDevices) {
  topology::Node node = test::four_rails("a");
  for (const char* name : {"docker0", "veth1", "rxe0"}) {
    topology::Nic nic;
    nic.name = name;
    nic.virtual_device = true;
    node.nics.push_back(nic);
  }
  const ops::TopoDocument document{{{node}, {}}, {}, {}};
  EXPECT_THAT(text_of(document), HasSubstr("3 virtual network devices folded"));
  EXPECT_THAT(text_of(document), Not(HasSubstr("docker0")));
  EXPECT_THAT(text_of(document, TopoView::tree, true), HasSubstr("docker0, virtual"));
  EXPECT_THAT(text_of(document, TopoView::matrix), Not(HasSubstr("veth1")));
}

TEST(TopoTree, ShowsNodesThatAreAlikeOnce) {
  Cluster cluster = test::cluster_of(6, test::hgx_h100);
  (*cluster.nodes[2].gpus[1].nvlinks)[5].up = {false, "nvml"};
  const std::string out = text_of(document_of(cluster));
  EXPECT_THAT(out, HasSubstr("node[0-1,3-5]  5 nodes alike"));
  EXPECT_EQ(count_of(out, "GPU7 0000"), 2);
  EXPECT_THAT(out, HasSubstr("17 of 18 NVLinks up v4"));
  EXPECT_THAT(line_with(out, "nvlink-down"), HasSubstr("1 of 18 NVLinks"));
}

TEST(TopoTree, SurvivesWhatNoMachineHas) {
  using namespace topology;
  Node node;
  node.name = "x";
  PciDevice loop;
  loop.address = loop.parent = "0000:00:00.0";  // above itself
  node.pci = {loop, loop};
  for (int i = 0; i < 5000; ++i) {  // a chain deeper than any stack
    PciDevice device;
    device.address = fmt::format("0000:{:04x}", i);
    if (i > 0) device.parent = fmt::format("0000:{:04x}", i - 1);
    node.pci.push_back(device);
  }
  Gpu gpu;
  gpu.name = "GPU0";
  gpu.address = node.pci.back().address;
  gpu.model = {"\x1b[31mred\nline\xc2\x9b", "file"};
  node.gpus = {gpu, {}};
  const ops::TopoDocument document{{{node}, {}}, {}, {}};
  for (const auto view : {TopoView::overview, TopoView::tree, TopoView::links})
    EXPECT_THAT(text_of(document, view, true), Not(HasSubstr("\x1b")));
  EXPECT_THAT(text_of(document), HasSubstr("?[31mred?line??"));
  EXPECT_THAT(dot(document), HasSubstr("GPU0"));
  EXPECT_EQ(text_of({}), "\n");
}

TEST(TopoMatrix, HasTheKindOfEachPath) {
  const std::string out = text_of({{{test::four_rails("a")}, {}}, {}, {}}, TopoView::matrix);
  EXPECT_THAT(out, HasSubstr("\n  GPU1    NODE  X     SYS   SYS   NODE    PHB     SYS     SYS        0\n"));
  EXPECT_THAT(text_of({{{test::hgx_h100("a")}, {}}, {}, {}}, TopoView::matrix), HasSubstr("NV18"));
}

TEST(TopoLinks, NamesTheNarrowestOfEachWay) {
  topology::Node node = test::hgx_h100("a");
  test::pci_of(node, "0000:12:00.0").link.width = {4, "sysfs"};
  test::pci_of(node, "0000:13:00.0").link.width = {4, "sysfs"};
  const std::string out = text_of({{{node}, {}}, {}, {}}, TopoView::links);
  EXPECT_THAT(line_with(out, "GPU0  mlx5_0"), HasSubstr("15.8 GB/s"));
  EXPECT_THAT(line_with(out, "GPU0  mlx5_0"), HasSubstr("0000:13:00.0"));
  EXPECT_THAT(line_with(out, "GPU1  mlx5_0"), HasSubstr("63.0 GB/s"));
}

TEST(TopoFabric, SumsUpItsSwitches) {
  const Cluster cluster = test::cluster_of(4, test::hgx_h100);
  const std::string out = text_of({cluster, {}, {}});
  EXPECT_THAT(out, HasSubstr("fabric  2 switches, 32 host adapters, 4 trunks"));
  EXPECT_THAT(out, HasSubstr("2 switches with 16 hosts and 4 trunks"));
  EXPECT_THAT(text_of({cluster, {}, {}}, TopoView::tree, true),
              HasSubstr("leaf0 (e8ebd30300a10000): 16 hosts, 4 trunks; to leaf1"));
}

TEST(TopoText, SaysWhatCouldNotBeRead) {
  Cluster cluster = test::cluster_of(3, test::four_rails);
  for (auto& node : cluster.nodes) node.gaps.push_back({"nvml", "GPUs", "no driver"});
  cluster.nodes[1].gaps.push_back({"fabric", "fabric", "permission denied"});
  const std::string out = text_of({cluster, {}, {}});
  EXPECT_THAT(out, HasSubstr("not readable: node[0-2]: GPUs (nvml): no driver\n"));
  EXPECT_THAT(out, HasSubstr("not readable: node1: fabric (fabric): permission denied\n"));
}

TEST(TopoText, TellsOnceWhatManyNodesHaveAlike) {
  using diagnosis::Severity;
  std::vector<diagnosis::Finding> findings;
  for (int i = 1; i <= 500; ++i)
    findings.push_back(finding(Severity::warning, fmt::format("n{}", i), "GPU1"));
  const std::string out = findings_text(findings, {});
  EXPECT_THAT(out, HasSubstr("500 nodes, n[1-500]: GPU1"));
  EXPECT_EQ(count_of(out, "port-down"), 1);
  // What was measured between nodes stands for itself.
  for (auto& f : findings) f.scope.type = diagnosis::ScopeType::sender;
  EXPECT_GT(count_of(findings_text(findings, {}), "port-down"), 1);
}

TEST(TopoJson, IsReadAgainAndSaysMore) {
  Cluster cluster = test::cluster_of(2, test::four_rails);
  (*cluster.nodes[0].nics[1].ports.begin()).width = {1, "sysfs"};
  const ops::TopoDocument document = document_of(cluster);
  std::string out;
  write_json(document, [&](std::string_view piece) { return out += piece, true; });
  const auto read = topology::from_json(out);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, cluster);
  const auto json = nlohmann::json::parse(out);
  EXPECT_EQ(json["schema"], "ringtrue.topo/1");
  EXPECT_EQ(json["findings"].size(), document.inspection.findings.size());
  EXPECT_GE(json["findings"].size(), 1u);
  EXPECT_EQ(json["affinity"].size(), 2u * 4 * 4);
  EXPECT_EQ(json["paths"].size(), 2u * 8 * 7 / 2);
  EXPECT_TRUE(json["error"].is_null());
  const auto& first = json["affinity"][0];
  EXPECT_EQ(first["node"], "node0");
  EXPECT_EQ(first["gpu"], "GPU0");
  EXPECT_EQ(first["nic"], "mlx5_0");
  EXPECT_EQ(first["kind"], "PHB");
  EXPECT_NEAR(first["narrowest_Bps"].get<double>(), 31.5e9, 0.1e9);
  EXPECT_TRUE(first["all_known"]);
}

TEST(TopoJson, ShowsNoPathsOfMoreDevicesThanMachinesHave) {
  topology::Node node = test::four_rails("node0");
  const topology::Nic nic = node.nics[0];
  for (std::size_t i = 0; i < max_devices_with_paths; ++i) {
    node.nics.push_back(nic);
    node.nics.back().name = node.nics.back().rdma = fmt::format("mlx5_{}", 100 + i);
  }
  const auto document = document_of({{node}, std::nullopt});
  std::string out;
  write_json(document, [&](std::string_view piece) { return out += piece, true; });
  const auto json = nlohmann::json::parse(out);
  EXPECT_TRUE(json.at("paths").empty());
  EXPECT_TRUE(json.at("affinity").empty());
  EXPECT_THAT(json.at("not_checked").back().at("why"), "264 GPUs and NICs: paths are shown of up to 256");
  EXPECT_THAT(text_of(document, TopoView::matrix), HasSubstr("264 GPUs and NICs"));
}

TEST(TopoDot, IsBalancedAndQuoted) {
  Cluster cluster = test::cluster_of(2, test::hgx_h100);
  cluster.nodes[1].name = "a\"b\\c";
  const std::string out = dot(document_of(cluster));
  EXPECT_THAT(out, testing::StartsWith("graph topology {\n"));
  EXPECT_EQ(count_of(out, "{"), count_of(out, "}"));
  EXPECT_THAT(out, HasSubstr("label=\"a\\\"b\\\\c\""));
  EXPECT_THAT(out, HasSubstr("\"0/0000:11:00.0\" [label=\"PCIe switch\\n0000:11:00.0\""));
  EXPECT_THAT(out, HasSubstr("[label=\"5 NVLinks\", style=bold]"));
  EXPECT_THAT(out, HasSubstr("\"0/mlx5_0\" -- \"switch/e8ebd30300a10000\""));
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);) {
    std::string plain = line;
    for (std::size_t at; (at = plain.find('\\')) != std::string::npos;) plain.erase(at, 2);
    EXPECT_EQ(std::count(plain.begin(), plain.end(), '"') % 2, 0) << line;
  }
}

TEST(GatherText, SaysWhatIsInside) {
  ops::GatherDocument document;
  document.bundles.push_back(
      {"node1", "x/ringtrue-node1.rec.gz", 20480, 812, {"hwloc", "nvml"}, 3, 1.0, true});
  const std::string out = text(document, {});
  EXPECT_EQ(
      out,
      "x/ringtrue-node1.rec.gz: 20.0 KiB, 812 files of node1, answers of hwloc, nvml, counters 1.00 s apart, "
      "3 not readable, redacted\n");
  EXPECT_EQ(nlohmann::json::parse(json(document))["bundles"][0]["bytes"], 20480);
}

}  // namespace
}  // namespace ringtrue::report
