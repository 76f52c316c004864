// Nodes that are not like most: what all have alike is no fault, and like is compared with like alone.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/statistics.h"
#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

constexpr std::size_t min_nodes = 3;  // nodes: of two that differ, nobody can say which is right

// What one node says about one thing: its values, each with the devices that have it.
struct Said {
  const NodeView* node = nullptr;
  std::map<std::string, std::vector<std::string>> values;

  std::string text() const {
    std::vector<std::string> all;
    for (const auto& [value, devices] : values) all.push_back(value);
    return listed(all);
  }
};

using Votes = std::map<std::string, std::vector<Said>>;  // by what is compared: the model of an NIC, ...

void vote(Votes& votes, const NodeView& node, const std::string& key, const std::string& device,
          const std::string& value) {
  std::vector<Said>& said = votes[key];
  if (said.empty() || said.back().node != &node) said.push_back({&node, {}});
  auto& devices = said.back().values[value];
  if (!device.empty()) devices.push_back(device);
}

struct Words {
  const char* thing;    // "firmware"
  bool number = false;  // a count: fewer than most is graver than more
};

void compare(RuleContext& context, const Votes& votes, const Words& words) {
  for (const auto& [key, said] : votes) {
    if (said.size() < 2) continue;
    std::map<std::string, int> counts;
    for (const Said& s : said) ++counts[s.text()];
    if (said.size() >= min_nodes) context.applies();
    if (counts.size() < 2) continue;
    const std::string* most = said.size() >= min_nodes ? majority(counts, context.limits.majority) : nullptr;
    if (!most) {
      std::vector<std::string> all;
      for (const auto& [value, count] : counts)
        if (all.size() < 8) all.push_back(fmt::format("{} on {}", value, count));
      context.cannot(nullptr, "", fmt::format("no majority: {} ({})", words.thing, listed(all)));
      continue;
    }
    for (const Said& s : said) {
      const std::string mine = s.text();
      if (mine == *most) continue;
      std::vector<std::string> devices;
      for (const auto& [value, named] : s.values)
        if (value != *most) devices.insert(devices.end(), named.begin(), named.end());
      const bool nics = devices.size() == 1;
      const bool lacks = words.number && std::atoi(mine.c_str()) < std::atoi(most->c_str());
      context.report(
          s.node, nics ? devices[0] : "",
          {.severity = lacks ? Severity::critical : Severity::warning,
           .type = nics ? (devices[0].find('/') != std::string::npos ? ScopeType::port : ScopeType::nic)
                        : ScopeType::node,
           .values = {{"thing", words.thing},
                      {"devices", devices},
                      {"value", mine},
                      {"alike", counts.at(*most)},
                      {"of_nodes", said.size()},
                      {"usual", *most}}});
    }
  }
}

void mtu(RuleContext& context) {
  Votes votes;
  for (const NodeView& node : context.nodes)
    for (const Nic* nic : node.rails)
      for (const Port& port : nic->ports)
        if (port.mtu.known() && !port.state.is("down"))
          vote(votes, node, kind_of(*nic, node.place(nic->address)), port_name(*nic, port),
               fmt::format("{}", *port.mtu));
  compare(context, votes, {"MTU"});
}

void firmware(RuleContext& context) {
  Votes votes;
  for (const NodeView& node : context.nodes)
    for (const Nic& nic : node.node.nics)
      if (node.has_hardware(nic) && nic.firmware.known())
        vote(votes, node, kind_of(nic, node.place(nic.address)), nic.name, *nic.firmware);
  compare(context, votes, {"firmware"});
}

void driver(RuleContext& context) {
  Votes votes;
  for (const NodeView& node : context.nodes) {
    const System& s = node.node.system;
    if (!node.node.gpus.empty() && s.nvidia_driver.known())
      vote(votes, node, "NVIDIA driver", "", *s.nvidia_driver);
    for (const Nic* nic : node.rails)
      if (nic->driver.known())
        vote(votes, node, kind_of(*nic, node.place(nic->address)), nic->name, *nic->driver);
    if (!node.rails.empty() && s.rdma_core.known()) vote(votes, node, "rdma-core", "", *s.rdma_core);
  }
  compare(context, votes, {"driver"});
}

