// Each rule finds its fault and leaves its look-alikes alone; healthy machines have no findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cases.h"
#include "paths.h"
#include "report/text/wording.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;
using namespace test;

const Cases& cases() {
  static const Cases all = [] {
    Cases out;
    for (const auto part : {pci_cases, nvlink_cases, gpu_cases, port_cases, counter_cases, system_cases,
                            fleet_cases, fabric_cases})
      for (Case& c : part()) out.push_back(std::move(c));
    return out;
  }();
  return all;
}

std::string describe(const Inspection& inspection) {
  std::string text;
  for (const Finding& f : inspection.findings) {
    text += fmt::format("\n{} {} {}", key_of(f.severity), key_of(f.kind), f.scope.text());
    for (const std::string& e : report::sentences(f.evidence)) text += "\n    " + e;
    text += "\n    cost: " + report::sentence(f.impact) + "\n    next: " + report::sentence(f.next);
  }
  for (const NotChecked& told : inspection.not_checked) {
    const auto [what, why] = report::not_checked(told);
    text += fmt::format("\nnot checked {}: {}", what, why);
  }
  return text;
}

// A rule of no more than info is fired by an info; others by more than that.
bool fires(const Inspection& inspection, const Case& c) {
  const Rule* rule = nullptr;
  for (const Rule& r : rules())
    if (key_of(r.kind) == c.rule) rule = &r;
  const Severity least = rule->severity == Severity::info ? Severity::info : Severity::warning;
  for (const Finding& f : inspection.findings)
    if (key_of(f.kind) == c.rule && f.severity >= least &&
        (c.device.empty() || f.scope.subject.device == c.device))
      return true;
  return false;
}

TEST(Inspection, finds_each_fault_and_leaves_look_alikes_alone) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{}: {}", c.rule, c.name));
    const Inspection found = inspect(c.cluster);
    EXPECT_EQ(fires(found, c), c.fires) << describe(found);
  }
}

TEST(Inspection, has_a_fault_and_a_look_alike_for_each_rule) {
  std::map<std::string_view, std::set<bool>> seen;
  for (const Case& c : cases()) seen[c.rule].insert(c.fires);
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(seen[key_of(rule.kind)].contains(true))
        << key_of(rule.kind) << " has no machine on which it fires";
    EXPECT_TRUE(seen[key_of(rule.kind)].contains(false))
        << key_of(rule.kind) << " has no look-alike on which it stays quiet";
  }
  EXPECT_EQ(seen.size(), rules().size()) << "a case is of no rule";
}

// A look-alike of one rule is no fault of another either, unless it says so.
TEST(Inspection, leaves_look_alikes_alone_altogether) {
  for (const Case& c : cases()) {
    if (c.fires) continue;
    SCOPED_TRACE(fmt::format("{}: {}", c.rule, c.name));
    const Inspection found = inspect(c.cluster);
    for (const Finding& f : found.findings)
      if (f.severity != Severity::info) {
        EXPECT_THAT(c.also, testing::Contains(key_of(f.kind))) << describe(found);
      }
  }
}

TEST(Inspection, finds_nothing_on_healthy_machines) {
  for (const Cluster& c : {cluster_of(3, hgx_h100), cluster_of(1, pcie_box), cluster_of(4, four_rails)}) {
    const Inspection found = inspect(c);
    EXPECT_TRUE(found.findings.empty()) << describe(found);
  }
}

TEST(Inspection, writes_findings_that_a_person_can_act_on) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{}: {}", c.rule, c.name));
    const Inspection found = inspect(c.cluster);
    Severity last = Severity::critical;
    for (const Finding& f : found.findings) {
      EXPECT_LE(f.severity, last);
      last = f.severity;
      EXPECT_FALSE(f.evidence.empty());
      for (const std::string& e : report::sentences(f.evidence)) EXPECT_FALSE(e.empty());
      EXPECT_FALSE(f.impact.empty());
      EXPECT_FALSE(f.next.empty());
      EXPECT_GE(f.scope.node, -1);
      EXPECT_LT(f.scope.node, int(c.cluster.nodes.size()));
      if (f.scope.node >= 0) {
        EXPECT_EQ(f.scope.subject.node, c.cluster.nodes[std::size_t(f.scope.node)].name);
      }
      for (const Rule& r : rules())
        if (r.kind == f.kind) {
          EXPECT_LE(f.severity, r.severity) << key_of(f.kind);
        }
      EXPECT_THAT(found.rules, testing::Contains(f.kind));
    }
    for (const NotChecked& told : found.not_checked) {
      const auto n = report::not_checked(told);
      EXPECT_FALSE(n.what.empty());
      EXPECT_FALSE(n.why.empty());
    }
  }
}

