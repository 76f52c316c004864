#include "formats/hwloc_os_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/text.h"
#include "formats/xml.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

constexpr int max_ports = 64, max_gids = 256;
constexpr std::uint32_t infiniband_class = 0x0207, infiniband_of_old = 0x0c06, ethernet_class = 0x0200;

std::optional<std::string> info(const OsDevice& device, const std::string& name) {
  const auto found = device.infos.find(name);
  return found == device.infos.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

// "16671616" in KiB, as hwloc has it, with or without the unit
std::optional<Bytes> kibibytes(std::string_view text) {
  if (text.ends_with("KiB")) text.remove_suffix(3);
  const auto value = decimal(trim(text));
  return value && *value < (1ull << 50) ? std::optional(Bytes(*value * 1024)) : std::nullopt;
}

// A netdev of InfiniBand has an address of 20 bytes, the last 8 of which are the port's GUID.
std::optional<std::string> guid_of_address(const OsDevice& netdev) {
  const std::string address = info(netdev, "Address").value_or("");
  if (address.size() != 59) return std::nullopt;
  return guid(address.substr(36));
}

LinkLayer layer_of(const PciDevice& pci, const std::vector<const OsDevice*>& netdevs, bool has_lid) {
  const std::uint32_t type = pci.device_class.value_or(0) >> 8;
  if (type == infiniband_class || type == infiniband_of_old || has_lid) return LinkLayer::infiniband;
  for (const OsDevice* netdev : netdevs) {
    const std::size_t length = info(*netdev, "Address").value_or("").size();
    if (length == 59) return LinkLayer::infiniband;
    if (length == 17) return LinkLayer::ethernet;
  }
  return type == ethernet_class ? LinkLayer::ethernet : LinkLayer::unknown;
}

Port read_port(const OsDevice& rdma, int number, const PciDevice& pci,
               const std::vector<const OsDevice*>& netdevs) {
  constexpr std::array states = {"", "down", "init", "armed", "active", "active"};
  const std::string prefix = fmt::format("Port{}", number);
  Port port;
  port.number = number;
  if (const auto state = decimal(info(rdma, prefix + "State").value_or(""));
      state && *state > 0 && *state < states.size())
    port.state = {states[*state], origin::hwloc};
  const auto lid = hexadecimal(info(rdma, prefix + "LID").value_or(""));
  port.layer = layer_of(pci, netdevs, lid.value_or(0) != 0);
  if (lid && *lid <= 0xffff && port.layer == LinkLayer::infiniband)
    port.lid = {static_cast<int>(*lid), origin::hwloc};
  for (int i = 0; i < max_gids; ++i) {
    const auto gid = info(rdma, fmt::format("{}GID{}", prefix, i));
    if (!gid) break;
    port.gids.push_back(*gid);
  }
  // The first GID of an InfiniBand port ends with its GUID.
  if (port.layer == LinkLayer::infiniband && !port.gids.empty() && port.gids[0].size() == 39)
    port.guid.offer(guid(port.gids[0].substr(20)), origin::hwloc);
  return port;
}

bool is_virtual_name(const std::string& name) {
  constexpr std::array prefixes = {"veth",  "docker", "br-",     "virbr", "bond", "tun", "tap", "dummy",
                                   "vxlan", "cni",    "flannel", "cali",  "rxe",  "siw", "wg",  "ovs"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* p) { return name.starts_with(p); });
}

// Of which the netdevs alone tell.
Port port_of(const PciDevice& pci, const std::vector<const OsDevice*>& netdevs) {
  Port port;
  port.layer = layer_of(pci, netdevs, false);
  port.guid.offer(guid_of_address(*netdevs[0]), origin::hwloc);
  return port;
}

}  // namespace

OsDevice read_os_device(const pugi::xml_node& node, int version) {
  OsDevice device;
  device.name = clean(attribute(node, "name"));
  for (const auto& entry : node.children("info"))
    device.infos.emplace(clean(attribute(entry, "name")), clean(attribute(entry, "value")));
  const std::string type = lower(attribute(node, "osdev_type")), subtype = lower(attribute(node, "subtype"));
  if (const auto number = decimal(type)) {
    device.gpu = version >= 3 ? *number & 4 : *number == 1;
    device.network = version >= 3 ? *number & 16 : *number == 2;
    device.rdma = version >= 3 ? *number & 32 : *number == 3;
  } else {
    device.gpu = type.find("gpu") != std::string::npos;
    device.network = type.find("network") != std::string::npos;
    device.rdma = type.find("openfabrics") != std::string::npos;
  }
  if (subtype == "nvml" || device.name.starts_with("nvml")) {
    device.gpu = true;
    if (const auto index =
            decimal(std::string_view(device.name).substr(std::min<std::size_t>(4, device.name.size())));
        index && *index < 65536)
      device.nvml_index = static_cast<int>(*index);
  }
  if (device.infos.contains("NodeGUID")) device.rdma = true, device.network = false;
  return device;
}

Gpu make_gpu(const PciDevice& pci, const std::vector<OsDevice>& devices) {
  Gpu gpu;
  gpu.address = pci.address;
  for (const OsDevice& device : devices) {
    gpu.model.offer(info(device, "GPUModel"), origin::hwloc);
    gpu.uuid.offer(info(device, "NVIDIAUUID"), origin::hwloc);
    gpu.serial.offer(info(device, "NVIDIASerial"), origin::hwloc);
    gpu.memory.offer(kibibytes(info(device, "CUDAGlobalMemorySize").value_or("")), origin::hwloc);
  }
  gpu.model.offer(pci.name.value, origin::hwloc);
  return gpu;
}

void make_nics(const PciDevice& pci, const std::vector<OsDevice>& devices, std::vector<Nic>& nics) {
  std::vector<const OsDevice*> rdmas, netdevs;
  for (const OsDevice& device : devices) {
    if (device.rdma) rdmas.push_back(&device);
    if (device.network && device.name != "lo") netdevs.push_back(&device);
  }
  // Without a function to hold them together each netdev is a NIC of its own.
  std::vector<const OsDevice*> alone;
  if (pci.address.empty()) alone.swap(netdevs);
  const std::size_t count = pci.address.empty() ? rdmas.size() : std::max<std::size_t>(rdmas.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    Nic nic;
    nic.address = pci.address;
    nic.virtual_device = pci.virtual_function;
    nic.model = pci.name;
    if (i == 0)
      for (const OsDevice* netdev : netdevs) nic.netdevs.push_back(netdev->name);
    if (i < rdmas.size()) {
      nic.rdma = rdmas[i]->name;
      nic.virtual_device |= is_virtual_name(nic.rdma);
      nic.guid.offer(guid(info(*rdmas[i], "NodeGUID").value_or("")), origin::hwloc);
      for (int number = 1; number <= max_ports; ++number)
        if (info(*rdmas[i], fmt::format("Port{}State", number)))
          nic.ports.push_back(read_port(*rdmas[i], number, pci, netdevs));
    }
    if (nic.ports.empty() && i == 0 && !netdevs.empty()) nic.ports.push_back(port_of(pci, netdevs));
    nics.push_back(std::move(nic));
  }
  for (const OsDevice* netdev : alone) {
    Nic nic;
    nic.netdevs = {netdev->name};
    nic.virtual_device = is_virtual_name(netdev->name);
    nic.ports.push_back(port_of({}, {netdev}));
    nics.push_back(std::move(nic));
  }
}

}  // namespace ringtrue::formats
