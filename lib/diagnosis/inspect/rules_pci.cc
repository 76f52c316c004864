// PCIe links: what they run at, against what both ends can do and what hangs below.
#include <algorithm>

#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;
using Place = NodeView::Place;

template <class T>
std::optional<T> lower(std::optional<T> a, std::optional<T> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// A link with its two ends: that of the device (the first function of its slot), and the port above, where
// there is one that says something.
struct Wire {
  const Place* below = nullptr;
  const Place* above = nullptr;
  std::vector<const Part*> parts;  // of all functions, and below them
  std::optional<double> speed, max_speed;
  std::optional<int> width, max_width;  // max: the device's, or the port's where that is lower
  bool both_ends = false;               // both told what they can do

  const PciDevice& device() const { return *below->device; }
  std::optional<BytesPerSecond> rate() const {
    auto now = pci_rate(device().link);
    return now || !above ? now : pci_rate(above->device->link);
  }
  bool slow() const { return speed && max_speed && *speed < *max_speed; }
  bool narrow() const { return width && max_width && *width < *max_width; }
};

void read(Wire& wire) {
  const PciLink& d = wire.device().link;
  const PciLink u = wire.above ? wire.above->device->link : PciLink{};
  wire.speed = speed_of(d.speed_GTps);
  if (!wire.speed) wire.speed = speed_of(u.speed_GTps);
  wire.width = width_of(d.width);
  if (!wire.width) wire.width = width_of(u.width);
  const auto ds = speed_of(d.max_speed_GTps), us = speed_of(u.max_speed_GTps);
  const auto dw = width_of(d.max_width), uw = width_of(u.max_width);
  // A port above its device's speed says nothing while the device does not tell its own maximum.
  if (ds) wire.max_speed = lower(ds, us);
  if (dw) wire.max_width = lower(dw, uw);
  wire.both_ends = ds && us && dw && uw;
}

// A port that a hypervisor drew: what it says of its link was made up with it.
bool is_emulated(const PciDevice& device) {
  constexpr std::uint32_t amazon = 0x1d0f, microsoft = 0x1414, vmware = 0x15ad;
  const std::uint32_t vendor = device.vendor.value_or(0);
  return device.kind != PciKind::endpoint && device.kind != PciKind::unknown &&
         (vendor == amazon || vendor == microsoft || vendor == vmware);
}

std::vector<Wire> wires(const NodeView& node) {
  std::map<std::string_view, Wire> slots;
  for (const Place& p : node.places) {
    const PciDevice& d = *p.device;
    if (d.virtual_function || d.kind == PciKind::root_port || is_emulated(d)) continue;
    const Place* parent = p.parent;
    const PciKind kind = parent ? parent->device->kind : PciKind::unknown;
    if (d.kind == PciKind::switch_downstream && kind == PciKind::switch_upstream)
      continue;  // no wire between
    const auto [at, fresh] = slots.try_emplace(std::string_view(d.address).substr(0, d.address.find('.')));
    Wire& wire = at->second;
    if (fresh) {
      wire.below = &p;
      if ((kind == PciKind::root_port || kind == PciKind::switch_downstream) && !is_emulated(*parent->device))
        wire.above = parent;
    }
    wire.parts.insert(wire.parts.end(), p.parts.begin(), p.parts.end());
  }
  std::vector<Wire> all;
  for (auto& [slot, wire] : slots) {
    read(wire);
    all.push_back(std::move(wire));
  }
  return all;
}

bool matters(const Wire& wire) {
  return !wire.parts.empty() || wire.device().kind == PciKind::switch_upstream;
}

// GPUs slow their links down when they have nothing to do, and with them the bridges on their own boards.
bool saves_power(const Wire& wire) {
  for (const Part* part : wire.parts) {
    if (!part->gpu) continue;
    const bool own = part->device == wire.below->device ||
                     (part->device->vendor.known() && wire.device().vendor.is(*part->device->vendor)) ||
                     wire.below->children.empty();
    if (own && part->gpu->utilization.value_or(0) == 0) return true;
  }
  return false;
}

BytesPerSecond need(const std::vector<const Part*>& parts, BytesPerSecond* largest = nullptr) {
  BytesPerSecond sum;
  for (const Part* part : parts)
    if (const Nic* nic = part->nic)
      for (const Port& port : nic->ports)
        if (port.rate.known() && !port.state.is("down")) {
          sum += *port.rate;
          if (largest) *largest = std::max(*largest, *port.rate);
        }
  return sum;
}

std::string name_of(const Wire& wire) {
  return wire.below->children.empty() && wire.parts.size() == 1 ? wire.parts[0]->name : wire.device().address;
}

ScopeType type_of(const Wire& wire) {
  if (!wire.below->children.empty() || wire.parts.size() != 1) return ScopeType::link;
  const Part& part = *wire.parts[0];
  return part.gpu ? ScopeType::gpu : part.nic ? ScopeType::nic : ScopeType::link;
}

// The link as it runs, and what its ends can do.
std::vector<Quantity> link_values(const Wire& wire) {
  const PciLink& link = wire.device().link;
  const bool own = speed_of(link.speed_GTps) || width_of(link.width) || link.rate.known();
  const PciLink& told = own || !wire.above ? link : wire.above->device->link;
  std::vector<Quantity> out = {{"link", pci_text(told)},
                               {"origin", told.speed_GTps.known() ? told.speed_GTps.origin
                                          : told.width.known()    ? told.width.origin
                                                                  : told.rate.origin}};
  using Names = std::array<std::string_view, 4>;
  const auto add = [&](const Place& place, const Names& called) {
    const PciDevice& d = *place.device;
    const bool alone = place.parts.size() == 1 && place.children.empty();
    out.emplace_back(called[0], alone ? place.parts[0]->name : std::string(name(d.kind)));
    out.emplace_back(called[1], d.address);
    if (!d.link.max_speed_GTps.known() && !d.link.max_width.known()) return;
    out.emplace_back(called[2], pci_max_text(d.link));
    out.emplace_back(called[3],
                     d.link.max_speed_GTps.known() ? d.link.max_speed_GTps.origin : d.link.max_width.origin);
  };
  add(*wire.below, {"below", "below_address", "below_max", "below_origin"});
  if (wire.above) add(*wire.above, {"above", "above_address", "above_max", "above_origin"});
  return out;
}

void degraded(RuleContext& context, const NodeView& node, const Wire& wire) {
  const bool power = !wire.narrow() && saves_power(wire);
  const std::string name = name_of(wire);
  if (power || wire.device().power.is("suspended")) {
    context.cannot(&node, name,
                   power ? "idle, or of unknown load: a link's speed falls then to save power; measure "
                           "it under load"
                         : "the device sleeps");
    return;
  }
  // A GPU's speed says nothing where it may be idle: its lanes alone are judged.
  const bool lanes_alone = saves_power(wire);
  const double speed = lanes_alone ? wire.max_speed.value_or(*wire.speed) : wire.speed.value_or(0);
  const auto now = wire.speed && wire.width ? pci_rate(speed, *wire.width) : std::nullopt;
  const auto could = wire.max_speed && wire.max_width ? pci_rate(*wire.max_speed, *wire.max_width) : now;
  const double ratio = now && could && could->value > 0 ? *now / *could : 0.75;
  Severity severity = ratio <= context.limits.pci_critical ? Severity::critical
                      : ratio < context.limits.pci_warning ? Severity::warning
                                                           : Severity::info;
  const bool only_nics = std::ranges::all_of(wire.parts, [](const Part* part) { return part->nic; });
  const BytesPerSecond wanted = need(wire.parts);
  const bool enough = now && wanted.value > 0 && *now >= wanted && only_nics;
  if (!wire.both_ends || enough) severity = std::min(severity, Severity::warning);
  if (!matters(wire)) severity = Severity::info;

  std::vector<Quantity> values = link_values(wire);
  values.insert(values.end(), {{"one_end", !wire.both_ends},
                               {"speed_not_counted", lanes_alone && wire.slow()},
                               {"narrow", wire.narrow()},
                               {"parts", names(wire.parts)},
                               {"single", wire.parts.size() == 1}});
  if (only_nics && wanted.value > 0)
    values.insert(values.end(), {{"needed_Bps", wanted}, {"too_slow", now && *now < wanted}});
  context.report(&node, name,
                 {.severity = severity,
                  .type = type_of(wire),
                  .values = std::move(values),
                  .measured = now,
                  .expected = could,
                  .sure = wire.both_ends ? 1 : by_half});
}

void link_degraded(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    for (const Wire& wire : wires(node)) {
      if (matters(wire)) context.applies();
      if (wire.slow() || wire.narrow()) {
        degraded(context, node, wire);
      } else if (!wire.parts.empty() && (!wire.speed || !wire.width)) {
        context.cannot(&node, name_of(wire), "speed or width of the link is unknown");
      } else if (!wire.parts.empty() && !wire.max_speed && !wire.max_width) {
        context.cannot(&node, name_of(wire), "neither end of the link tells what it can do");
      }
    }
}

void link_limited(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    for (const Wire& wire : wires(node)) {
      if (!matters(wire) || !wire.above || wire.slow() || wire.narrow()) continue;
      context.applies();
      const PciLink &d = wire.device().link, &u = wire.above->device->link;
      const auto ds = speed_of(d.max_speed_GTps), us = speed_of(u.max_speed_GTps);
      const auto dw = width_of(d.max_width), uw = width_of(u.max_width);
      const bool port_more =
          (us && wire.speed && *us > *wire.speed) || (uw && wire.width && *uw > *wire.width);
      const bool card_more =
          (ds && wire.speed && *ds > *wire.speed) || (dw && wire.width && *dw > *wire.width);
      if (!port_more && !card_more) continue;
      std::vector<Quantity> values = link_values(wire);
      values.emplace_back("card_more", card_more);
      context.report(&node, card_more ? name_of(wire) : wire.above->device->address,
                     {.type = card_more ? type_of(wire) : ScopeType::link,
                      .values = std::move(values),
                      .measured = wire.rate(),
                      .expected = card_more ? pci_max_rate(d) : pci_max_rate(u)});
    }
}

// The link of a part's board: GPUs of AMD sit behind a switch on their own, inside of which all is faster.
const PciLink& board_link(const NodeView& node, const Part& part) {
  constexpr std::uint32_t ati = 0x1002, amd = 0x1022;
  const PciDevice* board = part.device;
  if (part.gpu && board->vendor.is(ati))
    for (const Place* above : node.way_up(board->address)) {
      const std::uint32_t vendor = above->device->vendor.value_or(ati);
      const bool theirs = vendor == ati || vendor == amd;
      if (above->device->kind == PciKind::root_port || above->parts.size() > 1 || !theirs) break;
      board = above->device;
    }
  return board->link;
}

bool has_gpu(const Place& place) {
  return std::ranges::any_of(place.parts, [](const Part* part) { return part->gpu; });
}

std::size_t depth(const Place& place) {
  return place.parent ? depth(*place.parent) + 1 : 0;
}

// A port like this one that runs faster: as far from the root and above GPUs as it is, or at the same place
// of another node. Switches and hypervisors show their ports at rates of their own; then all of them are
// alike.
struct Uplinks {
  std::size_t like_it = 0;
  const PciDevice* faster = nullptr;
};

Uplinks compare_uplinks(const RuleContext& context, const NodeView& node, const Place& port,
                        BytesPerSecond rate) {
  Uplinks out;
  const auto look = [&](const Place& other) {
    const auto theirs = pci_rate(other.device->link);
    if (!theirs) return;
    ++out.like_it;
    if (!out.faster && rate.value < theirs->value * context.limits.pci_warning) out.faster = other.device;
  };
  for (const Place& other : node.places) {
    const bool alike = depth(other) == depth(port) && has_gpu(other) == has_gpu(port);
    if (alike && !other.children.empty() && !is_emulated(*other.device)) look(other);
  }
  for (const NodeView& other : context.nodes)
    if (const Place* there = &other == &node ? nullptr : other.place(port.device->address)) look(*there);
  return out;
}

void uplink_slower(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    for (const Wire& wire : wires(node)) {
      if (wire.below->children.empty() || wire.parts.empty()) continue;
      // Grace's GPUs have another way up, and their switches a port for management at most.
      const bool another_way = std::ranges::any_of(
          wire.parts, [](const Part* part) { return part->gpu && part->gpu->c2c.is(true); });
      if (another_way) continue;
      const PciLink& link = wire.device().link;
      if (link.max_speed_GTps.known() && link.max_width.known()) continue;
      const Part* fastest = nullptr;
      const PciLink* fastest_link = nullptr;
      std::optional<BytesPerSecond> most;
      for (const Part* part : wire.parts) {
        if (!part->gpu && !part->nic) continue;
        const PciLink& board = board_link(node, *part);
        const auto rate = pci_rate(board);
        if (rate && (!most || *rate > *most)) most = rate, fastest = part, fastest_link = &board;
      }
      const auto rate = wire.rate();
      if (!most) continue;
      context.applies();
      if (!rate) {
        context.cannot(&node, wire.device().address, "speed or width of the port is unknown");
        continue;
      }
      if (rate->value >= most->value * context.limits.pci_warning || saves_power(wire)) continue;
      const auto origin_of = [](const PciLink& l) {
        return l.speed_GTps.known() ? l.speed_GTps.origin : l.rate.origin;
      };
      const Uplinks others = compare_uplinks(context, node, *wire.below, *rate);
      context.report(&node, wire.device().address,
                     {.severity = others.faster ? Severity::warning : Severity::info,
                      .values = {{"device_kind", name(wire.device().kind)},
                                 {"faster", others.faster ? others.faster->address : ""},
                                 {"faster_link", others.faster ? pci_text(others.faster->link) : ""},
                                 {"alike", others.like_it},
                                 {"link", pci_text(link)},
                                 {"origin", origin_of(link)},
                                 {"fastest", fastest->name},
                                 {"fastest_link", pci_text(*fastest_link)},
                                 {"fastest_origin", origin_of(*fastest_link)},
                                 {"parts", names(wire.parts)}},
                      .measured = rate,
                      .expected = most,
                      .sure = by_half});
    }
}

// A NIC inside the chipset shows a link that is not there, as slow as PCIe has any.
bool is_inside_chipset(const PciDevice& device, BytesPerSecond ports) {
  constexpr BytesPerSecond slowest(0.25e9), fast(1.25e9);
  const auto rate = pci_rate(device.link);
  const auto max = pci_max_rate(device.link);
  return rate && *rate <= slowest && (!max || *max <= slowest) && ports >= fast;
}

void nic_bound(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    std::vector<std::pair<std::string, Report>> bound;  // by device
    std::size_t rails = 0;
    for (const Wire& wire : wires(node)) {
      if (wire.parts.empty() || !wire.below->children.empty()) continue;
      const Nic* nic = wire.parts[0]->nic;
      if (!nic || wire.device().power.is("suspended")) continue;
      const bool rail = node.is_rail(*nic);
      BytesPerSecond largest;
      const BytesPerSecond wanted = need(wire.parts, &largest);
      const std::string name = name_of(wire);
      if (rail) context.applies(), ++rails;
      if (is_inside_chipset(wire.device(), wanted)) {
        if (rail) context.cannot(&node, name, "it is inside the chipset: the link that it shows is none");
        continue;
      }
      // Above a switch that it shares with GPUs its traffic need not pass.
      std::optional<BytesPerSecond> narrowest = wire.rate();
      std::string where = wire.device().address;
      for (const Place* p : node.way_up(where)) {
        const auto rate = pci_rate(p->device->link);
        if (has_gpu(*p) || !rate || is_emulated(*p->device) || (narrowest && *rate >= *narrowest)) continue;
        narrowest = rate;
        where = p->device->address;
      }
      if (wanted.value <= 0 || !narrowest) {
        const bool down = std::ranges::all_of(nic->ports, [](const Port& p) { return p.state.is("down"); });
        if (rail && !down)
          context.cannot(&node, name,
                         narrowest ? "the rate of its port is unknown" : "its PCIe rate is unknown");
        continue;
      }
      if (narrowest->value >= wanted.value * context.limits.pci_warning ||
          context.reported(&node, name, "pcie-") || context.reported(&node, where, "pcie-"))
        continue;
      // Two ports of a card that its slot was never meant to fill both.
      // NCCL's files have what both ends can do, and nothing else.
      const bool at_best = wire.both_ends || wire.device().link.speed_GTps.origin == origin::nccl_xml;
      const bool by_design = at_best && where == wire.device().address && *narrowest >= largest;
      // What a bridge shows of itself may be made up: pcie-uplink-slower holds it against others.
      const PciLink& slowest = node.place(where)->device->link;
      const bool shown_alone = where != wire.device().address && !pci_max_rate(slowest);
      const bool fault = rail && !by_design && !shown_alone;
      bound.emplace_back(
          wire.parts.size() == 1 ? nic->name : name,
          Report{.severity = fault ? Severity::warning : Severity::info,
                 .values = {{"parts", names(wire.parts)}, {"narrowest", where}, {"link", pci_text(slowest)}},
                 .measured = narrowest,
                 .expected = wanted,
                 .sure = wire.both_ends ? 1 : by_comparison});
    }
    // Where all are alike, the machine was built so.
    const bool alike =
        bound.size() > 1 && bound.size() == rails && std::ranges::all_of(bound, [&](const auto& b) {
          return b.second.measured == bound[0].second.measured;
        });
    for (auto& [device, report] : bound) {
      if (alike) report.severity = Severity::info;
      context.report(&node, device, std::move(report));
    }
  }
}

constexpr Rule pci_table[] = {
    {FindingKind::pcie_link_degraded, Severity::critical, ScopeType::link, link_degraded},
    {FindingKind::pcie_link_limited, Severity::info, ScopeType::link, link_limited},
    {FindingKind::pcie_uplink_slower, Severity::warning, ScopeType::link, uplink_slower},
    {FindingKind::nic_pcie_bound, Severity::warning, ScopeType::nic, nic_bound},
};

}  // namespace

const std::span<const Rule> pci_rules = pci_table;

}  // namespace ringtrue::diagnosis
