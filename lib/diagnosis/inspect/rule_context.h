// What rules see: a cluster whose nodes can be walked quickly, the thresholds, and where to report. For the
// rules of this folder alone: others include inspect.h.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/plural.h"
#include "diagnosis/inspect/inspect.h"
#include "topology/links.h"
#include "topology/model.h"
#include "topology/pci_tree.h"
#include "topology/rails.h"

namespace ringtrue::diagnosis {

// A device that traffic comes from: what hangs below a bridge, as far as it matters here.
struct Part {
  std::string name;  // "GPU3", "mlx5_0", "NVSwitch0"
  const topology::Gpu* gpu = nullptr;
  const topology::Nic* nic = nullptr;
  const topology::PciDevice* device = nullptr;
};

// One node with its PCI tree.
class NodeView {
 public:
  NodeView(const topology::Node& node, int index);

  const topology::Node& node;
  const int index;

  struct Place {
    const topology::PciDevice* device = nullptr;
    const Place* parent = nullptr;
    std::vector<const Place*> children;
    std::vector<const Part*> parts;  // at this device and below it; virtual NICs are none
  };
  std::vector<Place> places;  // as node.pci
  std::vector<Part> parts;
  // The NICs that carry data (topology/rails.h), their links up or not; none of software alone.
  std::vector<const topology::Nic*> rails;

  const Place* place(const std::string& address) const;  // nullptr: none
  bool is_rail(const topology::Nic& nic) const;
  // Whether there is hardware of its own behind it: physical ones, and on a machine that has none of these
  // the virtual functions that were passed through to it.
  bool has_hardware(const topology::Nic& nic) const;
  bool has_rdma() const;  // of hardware
  // From the device itself up to the port below the host bridge.
  std::vector<const Place*> way_up(const std::string& address) const;
  std::optional<int> numa(const std::string& address) const;  // its own, or that of what is above it
  std::optional<int> socket(int numa) const;  // nullopt: numa nodes are there whose socket nobody told
  bool nvidia(const topology::Gpu& gpu) const;

 private:
  topology::PciTree tree_;
  bool physical_nics_ = false;
};

std::vector<std::string> names(const std::vector<const Part*>& parts);
// What makes NICs sisters: vendor, device, board and link layer. `place`: nullptr where it has no PCI device.
std::string kind_of(const topology::Nic& nic, const NodeView::Place* place);
std::string port_name(const topology::Nic& nic, const topology::Port& port);  // "mlx5_0/1"

// Of a PCIe link. 0, 255 and "unknown" are what idle, virtual and half-removed devices say: nullopt.
std::optional<double> speed_of(const topology::Fact<double>& speed);
std::optional<int> width_of(const topology::Fact<int>& width);

struct Report {
  std::optional<Severity> severity = {};  // nullopt: the rule's
  std::optional<ScopeType> type = {};     // nullopt: the rule's
  std::vector<Quantity> values = {};      // what lib/report/text/rules.cc has sentences for
  std::optional<BytesPerSecond> measured = {}, expected = {};
  double sure = 1;  // 1 where the fact itself is the fault; else one of these
};

// What follows from others like it alone; and what a fact that nobody told may explain.
constexpr double by_comparison = 0.9, by_half = 0.7;

class RuleContext {
 public:
  RuleContext(const topology::Cluster& cluster, const run::InspectThresholds& limits,
              const std::vector<NodeView>& nodes, Inspection& out);

  const topology::Cluster& cluster;
  const run::InspectThresholds& limits;
  const std::vector<NodeView>& nodes;

  void begin(const Rule& rule);
  void applies();  // its hardware is there
  // `node`: nullptr for the fabric and the fleet; `device`: empty for the node itself.
  void report(const NodeView* node, const std::string& device, Report report);
  // Whether this part was named by an earlier rule, whose id starts so: one cause is told once.
  bool reported(const NodeView* node, const std::string& device, std::string_view family) const;
  // A fact is missing. Told once for each reason, with the devices and nodes that it holds for. `about`: what
  // could not be checked, where that is not the rule.
  void cannot(const NodeView* node, const std::string& device, const std::string& why,
              std::string_view about = {});
  // The same of what no rule needs by itself.
  void missing(const NodeView* node, const std::string& device, const std::string& why,
               std::string_view about);
  // Looks at the node's counters that are `wanted` and rose within its window; names those of which nobody
  // can say.
  void each_rise(
      const NodeView& node, const std::function<bool(const run::CounterChange&)>& wanted,
      const std::function<void(const run::CounterChange&, std::uint64_t by, double seconds)>& look);
  void end();  // writes not_checked, plays down what all nodes have alike, sorts the findings

 private:
  struct Unknown {
    std::string about, why;
    std::vector<std::string> devices;  // of the first node
    std::vector<std::string> nodes;    // the first few
    std::size_t node_count = 0;
    const NodeView* last = nullptr;
  };
  Inspection& out_;
  void play_down_what_all_have();

  const Rule* rule_ = nullptr;
  bool applied_ = false;
  std::vector<Unknown> unknown_;
  std::unordered_map<std::string, std::size_t> unknown_index_;
  std::set<std::tuple<int, std::string, std::string_view>> reported_;
};

// The value that more than `share` of all have; nullptr: none.
template <class T>
const T* majority(const std::map<T, int>& votes, double share) {
  int all = 0;
  for (const auto& [value, count] : votes) all += count;
  for (const auto& [value, count] : votes)
    if (count > share * all) return &value;
  return nullptr;
}

// How a counter rose within a window, and `more`.
std::vector<Quantity> rise_values(const run::CounterChange& change, double seconds,
                                  std::vector<Quantity> more = {});

// The tables of rules, one a file.
extern const std::span<const Rule> pci_rules, nvlink_rules, gpu_rules, port_rules, counter_rules,
    affinity_rules, system_rules, fleet_rules, fabric_rules;

}  // namespace ringtrue::diagnosis
