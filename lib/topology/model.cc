#include "topology/model.h"

#include <algorithm>

namespace ringtrue::topology {
namespace {

template <class T, class Match>
const T* find(const std::vector<T>& all, Match match) {
  const auto it = std::find_if(all.begin(), all.end(), match);
  return it == all.end() ? nullptr : &*it;
}

constexpr std::uint32_t nvidia = 0x10de, amd = 0x1002;

// Rage, ES1000 and their kin: graphics that ATI sold to boards of servers, before GPUs computed.
bool is_old_graphics(const PciDevice& device) {
  const std::uint32_t id = device.device.value_or(0);
  return device.vendor.is(amd) && id >= 0x3000 && id < 0x6000;
}

std::uint32_t base_class(const PciDevice& device) {
  return device.device_class.value_or(0) >> 8;
}

}  // namespace

const PciDevice* Node::find_pci(const std::string& address) const {
  if (address.empty()) return nullptr;
  return find(pci, [&](const PciDevice& d) { return d.address == address; });
}

const Gpu* Node::find_gpu(const std::string& name) const {
  return find(gpus, [&](const Gpu& g) { return g.name == name; });
}

const Nic* Node::find_nic(const std::string& name) const {
  if (name.empty()) return nullptr;
  return find(nics, [&](const Nic& n) {
    return n.name == name || n.rdma == name ||
           std::find(n.netdevs.begin(), n.netdevs.end(), name) != n.netdevs.end();
  });
}

const char* name(PciKind kind) {
  constexpr const char* names[] = {"PCI device",       "root port", "PCIe switch",
                                   "PCIe switch port", "bridge",    "endpoint"};
  return names[int(kind)];
}

const char* name(LinkLayer layer) {
  constexpr const char* names[] = {"unknown", "InfiniBand", "Ethernet"};
  return names[int(layer)];
}

bool is_bridge(const PciDevice& device) {
  return base_class(device) == 0x0604;
}

bool is_gpu(const PciDevice& device) {
  const std::uint32_t vendor = device.vendor.value_or(0);
  switch (base_class(device)) {
    case 0x0302:
      return true;
    case 0x0300:
    case 0x0380:
      return vendor == nvidia || (vendor == amd && !is_old_graphics(device));
    case 0x1200:
      return vendor == amd;
    default:
      return false;
  }
}

bool is_nic(const PciDevice& device) {
  const std::uint32_t type = base_class(device);
  return type >> 8 == 0x02 || type == 0x0c06;
}

bool is_nvswitch(const PciDevice& device) {
  return base_class(device) == 0x0680 && device.vendor.value_or(0) == nvidia;
}

}  // namespace ringtrue::topology