void kernel(RuleContext& context) {
  Votes votes;
  for (const NodeView& node : context.nodes)
    if (node.node.system.kernel.known()) vote(votes, node, "", "", *node.node.system.kernel);
  compare(context, votes, {"kernel"});
}

void gpu_model(RuleContext& context) {
  Votes votes;
  for (const NodeView& node : context.nodes)
    for (const Gpu& gpu : node.node.gpus)
      if (gpu.model.known()) vote(votes, node, "", "", *gpu.model);
  compare(context, votes, {"GPU model"});
}

// Votes on a number of things; where nobody has any, there is nothing to compare. A node whose devices could
// not be listed lacks none.
template <class Count>
void count(RuleContext& context, const Words& words, Count count_of) {
  Votes votes;
  bool any = false;
  for (const NodeView& node : context.nodes) {
    if (node.node.find_gap(gap::pci_devices) || node.node.find_gap(gap::netdevs)) continue;
    if (const auto n = count_of(node)) {
      vote(votes, node, "", "", fmt::format("{}", *n));
      any |= *n > 0;
    }
  }
  if (any) compare(context, votes, words);
}

void gpu_count(RuleContext& context) {
  count(context, {"number of GPUs", true},
        [](const NodeView& n) -> std::optional<std::size_t> { return n.node.gpus.size(); });
}

void nic_count(RuleContext& context) {
  count(context, {"number of NICs that carry data", true},
        [](const NodeView& n) -> std::optional<std::size_t> { return n.rails.size(); });
}

// By GPU: one that is missing, or that has fewer than its sisters, is told of already.
void nvlink_count(RuleContext& context) {
  count(context, {"fewest NVLinks of a GPU", true}, [&](const NodeView& n) -> std::optional<std::size_t> {
    std::optional<std::size_t> min_links;
    for (const Gpu& gpu : n.node.gpus) {
      if (!gpu.nvlinks || context.reported(&n, gpu.name, "nvlink-")) return std::nullopt;
      min_links = std::min(min_links.value_or(gpu.nvlinks->size()), gpu.nvlinks->size());
    }
    return min_links;
  });
}

// Nodes of one kind differ by some pages; one per cent is a module.
void memory(RuleContext& context) {
  constexpr double alike = 0.01;
  std::vector<std::pair<double, const NodeView*>> all;
  for (const NodeView& node : context.nodes) {
    double sum = 0;
    for (const NumaNode& n : node.node.processors.numa) sum += double(n.memory.value_or(Bytes(0)).value);
    if (sum > 0) all.emplace_back(sum, &node);
  }
  if (all.size() < min_nodes) return;
  context.applies();
  std::vector<double> sizes;
  for (const auto& [size, node] : all) sizes.push_back(size);
  const double middle = upper_median(sizes);
  const auto near = [&](double size) { return std::abs(size - middle) <= alike * middle; };
  const auto many = std::ranges::count_if(sizes, near);
  if (many <= context.limits.majority * double(sizes.size())) {
    context.cannot(nullptr, "", "no majority: nodes' memory sizes differ");
    return;
  }
  for (const auto& [size, node] : all) {
    if (near(size)) continue;
    context.report(
        node, "",
        {.values = {
             {"memory_bytes", size}, {"alike", many}, {"of_nodes", all.size()}, {"usual_bytes", middle}}});
  }
}

constexpr Rule fleet_table[] = {
    {FindingKind::mtu_mismatch, Severity::warning, ScopeType::node, mtu},
    {FindingKind::firmware_mismatch, Severity::warning, ScopeType::node, firmware},
    {FindingKind::driver_mismatch, Severity::warning, ScopeType::node, driver},
    {FindingKind::kernel_mismatch, Severity::warning, ScopeType::node, kernel},
    {FindingKind::gpu_model_mismatch, Severity::warning, ScopeType::node, gpu_model},
    {FindingKind::gpu_count_mismatch, Severity::critical, ScopeType::node, gpu_count},
    {FindingKind::nic_count_mismatch, Severity::critical, ScopeType::node, nic_count},
    {FindingKind::nvlink_count_mismatch, Severity::critical, ScopeType::node, nvlink_count},
    {FindingKind::memory_mismatch, Severity::warning, ScopeType::node, memory},
};

}  // namespace

const std::span<const Rule> fleet_rules = fleet_table;

}  // namespace ringtrue::diagnosis
