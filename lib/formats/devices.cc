#include "formats/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "formats/text.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

// Functions that only exist beside a physical one, for recordings that carry no names.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 24> virtual_ids = {{
    {0x1137, 0x0071}, {0x1137, 0x00cf},                                      // Cisco VIC
    {0x15b3, 0x1002}, {0x15b3, 0x1004}, {0x15b3, 0x1012}, {0x15b3, 0x1014},  // ConnectX-2 .. 7
    {0x15b3, 0x1016}, {0x15b3, 0x1018}, {0x15b3, 0x101a}, {0x15b3, 0x101c},
    {0x15b3, 0x101e}, {0x15b3, 0x1022},                                      //
    {0x8086, 0x10ca}, {0x8086, 0x10ed}, {0x8086, 0x1515}, {0x8086, 0x1520},  // Intel igb, ixgbe, i40e, ice
    {0x8086, 0x152d}, {0x8086, 0x154c}, {0x8086, 0x1565}, {0x8086, 0x15a8},
    {0x8086, 0x15c5}, {0x8086, 0x1889}, {0x8086, 0x37cd}, {0x8086, 0x1571},
}};

bool looks_virtual(const PciDevice& device) {
  const std::string name = lower(device.name.value_or(""));
  for (const char* word : {"virtual function", "userspace nic", "sr-iov vf"})
    if (name.find(word) != std::string::npos) return true;
  if (name.ends_with(" vf")) return true;
  const std::pair ids(device.vendor.value_or(0), device.device.value_or(0));
  return std::find(virtual_ids.begin(), virtual_ids.end(), ids) != virtual_ids.end();
}

std::string slot(const std::string& address) {
  return address.substr(0, address.rfind('.'));
}
std::string bus(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

// Those without an address last.
template <class Device>
void sort_by_address(std::vector<Device>& devices) {
  std::stable_sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    if (a.address.empty() || b.address.empty()) return !a.address.empty() && b.address.empty();
    return pci_before(a.address, b.address);
  });
}

void name_nics(std::vector<Nic>& nics) {
  std::set<std::string> taken;
  for (Nic& nic : nics) {
    if (nic.name.empty()) nic.name = !nic.rdma.empty() ? nic.rdma : nic.netdevs.empty() ? "" : nic.netdevs[0];
    // Names are unique within a node, whatever a file says.
    if (!nic.name.empty() && !taken.insert(nic.name).second) nic.name.clear();
  }
  int next = 0;
  for (Nic& nic : nics) {
    while (nic.name.empty())
      if (std::string name = fmt::format("NIC{}", next++); taken.insert(name).second)
        nic.name = std::move(name);
  }
}

void name_gpus(std::vector<Gpu>& gpus, const std::map<std::string, int>& numbers) {
  std::map<int, std::size_t> order;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (const auto number = numbers.find(gpus[i].address); number != numbers.end() && number->second >= 0)
      order.emplace(number->second, i);
  if (order.size() != gpus.size()) {
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].name = fmt::format("GPU{}", i);
    return;
  }
  std::vector<Gpu> sorted;
  for (const auto& [number, i] : order) {
    sorted.push_back(std::move(gpus[i]));
    sorted.back().name = fmt::format("GPU{}", number);
  }
  gpus = std::move(sorted);
}

}  // namespace

void classify_bridges(std::vector<PciDevice>& devices) {
  std::unordered_map<std::string, PciDevice*> known;
  std::set<std::string> above_others;  // bridges with something else than bridges right below
  for (PciDevice& device : devices) {
    known[device.address] = &device;
    if (!is_bridge(device)) above_others.insert(device.parent);
  }
  for (PciDevice& device : devices) {
    const auto parent = known.find(device.parent);
    if (!is_bridge(device)) {
      device.kind = PciKind::endpoint;
    } else if (parent == known.end()) {
      device.kind = PciKind::root_port;
    } else if (parent->second->kind == PciKind::switch_upstream) {
      device.kind = PciKind::switch_downstream;
    } else if (parent->second->kind == PciKind::bridge || above_others.contains(device.address)) {
      device.kind = PciKind::bridge;
    } else {
      device.kind = PciKind::switch_upstream;
    }
  }
}

void mark_virtual_functions(std::vector<PciDevice>& devices) {
  std::unordered_map<std::string, std::string>
      nearest;  // slots, buses of a maker, makers: the first physical one
  const auto places = [](const PciDevice& device) {
    const std::string maker = fmt::format("{:x}", device.vendor.value_or(0));
    return std::array{slot(device.address), bus(device.address) + " " + maker, maker};
  };
  std::vector<PciDevice*> suspects;
  for (PciDevice& device : devices) {
    if (device.kind == PciKind::endpoint && looks_virtual(device)) {
      suspects.push_back(&device);
    } else if (is_nic(device) || is_gpu(device)) {
      for (const std::string& place : places(device)) nearest.emplace(place, device.address);
    }
  }
  for (PciDevice* suspect : suspects) {
    const auto [same_slot, same_bus, same_maker] = places(*suspect);
    suspect->virtual_function = nearest.contains(same_slot) || nearest.contains(same_maker);
    for (const std::string& place : {same_bus, same_slot})
      if (const auto found = nearest.find(place); found != nearest.end())
        suspect->physical_function = found->second;
  }
}

void name_devices(Node& node, const std::map<std::string, int>& numbers) {
  std::ranges::sort(node.processors.numa, {}, &NumaNode::number);
  sort_by_address(node.gpus);
  sort_by_address(node.nics);
  sort_by_address(node.nvswitches);
  name_gpus(node.gpus, numbers);
  name_nics(node.nics);
  for (std::size_t i = 0; i < node.nvswitches.size(); ++i)
    node.nvswitches[i].name = fmt::format("NVSwitch{}", i);
}

}  // namespace ringtrue::formats
