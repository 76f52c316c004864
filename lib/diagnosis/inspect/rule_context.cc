#include "diagnosis/inspect/rule_context.h"

#include <algorithm>

#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

std::vector<const Nic*> find_rails(const NodeView& context) {
  std::vector<const Nic*> all;
  for (const RailPort& rail : topology::find_rails(context.node)) {
    // One that lost its link still is a rail.
    const bool is_rail = rail.why_not == NoRail::none || rail.why_not == NoRail::down;
    if (is_rail && context.has_hardware(*rail.nic) && std::ranges::find(all, rail.nic) == all.end())
      all.push_back(rail.nic);
  }
  return all;
}

// Findings of how a machine was put together. What wears, breaks or is set by software is told of all nodes,
// too.
bool is_built_so(FindingKind kind) {
  using enum FindingKind;
  return kind == pcie_link_degraded || kind == pcie_uplink_slower || kind == nic_pcie_bound ||
         kind == nvlink_fewer_than_sisters || kind == gpu_link_unlike_sisters || kind == port_rate_degraded ||
         kind == rail_unlike_sisters || kind == gpu_far_nic;
}

}  // namespace

NodeView::NodeView(const Node& n, int i) : node(n), index(i), places(n.pci.size()), tree_(n) {
  const auto place_of = [&](const PciDevice* device) {
    return device ? &places[std::size_t(device - n.pci.data())] : nullptr;
  };
  for (std::size_t p = 0; p < places.size(); ++p) {
    Place* const above = place_of(tree_.parent(n.pci[p]));
    places[p].device = &n.pci[p];
    if (!above || above == &places[p]) continue;
    places[p].parent = above;
    above->children.push_back(&places[p]);
  }
  parts.reserve(n.gpus.size() + n.nics.size() + n.nvswitches.size());
  const auto add = [&](Part part, const std::string& address) {
    part.device = tree_.find(address);
    if (!part.device) return;
    parts.push_back(std::move(part));
    for (const PciDevice* above : tree_.up(address)) place_of(above)->parts.push_back(&parts.back());
  };
  for (const Gpu& gpu : n.gpus) add({gpu.name, &gpu, nullptr, nullptr}, gpu.address);
  for (const Nic& nic : n.nics)
    if (!nic.virtual_device) add({nic.name, nullptr, &nic, nullptr}, nic.address);
  for (const NvSwitch& s : n.nvswitches) add({s.name, nullptr, nullptr, nullptr}, s.address);
  physical_nics_ = std::ranges::any_of(n.nics, [](const Nic& nic) { return !nic.virtual_device; });
  rails = find_rails(*this);
}

const NodeView::Place* NodeView::place(const std::string& address) const {
  const PciDevice* device = tree_.find(address);
  return device ? &places[std::size_t(device - node.pci.data())] : nullptr;
}

bool NodeView::has_hardware(const Nic& nic) const {
  if (!nic.virtual_device || physical_nics_) return !nic.virtual_device;
  const Place* p = place(nic.address);
  return p && p->device->virtual_function && p->device->physical_function.empty();
}

bool NodeView::has_rdma() const {
  return std::ranges::any_of(node.nics, [&](const Nic& n) { return !n.rdma.empty() && has_hardware(n); });
}

bool NodeView::is_rail(const Nic& nic) const {
  return std::ranges::find(rails, &nic) != rails.end();
}

std::vector<const NodeView::Place*> NodeView::way_up(const std::string& address) const {
  std::vector<const Place*> way;
  for (const PciDevice* device : tree_.up(address)) way.push_back(place(device->address));
  return way;
}

std::optional<int> NodeView::numa(const std::string& address) const {
  for (const Place* p : way_up(address))
    if (p->device->numa.known() && *p->device->numa >= 0) return *p->device->numa;
  return std::nullopt;
}

std::optional<int> NodeView::socket(int number) const {
  for (const NumaNode& n : node.processors.numa)
    if (n.number == number && n.package >= 0) return n.package;
  // Two NUMA nodes are two sockets unless somebody says otherwise; of more, several may share one.
  if (node.processors.numa.size() > 2 || node.processors.packages.is(1)) return std::nullopt;
  return number;
}

bool NodeView::nvidia(const Gpu& gpu) const {
  const Place* p = place(gpu.address);
  return !p || p->device->vendor.value_or(0x10de) == 0x10de;
}

std::vector<std::string> names(const std::vector<const Part*>& parts) {
  std::vector<std::string> all;
  for (const Part* part : parts) all.push_back(part->name);
  return all;
}

std::string kind_of(const Nic& nic, const NodeView::Place* place) {
  std::string kind = nic.model.value_or("");
  if (place)
    kind += fmt::format(" {:04x}:{:04x} {:04x}:{:04x}", place->device->vendor.value_or(0),
                        place->device->device.value_or(0), place->device->subsystem_vendor.value_or(0),
                        place->device->subsystem_device.value_or(0));
  if (!nic.ports.empty()) kind += fmt::format(" {}", name(nic.ports[0].layer));
  return kind;
}

std::string port_name(const Nic& nic, const Port& port) {
  return fmt::format("{}/{}", nic.name, port.number);
}

std::optional<double> speed_of(const Fact<double>& speed) {
  return speed.known() && pci_generation(*speed) > 0 ? speed.value : std::nullopt;
}

std::optional<int> width_of(const Fact<int>& width) {
  return width.known() && *width > 0 && *width <= 32 ? width.value : std::nullopt;
}

