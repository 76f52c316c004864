// Every cable between switches that is taken out of a fat tree is found, or named among what could not be
// checked; and nothing else is blamed.
#include "diagnosis/inspect/missing_cables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnosis/inspect/inspect.h"
#include "report/text/text.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

// Pods of leaves and spines, all to all within a pod by `parallel` cables; `cores` above each spine, which
// join the spines of that place in all pods. One pod: two levels.
struct Tree {
  int pods, leaves, spines, parallel, cores, hosts;

  Fabric make() const {
    Fabric f;
    const auto switch_of = [&](char kind, int at) {
      const std::string guid = fmt::format("{:016x}", kind * 0x10000 + at);
      f.switches.push_back({guid, fmt::format("MF0;{}{}:MQM8700/U1", kind, at), 64, {}});
      return guid;
    };
    const auto cable = [&](const std::string& a, const std::string& b) {
      f.links.push_back({{a, int(f.links.size()) + 1}, {b, int(f.links.size()) + 1}, {}, {}, {}, {}});
    };
    std::vector<std::string> tops;
    for (int c = 0; c < spines * cores; ++c) tops.push_back(switch_of('c', c));
    for (int p = 0; p < pods; ++p) {
      std::vector<std::string> above;
      for (int s = 0; s < spines; ++s) {
        above.push_back(switch_of('b', p * spines + s));
        for (int c = 0; c < cores; ++c) cable(above.back(), tops[std::size_t(s * cores + c)]);
      }
      for (int l = 0; l < leaves; ++l) {
        const std::string leaf = switch_of('a', p * leaves + l);
        for (int h = 0; h < hosts; ++h) {
          const std::string guid = fmt::format("{:016x}", 0xf000000 + (p * leaves + l) * 256 + h);
          f.hosts.push_back({guid, "node mlx5_0", guid, false});
          cable(leaf, guid);
        }
        for (const std::string& spine : above)
          for (int i = 0; i < parallel; ++i) cable(leaf, spine);
      }
    }
    return f;
  }
};

constexpr Tree trees[] = {
    {1, 2, 1, 2, 0, 4}, {1, 2, 2, 1, 0, 4}, {1, 3, 2, 1, 0, 4},  {1, 4, 1, 1, 0, 2},   {1, 4, 2, 1, 0, 4},
    {1, 8, 3, 2, 0, 4}, {1, 4, 2, 4, 0, 8}, {1, 16, 8, 1, 0, 4}, {1, 20, 16, 1, 0, 2}, {1, 1, 2, 2, 0, 4},
    {2, 2, 2, 1, 1, 2}, {2, 2, 2, 1, 2, 2}, {2, 4, 2, 1, 1, 4},  {3, 3, 3, 1, 3, 2},   {4, 4, 2, 2, 2, 4},
    {4, 4, 4, 1, 4, 4}, {2, 8, 4, 1, 4, 8},
};

bool names(const MissingCable& missing, const FabricLink& cable) {
  const auto is = [&](const std::string& a, const std::string& b) {
    return missing.from == a && (missing.to == b || missing.to.empty());
  };
  return is(cable.a.guid, cable.b.guid) || is(cable.b.guid, cable.a.guid);
}

std::string text(const MissingCables& all) {
  std::string out;
  for (const MissingCable& m : all.found)
    out += fmt::format("{} - {}: {} of {}\n", m.from, m.to, m.cables, m.usual);
  for (const UnjudgedCables& u : all.unjudged) out += fmt::format("{}: {}\n", fmt::join(u.what, ", "), u.why);
  return out;
}

class FatTree : public testing::TestWithParam<Tree> {};
INSTANTIATE_TEST_SUITE_P(Of, FatTree, testing::ValuesIn(trees), [](const auto& info) {
  const Tree& t = info.param;
  return fmt::format("{}pods_{}x{}x{}_{}cores", t.pods, t.leaves, t.spines, t.parallel, t.cores);
});

TEST_P(FatTree, BlamesNothingWhenWhole) {
  EXPECT_THAT(find_missing_cables(GetParam().make()).found, testing::IsEmpty());
}

TEST_P(FatTree, MissesNoCableThatIsTakenOut) {
  const Fabric whole = GetParam().make();
  for (std::size_t i = 0; i < whole.links.size(); ++i) {
    const FabricLink& out = whole.links[i];
    Fabric fabric = whole;
    fabric.links.erase(fabric.links.begin() + std::ptrdiff_t(i));
    const MissingCables seen = find_missing_cables(fabric);
    for (const MissingCable& m : seen.found)
      EXPECT_TRUE(names(m, out)) << "without " << out.a.guid << " - " << out.b.guid << ":\n" << text(seen);
    const bool to_host =
        !std::ranges::any_of(whole.switches, [&](const auto& s) { return s.guid == out.b.guid; });
    bool told = !seen.found.empty();
    for (const UnjudgedCables& u : seen.unjudged)
      for (const std::string& end : {out.a.guid, out.b.guid}) told |= std::ranges::count(u.what, end) > 0;
    // A leaf alone has nothing to compare the number of its hosts with.
    if (!told && !(to_host && GetParam().leaves == 1)) {
      // A switch that has no cable to another left is another rule's.
      Cluster cluster;
      cluster.fabric = fabric;
      const Inspection all = inspect(cluster);
      const bool isolated = std::ranges::any_of(
          all.findings, [](const Finding& f) { return f.kind == FindingKind::fabric_switch_isolated; });
      EXPECT_TRUE(isolated) << "without " << out.a.guid << " - " << out.b.guid << ":\n" << text(seen);
    }
  }
}

TEST(MissingCables, AreFoundWhereEnoughAreAlike) {
  int cables = 0, found = 0;
  for (const Tree& t : trees) {
    if (t.pods * t.leaves < 4) continue;
    const Fabric whole = t.make();
    for (std::size_t i = 0; i < whole.links.size(); ++i) {
      if (whole.links[i].b.guid >= "000000000f000000") continue;
      Fabric fabric = whole;
      fabric.links.erase(fabric.links.begin() + std::ptrdiff_t(i));
      ++cables;
      found += !find_missing_cables(fabric).found.empty();
    }
  }
  EXPECT_GT(found, cables * 9 / 10) << "of " << cables;
}

// Two of one switch are two findings, each with the other end, and names stay whole.
TEST(MissingCables, AreToldOneByOne) {
  Cluster cluster;
  cluster.fabric = Tree{1, 20, 20, 1, 0, 4}.make();
  Fabric& fabric = *cluster.fabric;
  const auto name_of = [&](const std::string& guid) {
    return std::ranges::find(fabric.switches, guid, &FabricSwitch::guid)->name;
  };
  const std::string leaf = fabric.links[4].a.guid;
  EXPECT_EQ(name_of(leaf), "MF0;a0:MQM8700/U1");
  fabric.links.erase(fabric.links.begin() + 4, fabric.links.begin() + 6);  // to b0 and b1
  const std::string text = report::findings_text(inspect(cluster).findings, {});
  EXPECT_THAT(text, testing::HasSubstr("fabric-trunks-fewer: MF0;a0:MQM8700/U1, 90 % sure"));
  EXPECT_THAT(text, testing::HasSubstr("MF0;a0:MQM8700/U1 has no cable to MF0;b0:MQM8700/U1"));
  EXPECT_THAT(text, testing::HasSubstr("MF0;a0:MQM8700/U1 has no cable to MF0;b1:MQM8700/U1"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("nodes, :")));
}

}  // namespace
}  // namespace ringtrue::diagnosis
