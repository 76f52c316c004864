#include "diagnosis/inspect/sight.h"

#include <algorithm>

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

constexpr int deepest = 64;  // a tree that somebody made up may have loops

std::vector<const Nic*> find_rails(const NodeSight& sight) {
  std::vector<const Nic*> all;
  for (const Nic& nic : sight.node.nics)
    if (sight.has_hardware(nic)) all.push_back(&nic);
  if (std::ranges::any_of(all, [](const Nic* n) { return !n->rdma.empty(); }))
    std::erase_if(all, [](const Nic* n) { return n->rdma.empty(); });
  const auto best = [](const Nic* nic) {
    double rate = 0;
    for (const Port& port : nic->ports)
      rate = std::max(rate, best_rate(port).value_or(BytesPerSecond()).value);
    return rate;
  };
  double fastest = 0;
  std::map<std::string, double> kinds;
  for (const Nic* nic : all) {
    double& rate = kinds[kind_of(*nic, sight.place(nic->address))];
    rate = std::max(rate, best(nic));
    fastest = std::max(fastest, rate);
  }
  // By kind: a rail that lost its link tells no rate and still is one.
  std::erase_if(
      all, [&](const Nic* nic) { return kinds[kind_of(*nic, sight.place(nic->address))] < fastest / 2; });
  return all;
}

}  // namespace

NodeSight::NodeSight(const Node& n, int i) : node(n), index(i), places(n.pci.size()) {
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

const NodeSight::Place* NodeSight::place(std::string_view address) const {
  const auto it = by_address_.find(address);
  return address.empty() || it == by_address_.end() ? nullptr : &places[std::size_t(it->second)];
}

bool NodeSight::has_hardware(const Nic& nic) const {
  if (!nic.virtual_device || physical_nics_) return !nic.virtual_device;
  const Place* p = place(nic.address);
  return p && p->device->virtual_function && p->device->physical_function.empty();
}

bool NodeSight::is_rail(const Nic& nic) const {
  return std::ranges::find(rails, &nic) != rails.end();
}

std::vector<const NodeSight::Place*> NodeSight::way_up(std::string_view address) const {
  std::vector<const Place*> way;
  for (const Place* p = place(address); p && int(way.size()) < deepest;
       p = p->parent < 0 ? nullptr : &places[std::size_t(p->parent)])
    way.push_back(p);
  return way;
}

std::optional<int> NodeSight::numa(std::string_view address) const {
  for (const Place* p : way_up(address))
    if (p->device->numa.known() && *p->device->numa >= 0) return *p->device->numa;
  return std::nullopt;
}

std::optional<int> NodeSight::socket(int number) const {
  for (const NumaNode& n : node.processors.numa)
    if (n.number == number && n.package >= 0) return n.package;
  // Two NUMA nodes are two sockets unless somebody says otherwise; of more, several may share one.
  if (node.processors.numa.size() > 2 || node.processors.packages.is(1)) return std::nullopt;
  return number;
}

bool NodeSight::nvidia(const Gpu& gpu) const {
  const Place* p = place(gpu.address);
  return !p || p->device->vendor.value_or(0x10de) == 0x10de;
}

std::string NodeSight::names(const std::vector<int>& of) const {
  std::vector<std::string> all;
  for (const int p : of) all.push_back(parts[std::size_t(p)].name);
  return listed(all);
}

std::string kind_of(const Nic& nic, const NodeSight::Place* place) {
  std::string kind = nic.model.value_or("");
  if (place)
    kind += fmt::format(" {:04x}:{:04x} {:04x}:{:04x}", place->device->vendor.value_or(0),
                        place->device->device.value_or(0), place->device->subsystem_vendor.value_or(0),
                        place->device->subsystem_device.value_or(0));
  if (!nic.ports.empty()) kind += fmt::format(" {}", name(nic.ports[0].layer));
  return kind;
}

std::optional<BytesPerSecond> best_rate(const Port& port) {
  return port.max_rate.known() ? port.max_rate.value : port.rate.value;
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

Sight::Sight(const Cluster& c, const InspectThresholds& t, const std::vector<NodeSight>& n, Inspection& out)
    : cluster(c), limits(t), nodes(n), out_(out) {}

void Sight::begin(const Rule& rule) {
  rule_ = &rule;
  applied_ = false;
}

void Sight::applies() {
  if (!applied_) out_.rules.emplace_back(rule_->id);
  applied_ = true;
}

void Sight::report(Report r) {
  applies();
  Finding f;
  f.severity = r.severity;
  f.kind = rule_->id;
  f.scope.type = r.type;
  f.scope.node = r.node ? r.node->index : -1;
  f.scope.node_name = r.node ? r.node->node.name : "";
  f.scope.device = r.device;
  f.measured = r.measured;
  f.expected = r.expected;
  if (r.measured && r.expected && r.expected->value > 0) f.ratio = *r.measured / *r.expected;
  f.confidence = 1;  // read, not measured
  f.evidence = std::move(r.evidence);
  f.impact = std::move(r.impact);
  f.next = std::move(r.next);
  if (r.severity != Severity::info) accused_.emplace(f.scope.node, f.scope.device, rule_->id);
  out_.findings.push_back(std::move(f));
}

bool Sight::accused(const NodeSight* node, const std::string& device, std::string_view family) const {
  const int index = node ? node->index : -1;
  const auto it = accused_.lower_bound({index, device, family});
  return it != accused_.end() && std::get<0>(*it) == index && std::get<1>(*it) == device &&
         std::get<2>(*it).starts_with(family);
}

void Sight::cannot(const NodeSight* node, const std::string& device, const std::string& why,
                   std::string_view about) {
  applies();
  missing(node, device, why, about.empty() ? rule_->id : about);
}

void Sight::missing(const NodeSight* node, const std::string& device, const std::string& why,
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

void Sight::end() {
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