TEST(Inspection, applies_rules_only_where_their_hardware_is) {
  Cluster c = one(bare("node0"));
  Inspection found = inspect(c);
  EXPECT_THAT(found.rules, testing::IsEmpty()) << describe(found);
  EXPECT_TRUE(found.not_checked.empty()) << describe(found);

  found = inspect(cluster_of(1, pcie_box));
  EXPECT_THAT(found.rules, testing::Not(testing::Contains(FindingKind::nvlink_errors)));
  EXPECT_THAT(found.rules, testing::Contains(FindingKind::pcie_link_degraded));
}

bool says(const Inspection& found, const std::string& what, const std::string& why) {
  for (const NotChecked& told : found.not_checked)
    if (const auto n = report::not_checked(told);
        n.what.find(what) != std::string::npos && n.why.find(why) != std::string::npos)
      return true;
  return false;
}

TEST(Inspection, says_what_it_could_not_check) {
  EXPECT_TRUE(says(inspect(hgx([](Node& n) { run_at(n, n.gpus[0].address, 2.5, 16); })),
                   "pcie-link-degraded: GPU0 of node0", "idle"));
  const Inspection healthy = inspect(hgx([](Node&) {}));
  EXPECT_TRUE(says(healthy, "error counters of ports", "read once")) << describe(healthy);
  EXPECT_TRUE(says(healthy, "nvlink-errors", "read once"));
  EXPECT_TRUE(says(healthy, "the fabric's switches and cables", "not read"));
  EXPECT_TRUE(
      says(inspect(rails([](Node& n) { rises(n, "mlx5_1/1", "symbol_error", 65535, 65535, 10, true); })),
           "symbol-errors: mlx5_1/1", "stands at its end"));
  EXPECT_TRUE(
      says(inspect(rails([](Node& n) { rises(n, "mlx5_1/1", "symbol_error", 9, 1, 10, false, true); })),
           "symbol-errors: mlx5_1/1", "reset"));
  const Inspection two = inspect(changed(2, hgx_h100, [](Node& n) { n.system.kernel.value = "6.1"; }));
  EXPECT_TRUE(says(two, "kernel-mismatch", "no majority")) << describe(two);
  const Inspection blind = inspect(hgx([](Node& n) {
    for (PciDevice& d : n.pci) d.link = {}, d.acs_redirect = {};
    for (Gpu& g : n.gpus) g.nvlinks.reset(), g.throttle = {};
    for (Nic& nic : n.nics) nic.ports[0].state = {}, nic.ports[0].rate = {};
    n.system = {};
  }));
  for (const char* rule : {"pcie-link-degraded", "acs-redirect", "nvlink-fewer-than-sisters", "gpu-throttled",
                           "port-down", "iommu-translated", "memlock-low", "gpudirect-impossible"})
    EXPECT_TRUE(says(blind, rule, "")) << rule << describe(blind);
  EXPECT_TRUE(blind.findings.empty()) << describe(blind);
}

TEST(Inspection, speaks_of_a_degraded_uplink_as_it_is) {
  const Inspection found = inspect(hgx([](Node& n) {
    as_nccl(n);
    for (const char* port : {"0000:11:00.0", "0000:21:00.0"}) pci_of(n, port).link.width.value = 8;
  }));
  int ports = 0;
  for (const Finding& f : found.findings) {
    if (f.kind != FindingKind::pcie_uplink_slower) continue;
    ++ports;
    EXPECT_EQ(f.severity, Severity::warning);
    EXPECT_THAT(report::sentence(f.impact),
                testing::HasSubstr("peer traffic under the switch is not affected"));
    EXPECT_DOUBLE_EQ(f.ratio.value_or(0), 0.5);
  }
  EXPECT_EQ(ports, 2) << describe(found);
}

TEST(Inspection, says_what_a_slow_rail_costs) {
  const Inspection found = inspect(rails([](Node& n) { run_at(n, n.nics[2].address, 16, 8); }));
  ASSERT_EQ(found.findings.size(), 1u) << describe(found);
  const Finding& f = found.findings[0];
  EXPECT_EQ(f.severity, Severity::critical);
  EXPECT_EQ(f.scope.text(), "node0 mlx5_2");
  EXPECT_EQ(report::sentence(f.impact), "this rail (mlx5_2) carries 15.8 GB/s of 25.0 GB/s");
}

