#include "diagnosis/inspect/rule_context.h"

#include <algorithm>

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

constexpr int deepest = 64;  // a tree that somebody made up may have loops

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

}  // namespace

NodeView::NodeView(const Node& n, int i) : node(n), index(i), places(n.pci.size()) {
  by_address_.reserve(n.pci.size());
  for (std::size_t p = 0; p < n.pci.size(); ++p) {
    places[p].device = &n.pci[p];
    by_address_.try_emplace(n.pci[p].address, int(p));
  }
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto above = by_address_.find(places[p].device->parent);
    if (above == by_address_.end() || above->second == int(p)) continue;
    places[p].parent = above->second;
    places[std::size_t(above->second)].children.push_back(int(p));
  }
  const auto add = [&](Part part, const std::string& address) {
    const auto at = by_address_.find(address);
    if (at == by_address_.end()) return;
    part.device = places[std::size_t(at->second)].device;
    int depth = 0;
    for (int p = at->second; p >= 0 && depth < deepest; p = places[std::size_t(p)].parent, ++depth)
      places[std::size_t(p)].parts.push_back(int(parts.size()));
    parts.push_back(std::move(part));
  };
  for (const Gpu& gpu : n.gpus) add({gpu.name, &gpu, nullptr, nullptr}, gpu.address);
  for (const Nic& nic : n.nics)
    if (!nic.virtual_device) add({nic.name, nullptr, &nic, nullptr}, nic.address);
  for (const NvSwitch& s : n.nvswitches) add({s.name, nullptr, nullptr, nullptr}, s.address);
  physical_nics_ = std::ranges::any_of(n.nics, [](const Nic& nic) { return !nic.virtual_device; });
  rails = find_rails(*this);
}

const NodeView::Place* NodeView::place(std::string_view address) const {
  const auto it = by_address_.find(address);
  return address.empty() || it == by_address_.end() ? nullptr : &places[std::size_t(it->second)];
}

bool NodeView::has_hardware(const Nic& nic) const {
  if (!nic.virtual_device || physical_nics_) return !nic.virtual_device;
  const Place* p = place(nic.address);
  return p && p->device->virtual_function && p->device->physical_function.empty();
}

bool NodeView::is_rail(const Nic& nic) const {
  return std::ranges::find(rails, &nic) != rails.end();
}

std::vector<const NodeView::Place*> NodeView::way_up(std::string_view address) const {
  std::vector<const Place*> way;
  for (const Place* p = place(address); p && int(way.size()) < deepest;
       p = p->parent < 0 ? nullptr : &places[std::size_t(p->parent)])
    way.push_back(p);
  return way;
}

std::optional<int> NodeView::numa(std::string_view address) const {
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

std::string NodeView::names(const std::vector<int>& of) const {
  std::vector<std::string> all;
  for (const int p : of) all.push_back(parts[std::size_t(p)].name);
  return listed(all);
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

RuleContext::RuleContext(const Cluster& c, const InspectThresholds& t, const std::vector<NodeView>& n,
                         Inspection& out)
    : cluster(c), limits(t), nodes(n), out_(out) {}

void RuleContext::begin(const Rule& rule) {
  rule_ = &rule;
  applied_ = false;
}

void RuleContext::applies() {
  if (!applied_) out_.rules.emplace_back(rule_->id);
  applied_ = true;
}

void RuleContext::report(Report r) {
  applies();
  Finding f;
  f.severity = r.severity;
  f.kind = rule_->id;
  f.scope.type = r.type;
  f.scope.node = r.node ? r.node->index : -1;
  if (r.node) f.scope.subject = r.node->node.name;
  f.scope.subject.device = r.device;
  f.measured = r.measured;
  f.expected = r.expected;
  if (r.measured && r.expected && r.expected->value > 0) f.ratio = *r.measured / *r.expected;
  f.confidence = 1;  // read, not measured
  std::vector<Quantity> values;
  if (r.measured) values.push_back({"measured_Bps", r.measured->value});
  if (r.expected) values.push_back({"expected_Bps", r.expected->value});
  for (std::string& line : r.evidence)
    f.evidence.push_back({StatementKind::told, {f.scope.subject}, values, std::move(line)});
  f.impact = std::move(r.impact);
  f.next = std::move(r.next);
  if (r.severity != Severity::info) reported_.emplace(f.scope.node, f.scope.subject.device, rule_->id);
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
  missing(node, device, why, about.empty() ? rule_->id : about);
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

void RuleContext::end() {
  for (const Unknown& u : unknown_) {
    std::string where = listed(u.nodes, 4);
    if (u.node_count > u.nodes.size()) where += fmt::format(" and {} more", u.node_count - u.nodes.size());
    std::string what = u.about;
    if (!u.devices.empty() && u.node_count <= 1)
      what += fmt::format(": {}{}", listed(u.devices), where.empty() ? "" : " of " + where);
    else if (!where.empty())
      what += ": " + where;
    out_.not_checked.push_back({what, u.why});
  }
  std::ranges::stable_sort(out_.findings, [](const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.scope.node < b.scope.node;
  });
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(most), ", "),
                     names.size() - most);
}

std::string percent(double share) {
  return fmt::format("{:.3g} %", share * 100);
}

}  // namespace ringtrue::diagnosis
