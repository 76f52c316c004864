#include "tui/model/demo_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "campaign/sim_measurer.h"
#include "diagnosis/check.h"
#include "report/json/json.h"
#include "sim/fabric_fault.h"
#include "tui/model/document.h"

namespace ringtrue::tui {
namespace {

constexpr int leaf = 8;
constexpr int bad_cable = 19, silent_node = 13;

campaign::World world_with(const std::string& faults, std::uint64_t seed) {
  campaign::World world;
  world.fabric.nodes = demo_nodes;
  world.fabric.leaf = leaf;
  world.fabric.spines = 4;
  if (auto parsed = sim::parse_fabric_faults(faults)) world.fabric.faults = std::move(*parsed);
  world.noise.run = world.noise.slice = 0.01;
  world.told = campaign::Told::leaves;
  world.seed = seed;
  return world;
}

// Tells what is read, and stops where it is to.
class Watched final : public diagnosis::Measurer {
 public:
  Watched(diagnosis::Measurer& inner, const ops::progress::Sink& tell) : inner_(inner), tell_(tell) {}

  int nodes() const override { return inner_.nodes(); }
  std::string name(int node) const override { return inner_.name(node); }
  diagnosis::Structure structure() const override { return inner_.structure(); }
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override {
    auto read = inner_.measure(experiment);
    if (!read || !tell_) return read;
    for (const diagnosis::HopReading& hop : read->hops) bytes_ += hop.bytes.value;
    std::vector<std::string> names;
    for (int node = 0; node < nodes(); ++node) names.push_back(name(node));
    tell_(ops::progress::Reading{*read, std::move(names), ++runs_, bytes_});
    return read;
  }

 private:
  diagnosis::Measurer& inner_;
  const ops::progress::Sink& tell_;
  std::uint64_t runs_ = 0, bytes_ = 0;
};

}  // namespace

std::string demo_faults(double days, double seconds) {
  std::vector<std::string> faults;
  if (days > -10 && days < -5) faults.emplace_back("slow-link@node11>:share=50%");
  if (days > -3.5) faults.emplace_back("slow-link@node5>:share=51%");
  if (days > -1.5) faults.push_back(fmt::format("slow-link@>node{}:share=90%", bad_cable));
  // Every five minutes something breaks, and is repaired two minutes later.
  const double turn = std::fmod(seconds, 300);
  if (seconds > 0 && turn > 60 && turn < 180)
    faults.push_back(fmt::format("slow-link@>node{}:share=60%", 20 + int(seconds / 300) % 8));
  return fmt::format("{}", fmt::join(faults, ";"));
}

std::shared_ptr<const Moment> demo_check(const std::string& faults, double when, std::uint64_t seed,
                                         const ops::progress::Sink& tell,
                                         const std::function<bool()>& go_on) {
  campaign::SimMeasurer fleet(world_with(faults, seed));
  Watched measurer(fleet, tell);
  diagnosis::Options options;
  options.link_rate = BytesPerSecond(12.5e9);
  options.efficiency = *ideal::ethernet_tcp(9000);
  options.seed = seed;
  options.budget_at_most = diagnosis::usual_budget_at_most;
  options.clock = [&] { return fleet.now(); };
  if (go_on) options.cancelled = [&] { return !go_on(); };
  if (tell) {
    options.on_progress = [&](diagnosis::Stage stage, const std::string& what, double used) {
      tell(ops::progress::Experiment{stage, what, used});
    };
    options.on_budget = [&](Seconds budget, std::optional<Seconds> reading) {
      tell(ops::progress::Budget{budget, reading});
    };
    options.on_suspects = [&](const std::vector<diagnosis::Candidate>& suspects) {
      tell(ops::progress::Suspects{suspects});
    };
  }
  ops::CheckDocument document;
  document.transport = "tcp (modelled)";
  document.diagnosis = diagnosis::run_check(measurer, options);
  if (document.diagnosis.error && document.diagnosis.error->cause == Cause::cancelled) return nullptr;
  for (diagnosis::Finding& f : document.diagnosis.findings)
    if (!f.scope.subject.node.empty()) f.command = "ringtrue check --hosts node[0-31] --link-rate 100Gbit";
  const auto read = read_document(report::json(document), when, "demo");
  if (!read) return nullptr;
  auto moment = std::make_shared<Moment>(*read->moment);
  if (moment->matrix) {
    auto matrix = std::make_shared<Matrix>(*moment->matrix);
    for (int node = 0; node < demo_nodes; ++node) {
      matrix->group.push_back(node / leaf);
      if (node % leaf == 0) matrix->groups.push_back(fmt::format("leaf{}", node / leaf));
    }
    moment->matrix = std::move(matrix);
  }
  // Counters are no part of the model: a cable that is bad counts errors.
  for (const std::string& node : moment->nodes) moment->counted.insert(node);
  if (faults.find(fmt::format(">node{}:", bad_cable)) != std::string::npos) {
    const std::string node = fmt::format("node{}", bad_cable);
    moment->counters.push_back(
        {node, "mlx5_0/1", "symbol_error", 4 + double(seed % 3), 60, {}, false, Level::warning});
    moment->counters.push_back({node, "eth0", "carrier_changes", 2, 60, {}, true, Level::warning});
  }
  return moment;
}

std::shared_ptr<const Topology> demo_topology() {
  auto out = std::make_shared<Topology>();
  for (int node = 0; node < demo_nodes; ++node) {
    Topology::Node shown{fmt::format("node{}", node), {}};
    const auto line = [&](std::string text, Level level = Level::good) {
      shown.lines.push_back({std::move(text), level});
    };
    line("  modelled node, 64 cores, 2 NUMA nodes");
    for (int numa = 0; numa < 2; ++numa) {
      line(fmt::format("  NUMA {}", numa));
      for (int part = 0; part < 2; ++part) {
        const int device = 2 * numa + part;
        line(fmt::format("    PCIe switch 0000:{:x}0:00.0", device + 1));
        line(fmt::format("      GPU{}  0000:{:x}1:00.0, 16 GT/s x16", device, device + 1));
        if (part > 0) continue;
        const bool narrow = node == bad_cable && numa == 0;
        line(fmt::format("{}     mlx5_{}  0000:{:x}2:00.0, 16 GT/s {}, port 1: 100 Gbit/s to leaf{}{}",
                         narrow ? "?" : " ", numa, device + 1, narrow ? "x8" : "x16", node / leaf,
                         narrow ? "  <- pcie-link-degraded" : ""),
             narrow ? Level::warning : Level::good);
      }
    }
    line("");
    line("         mlx5_0  mlx5_1");
    for (int gpu = 0; gpu < 4; ++gpu)
      line(fmt::format("  GPU{}   {:<7} {}", gpu,
                       gpu == 0   ? "PIX"
                       : gpu == 1 ? "PHB"
                                  : "SYS",
                       gpu == 2   ? "PIX"
                       : gpu == 3 ? "PHB"
                                  : "SYS"));
    out->nodes.push_back(std::move(shown));
  }
  out->fabric.push_back({"4 leaves with 8 nodes each, 4 spines, no oversubscription", Level::good});
  for (int l = 0; l < demo_nodes / leaf; ++l)
    out->fabric.push_back({fmt::format("  leaf{}: node[{}-{}], a trunk to each of spine[0-3]", l, l * leaf,
                                       l * leaf + leaf - 1),
                           Level::good});
  return out;
}

}  // namespace ringtrue::tui