RuleContext::RuleContext(const Cluster& c, const run::InspectThresholds& t, const std::vector<NodeView>& n,
                         Inspection& out)
    : cluster(c), limits(t), nodes(n), out_(out) {}

void RuleContext::begin(const Rule& rule) {
  rule_ = &rule;
  applied_ = false;
}

void RuleContext::applies() {
  if (!applied_) out_.rules.push_back(rule_->kind);
  applied_ = true;
}

void RuleContext::report(const NodeView* node, const std::string& device, Report r) {
  applies();
  Finding f;
  f.severity = r.severity.value_or(rule_->severity);
  f.kind = rule_->kind;
  f.scope.type = r.type.value_or(rule_->type);
  f.scope.node = node ? node->index : -1;
  if (node) f.scope.subject = node->node.name;
  f.scope.subject.device = device;
  f.measured = r.measured;
  f.expected = r.expected;
  if (r.measured && r.expected && r.expected->value > 0) f.ratio = *r.measured / *r.expected;
  f.confidence = r.sure;
  r.values.emplace_back("measured_Bps", r.measured);
  r.values.emplace_back("expected_Bps", r.expected);
  Statement said = {StatementKind::rule_evidence, {f.scope.subject}, std::move(r.values)};
  said.rule = f.kind;
  f.evidence = {said};
  f.impact = f.next = std::move(said);
  f.impact.kind = StatementKind::rule_impact;
  f.next.kind = StatementKind::rule_next;
  if (f.severity != Severity::info) reported_.emplace(f.scope.node, device, key_of(rule_->kind));
  out_.findings.push_back(std::move(f));
}

bool RuleContext::reported(const NodeView* node, const std::string& device, std::string_view family) const {
  const int index = node ? node->index : -1;
  const auto it = reported_.lower_bound({index, device, family});
  return it != reported_.end() && std::get<0>(*it) == index && std::get<1>(*it) == device &&
         std::get<2>(*it).starts_with(family);
}

void RuleContext::cannot(const NodeView* node, const std::string& device, const std::string& why,
                         std::string_view about) {
  applies();
  missing(node, device, why, about.empty() ? key_of(rule_->kind) : about);
}

void RuleContext::missing(const NodeView* node, const std::string& device, const std::string& why,
                          std::string_view about) {
  const auto [at, fresh] = unknown_index_.try_emplace(fmt::format("{}\n{}", about, why), unknown_.size());
  if (fresh) unknown_.push_back({std::string(about), why, {}, {}, 0, nullptr});
  Unknown& u = unknown_[at->second];
  if (node && node != u.last) {
    if (++u.node_count <= 4) u.nodes.push_back(node->node.name);
    u.last = node;
  }
  if (u.node_count <= 1 && !device.empty()) u.devices.push_back(device);
}

void RuleContext::each_rise(
    const NodeView& node, const std::function<bool(const run::CounterChange&)>& wanted,
    const std::function<void(const run::CounterChange&, std::uint64_t by, double seconds)>& look) {
  if (!node.node.window)
    return cannot(&node, "", "the counters were read once: only their rise over a window tells");
  for (const run::CounterChange& c : node.node.window->changes) {
    if (!wanted(c)) continue;
    if (c.reset)
      cannot(&node, c.device, "the counter was reset within the window");
    else if (const std::uint64_t by = rise(c); by > 0)
      look(c, by, node.node.window->seconds);
    else if (c.saturated)
      cannot(&node, c.device, "the counter stands at its end and cannot rise");
  }
}

void RuleContext::play_down_what_all_have() {
  if (nodes.size() < 3) return;
  using Same = std::tuple<FindingKind, std::string, double, double>;
  const auto value = [](const std::optional<BytesPerSecond>& rate) { return rate ? rate->value : -1; };
  const auto same = [&](const Finding& f) {
    return Same{f.kind, f.scope.subject.device, value(f.measured), value(f.expected)};
  };
  std::map<Same, std::set<int>> on;
  for (const Finding& f : out_.findings)
    if (is_built_so(f.kind) && f.scope.node >= 0) on[same(f)].insert(f.scope.node);
  for (Finding& f : out_.findings) {
    const auto it = on.find(same(f));
    if (f.severity == Severity::info || it == on.end() || it->second.size() < nodes.size()) continue;
    f.severity = Severity::info;
    f.evidence.push_back({StatementKind::alike_in_fleet, {f.scope.subject}, {{"nodes", it->second.size()}}});
  }
}

void RuleContext::end() {
  play_down_what_all_have();
  for (const Unknown& u : unknown_) {
    std::vector<Quantity> values = {{"missing", u.about}, {"of", u.nodes}};
    if (u.node_count <= 1) values.emplace_back("devices", u.devices);
    if (u.node_count > u.nodes.size()) values.emplace_back("more", u.node_count - u.nodes.size());
    out_.not_checked.push_back({StatementKind::missing_fact, {}, std::move(values), u.why});
  }
  std::ranges::stable_sort(out_.findings, [](const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.scope.node < b.scope.node;
  });
}

std::vector<Quantity> rise_values(const run::CounterChange& c, double seconds, std::vector<Quantity> more) {
  const std::uint64_t by = rise(c);
  std::vector<Quantity> out = {
      {"counter", c.counter},    {"rise", by},         {"rise_per_s", seconds > 0 ? double(by) / seconds : 0},
      {"window_s", seconds},     {"before", c.before}, {"after", c.after},
      {"saturated", c.saturated}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace ringtrue::diagnosis