TEST(Inspection, holds_short_windows_to_more_than_chance) {
  const auto severity = [](std::uint64_t by, double seconds) {
    const Inspection found =
        inspect(rails([&](Node& n) { rises(n, "mlx5_0/1", "symbol_error", 0, by, seconds); }));
    EXPECT_EQ(found.findings.size(), 1u) << describe(found);
    return found.findings.empty() ? Severity::info : found.findings[0].severity;
  };
  EXPECT_EQ(severity(1, 1), Severity::info);
  EXPECT_EQ(severity(412, 20), Severity::critical);
  EXPECT_EQ(severity(120, 3600), Severity::info);
  EXPECT_EQ(severity(121, 3600), Severity::critical);
}

TEST(Inspection, follows_its_thresholds) {
  run::InspectThresholds t;
  ASSERT_TRUE(set(t, "memlock_bytes", 1000));
  const Cluster low = hgx([](Node& n) { n.system.memlock.value = Bytes(65536); });
  EXPECT_EQ(inspect(low).findings.size(), 1u);
  EXPECT_TRUE(inspect(low, t).findings.empty());
  for (const auto& [name, value] : list(run::InspectThresholds{})) EXPECT_TRUE(set(t, name, value)) << name;
  EXPECT_EQ(set(t, "memlok_bytes", 1).error().next, "did you mean memlock_bytes?");
  EXPECT_FALSE(set(t, "pci_warning", 1.5));
  EXPECT_FALSE(set(t, "majority", 0.2));
  EXPECT_FALSE(set(t, "carrier_changes", -1));
}

TEST(Inspection, bears_a_tree_that_somebody_made_up) {
  Cluster c = hgx([](Node& n) {
    n.pci[0].parent = n.pci[1].address;  // a loop
    n.pci[5].parent = n.pci[5].address;
    n.gpus[0].address = n.nics[0].address = "nowhere";
    n.nics[1].ports.clear();
  });
  EXPECT_FALSE(inspect(c).rules.empty());
}

TEST(Inspection, misses_nothing_of_a_node_whose_devices_could_not_be_listed) {
  using topology::origin::sysfs;
  Cluster c = test::cluster_of(4, hgx_h100);
  Node& node = c.nodes[2];
  node.gpus.clear(), node.nics.clear(), node.nvswitches.clear(), node.pci.clear();
  node.gaps = {{sysfs, std::string(topology::gap::pci_devices), "permission denied"}};
  Inspection found = inspect(c);
  EXPECT_THAT(found.findings, testing::IsEmpty());
  EXPECT_TRUE(says(found, "PCI devices: node2", "permission denied"));
  EXPECT_THAT(found.unread, testing::IsEmpty());
  node.gaps.push_back({sysfs, std::string(topology::gap::netdevs), "permission denied"});
  EXPECT_THAT(inspect(c).unread, testing::ElementsAre("node2"));
}

TEST(Inspection, is_quick_on_many_nodes) {
  Cluster c;
  const Node model = hgx_h100("node");
  for (int i = 0; i < 1000; ++i) {
    c.nodes.push_back(model);
    c.nodes.back().name = fmt::format("node{}", i);
  }
  c.nodes[7].system.kernel.value = "6.1";
  const auto begin = std::chrono::steady_clock::now();
  const Inspection found = inspect(c);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(found.findings.size(), 1u);
  EXPECT_LT(took.count(), 5);
  for (const NotChecked& n : found.not_checked) EXPECT_LT(report::not_checked(n).what.size(), 200u);
}

TEST(Inspection, has_a_page_for_each_rule) {
  std::ifstream in(std::string(RINGTRUE_SOURCE_DIR) + "/docs/rules.md");
  ASSERT_TRUE(in);
  std::set<std::string> told, known;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("### `")) told.insert(line.substr(5, line.find('`', 5) - 5));
  for (const Rule& rule : rules()) EXPECT_TRUE(known.insert(key_of(rule.kind)).second) << key_of(rule.kind);
  EXPECT_EQ(told, known);
}

TEST(Inspection, has_its_thresholds_on_that_page) {
  std::ifstream in(std::string(RINGTRUE_SOURCE_DIR) + "/docs/rules.md");
  std::stringstream text;
  text << in.rdbuf();
  for (const auto& [name, value] : list(run::InspectThresholds{}))
    EXPECT_THAT(text.str(), testing::HasSubstr(fmt::format("| `{}` | {:g} |", name, value)));
}

}  // namespace
}  // namespace ringtrue::diagnosis
