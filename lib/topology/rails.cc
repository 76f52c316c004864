#include "topology/rails.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/rail_rule.h"

namespace ringtrue::topology {
namespace {

bool is_down(const Port& port) {
  return (port.state.known() && *port.state != "active") || port.physical_state.is("disabled");
}

// What NICs of one purchase have in common.
std::string model_of(const Node& node, const Nic& nic) {
  if (const PciDevice* device = node.find_pci(nic.address);
      device && device->vendor.known() && device->device.known())
    return fmt::format("{:04x}:{:04x}", *device->vendor, *device->device);
  if (nic.model.known()) return *nic.model;
  for (const Port& port : nic.ports)
    if (const auto rate = best_rate(port)) return fmt::format("{:g}", rate->value);
  return {};
}

// NICs are hardware, passed through, or of software alone: the first of these that there is.
int software_of(const Node& node, const Nic& nic) {
  return !is_virtual(node, nic) ? 0 : is_passed_through(node, nic) ? 1 : 2;
}

struct Candidate {
  const Nic* nic;
  NoRail why_not = NoRail::none;
};

std::vector<Candidate> named(const Node& node, const std::vector<std::string>& names) {
  std::vector<Candidate> nics;
  for (const std::string& name : names) {
    const Nic* nic = node.find_nic(name);
    const auto is_it = [&](const Candidate& c) { return c.nic == nic; };
    if (nic && std::find_if(nics.begin(), nics.end(), is_it) == nics.end()) nics.push_back({nic});
  }
  return nics;
}

std::vector<Candidate> candidates(const Node& node) {
  std::vector<Candidate> nics;
  int least = 2;
  for (const Nic& nic : node.nics) least = std::min(least, software_of(node, nic));
  bool rdma = false;
  for (const Nic& nic : node.nics) rdma |= software_of(node, nic) == least && !nic.rdma.empty();
  for (const Nic& nic : node.nics)
    nics.push_back({&nic, software_of(node, nic) > least ? NoRail::virtual_device
                          : rdma && nic.rdma.empty()     ? NoRail::no_rdma
                                                         : NoRail::none});
  return nics;
}

// NICs whose ports no source shows (NCCL's files of some clouds) have one each, of which nothing is known.
// Beside others whose ports are shown they have none: no driver holds them.
std::vector<RailPort> ports_of(const std::vector<Candidate>& nics) {
  static const Port unseen;
  const bool shown = std::any_of(nics.begin(), nics.end(), [](const Candidate& c) {
    return c.why_not == NoRail::none && !c.nic->ports.empty();
  });
  std::vector<RailPort> ports;
  for (const auto& [nic, why_not] : nics) {
    for (const Port& port : nic->ports) ports.push_back({nic, &port, why_not});
    if (!shown && nic->ports.empty()) ports.push_back({nic, &unseen, why_not});
  }
  return ports;
}

void keep_one_kind(const Node& node, std::vector<RailPort>& ports) {
  const auto kind_of = [&](const RailPort& p) {
    return fmt::format("{} {}", name(p.port->layer), model_of(node, *p.nic));
  };
  std::vector<run::PortForData> those;
  for (const RailPort& p : ports)
    if (p.why_not == NoRail::none)
      those.push_back({kind_of(p), best_rate(*p.port).value_or(BytesPerSecond()).value, !is_down(*p.port)});
  const std::string kind = run::kind_for_data(those), down = run::kind_that_is_down(those);
  for (RailPort& p : ports)
    if (p.why_not == NoRail::none && kind_of(p) != kind && kind_of(p) != down) p.why_not = NoRail::other_kind;
}

}  // namespace

std::optional<BytesPerSecond> best_rate(const Port& port) {
  return port.max_rate.known() ? port.max_rate.value : port.rate.value;
}

bool is_virtual(const Node& node, const Nic& nic) {
  const PciDevice* device = node.find_pci(nic.address);
  return nic.virtual_device || (device && device->virtual_function);
}

bool is_passed_through(const Node& node, const Nic& nic) {
  const PciDevice* device = node.find_pci(nic.address);
  return device && device->virtual_function && device->physical_function.empty();
}

std::vector<RailPort> find_rails(const Node& node, const std::vector<std::string>& names) {
  std::vector<RailPort> ports = ports_of(names.empty() ? candidates(node) : named(node, names));
  if (names.empty()) keep_one_kind(node, ports);
  for (RailPort& p : ports)
    if (p.why_not == NoRail::none && is_down(*p.port)) p.why_not = NoRail::down;
  return ports;
}

}  // namespace ringtrue::topology
