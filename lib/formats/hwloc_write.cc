// A node as hwloc's XML, version 2: what lstopo -i reads. hwloc wants a processor and a NUMA node at least,
// and every object within the processors of the one above.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "formats/format.h"
#include "formats/text.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

using Set = std::set<int>;  // of processors or NUMA nodes

// "0x00000003,0x0000ffff"
std::string mask_text(const Set& numbers) {
  const int last = numbers.empty() ? 0 : std::max(*numbers.rbegin(), 0);
  std::vector<std::uint32_t> words(std::size_t(last) / 32 + 1);
  for (const int i : numbers)
    if (i >= 0) words[std::size_t(i) / 32] |= 1u << i % 32;
  std::string result;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    result += fmt::format("{}0x{:08x}", result.empty() ? "" : ",", *word);
  return result;
}

class Writer {
 public:
  explicit Writer(const Node& node) : node_(node) {}

  std::string run() {
    document_.append_child(pugi::node_doctype).set_value("topology SYSTEM \"hwloc2.dtd\"");
    pugi::xml_node topology = document_.append_child("topology");
    topology.append_attribute("version") = "2.0";
    machine_ = processors(topology);
    pci();
    for (const Nic& nic : node_.nics)
      if (!devices_.contains(nic.address)) os_devices(machine_, nic);
    nvlinks(topology);
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
    return text.str();
  }

 private:
  using Attributes = std::initializer_list<std::pair<const char*, std::string>>;
  pugi::xml_node object(pugi::xml_node parent, const char* type, Attributes attributes = {}) {
    pugi::xml_node result = parent.append_child("object");
    result.append_attribute("type") = type;
    result.append_attribute("gp_index") = ++last_index_;
    set(result, attributes);
    return result;
  }
  static void set(pugi::xml_node& object, Attributes attributes) {
    for (const auto& [name, value] : attributes) object.append_attribute(name) = value.c_str();
  }
  static void sets(pugi::xml_node& object, const Set& cpus, const Set& nodes) {
    const std::string cpu_mask = mask_text(cpus), node_mask = mask_text(nodes);
    set(object, {{"cpuset", cpu_mask}, {"complete_cpuset", cpu_mask}});
    set(object, {{"nodeset", node_mask}, {"complete_nodeset", node_mask}});
  }
  static void info(pugi::xml_node& object, const char* name, const Fact<std::string>& value) {
    if (!value.known()) return;
    pugi::xml_node entry = object.append_child("info");
    set(entry, {{"name", name}, {"value", clean(*value)}});
  }

  struct Memory {
    NumaNode numa;
    Set cpus;
    Set node() const { return {numa.number}; }
  };

  static std::pair<Set, Set> sets_of(const std::vector<Memory>& memories) {
    Set cpus, nodes;
    for (const Memory& memory : memories) {
      cpus.insert(memory.cpus.begin(), memory.cpus.end());
      nodes.insert(memory.numa.number);
    }
    return {cpus, nodes};
  }

  // A processor belongs to one NUMA node alone, and somebody has to have one.
  std::vector<Memory> memories() const {
    std::vector<Memory> all;
    Set taken;
    for (const NumaNode& numa : node_.processors.numa) {
      Memory& memory = all.emplace_back(Memory{numa, {}});
      const Numbers cpus = number_list(numa.cpus).value_or(Numbers{});
      for (const auto& [first, last] : cpus.ranges)
        for (int i = first; i <= last; ++i)
          if (taken.insert(i).second) memory.cpus.insert(i);
    }
    if (all.empty()) all.emplace_back();
    if (taken.empty())
      for (Memory& memory : all) memory.cpus = memory.node();
    return all;
  }

  pugi::xml_node processors(pugi::xml_node topology) {
    std::vector<Memory> all = memories();
    const auto [cpus, nodes] = sets_of(all);
    pugi::xml_node machine = object(topology, "Machine", {{"os_index", "0"}});
    sets(machine, cpus, nodes);
    set(machine, {{"allowed_cpuset", mask_text(cpus)}, {"allowed_nodeset", mask_text(nodes)}});
    info(machine, "DMIProductName", node_.system.board);
    info(machine, "OSRelease", node_.system.kernel);
    info(machine, "HostName", {node_.name, origin::hwloc});
    info(machine, "Architecture", node_.processors.architecture);
    // In the order of their processors, as hwloc wants it; memory without processors belongs to the machine.
    for (const Memory& memory : all)
      if (memory.cpus.empty()) numa_node(machine, memory, cpus);
    std::erase_if(all, [](const Memory& memory) { return memory.cpus.empty(); });
    std::sort(all.begin(), all.end(),
              [](const Memory& a, const Memory& b) { return *a.cpus.begin() < *b.cpus.begin(); });
    std::vector<std::pair<int, std::vector<Memory>>> packages;
    for (Memory& memory : all) {
      const int number = memory.numa.package;
      auto known = std::find_if(packages.begin(), packages.end(), [&](auto& p) { return p.first == number; });
      if (known == packages.end()) known = packages.insert(known, {number, {}});
      known->second.push_back(std::move(memory));
    }
    for (const auto& [number, of_package] : packages) package(machine, number, of_package);
    return machine;
  }

  void package(pugi::xml_node machine, int number, const std::vector<Memory>& memories) {
    pugi::xml_node above = machine;
    if (number >= 0) {
      const auto [cpus, nodes] = sets_of(memories);
      above = object(machine, "Package", {{"os_index", std::to_string(number)}});
      sets(above, cpus, nodes);
      info(above, "CPUVendor", node_.processors.vendor);
      info(above, "CPUModel", node_.processors.model);
    }
    for (const Memory& memory : memories) {
      pugi::xml_node place = above;
      if (number < 0 || memories.size() > 1) {
        place = object(above, "Group");
        sets(place, memory.cpus, memory.node());
      }
      numa_node(place, memory, memory.cpus);
      for (const int i : memory.cpus) {
        pugi::xml_node pu = object(place, "PU", {{"os_index", std::to_string(i)}});
        sets(pu, {i}, memory.node());
      }
      places_.emplace(memory.numa.number, place);
    }
  }

  void numa_node(pugi::xml_node place, const Memory& memory, const Set& cpus) {
    pugi::xml_node node = object(place, "NUMANode", {{"os_index", std::to_string(memory.numa.number)}});
    sets(node, cpus, memory.node());
    if (memory.numa.memory.known()) set(node, {{"local_memory", std::to_string(memory.numa.memory->value)}});
  }

  // ---- devices

  static std::string domain(const std::string& address) { return address.substr(0, address.find(':')); }
  static unsigned bus(const std::string& address) {
    const std::size_t colon = address.find(':');
    return static_cast<unsigned>(hexadecimal(address.substr(colon + 1, 2)).value_or(0));
  }

  struct Buses {
    unsigned first, last;
  };

  static std::string root_of(const PciDevice& device) {
    return device.root.empty() ? fmt::format("{}:{:02x}", domain(device.address), bus(device.address))
                               : device.root;
  }

  // How far the buses below a bridge or a host bridge reach; children come after their parents.
  std::map<std::string, Buses> buses_below() const {
    std::map<std::string, Buses> below;
    std::set<std::string> known;
    for (const PciDevice& device : node_.pci) known.insert(device.address);
    for (auto device = node_.pci.rbegin(); device != node_.pci.rend(); ++device) {
      const unsigned own = bus(device->address);
      const auto further = below.find(device->address);
      const unsigned last = further == below.end() ? own : std::max(own, further->second.last);
      Buses& above = below
                         .try_emplace(known.contains(device->parent) ? device->parent : root_of(*device),
                                      Buses{own, last})
                         .first->second;
      above = {std::min(above.first, own), std::max(above.last, last)};
    }
    return below;
  }

  // "0000:[3a-5c]": the buses below `bridge`; without any that of the device.
  static std::string reach(const std::map<std::string, Buses>& below, const std::string& bridge,
                           const PciDevice& device) {
    const auto found = below.find(bridge);
    const Buses own{bus(device.address), bus(device.address)},
        buses = found == below.end() ? own : found->second;
    return fmt::format("{}:[{:02x}-{:02x}]", domain(device.address), buses.first, buses.last);
  }

  void pci() {
    const auto below = buses_below();
    for (const PciDevice& device : node_.pci) {
      pugi::xml_node& above = devices_[devices_.contains(device.parent) ? device.parent : root_of(device)];
      if (!above) {
        const auto place = places_.find(device.numa.value_or(-1));
        above = object(
            place == places_.end() ? machine_ : place->second, "Bridge",
            {{"bridge_type", "0-1"}, {"depth", "0"}, {"bridge_pci", reach(below, root_of(device), device)}});
      }
      const bool is_bridge = below.contains(device.address) || topology::is_bridge(device);
      pugi::xml_node own = object(above, is_bridge ? "Bridge" : "PCIDev");
      if (is_bridge)
        set(own, {{"bridge_type", "1-1"},
                  {"depth", std::to_string(above.attribute("depth").as_int() + 1)},
                  {"bridge_pci", reach(below, device.address, device)}});
      const double GBps = pci_rate(device.link).value_or(BytesPerSecond(0)).value / 1e9;
      set(own, {{"pci_busid", device.address},
                {"pci_type", fmt::format("{:04x} [{:04x}:{:04x}] [{:04x}:{:04x}] 00",
                                         device.device_class.value_or(0) >> 8, device.vendor.value_or(0),
                                         device.device.value_or(0), device.subsystem_vendor.value_or(0),
                                         device.subsystem_device.value_or(0))},
                {"pci_link_speed", fmt::format("{:.6f}", GBps)}});
      info(own, "PCIDevice", device.name);
      devices_[device.address] = own;
      described(own, device.address);
    }
  }

  void described(pugi::xml_node& own, const std::string& address) {
    for (const NvSwitch& nvswitch : node_.nvswitches)
      if (nvswitch.address == address) set(own, {{"subtype", "NVSwitch"}});
    for (const Gpu& gpu : node_.gpus)
      if (gpu.address == address) os_device(own, gpu);
    for (const Nic& nic : node_.nics)
      if (nic.address == address) os_devices(own, nic);
  }

  pugi::xml_node os_device(pugi::xml_node parent, const std::string& name, const char* type) {
    return object(parent, "OSDev", {{"name", clean(name)}, {"osdev_type", type}});
  }

  void os_device(pugi::xml_node parent, const Gpu& gpu) {
    pugi::xml_node own =
        os_device(parent, gpu.name.starts_with("GPU") ? "nvml" + gpu.name.substr(3) : gpu.name, "1");
    set(own, {{"subtype", "NVML"}});
    info(own, "GPUModel", gpu.model);
    info(own, "NVIDIASerial", gpu.serial);
    info(own, "NVIDIAUUID", gpu.uuid);
    gpus_[gpu.address] = last_index_;
  }

  void os_devices(pugi::xml_node parent, const Nic& nic) {
    for (const std::string& netdev : nic.netdevs) os_device(parent, netdev, "2");
    if (nic.rdma.empty()) return;
    pugi::xml_node own = os_device(parent, nic.rdma, "3");
    if (nic.guid.known() && nic.guid->size() == 16) {
      std::string guid = *nic.guid;
      for (const int colon : {12, 8, 4}) guid.insert(static_cast<std::size_t>(colon), ":");
      info(own, "NodeGUID", {guid, origin::hwloc});
    }
    for (const Port& port : nic.ports) {
      const std::map<std::string, int> states = {{"down", 1}, {"init", 2}, {"armed", 3}, {"active", 4}};
      const std::string prefix = fmt::format("Port{}", port.number);
      if (const auto state = states.find(port.state.value_or("")); state != states.end())
        info(own, (prefix + "State").c_str(), {std::to_string(state->second), origin::hwloc});
      if (port.lid.known())
        info(own, (prefix + "LID").c_str(), {fmt::format("0x{:x}", *port.lid), origin::hwloc});
      for (std::size_t i = 0; i < port.gids.size(); ++i)
        info(own, fmt::format("{}GID{}", prefix, i).c_str(), {port.gids[i], origin::hwloc});
    }
  }

  // The matrix of NVLinks between GPUs and NVSwitches, in MB/s.
  void nvlinks(pugi::xml_node topology) {
    std::map<std::string, std::size_t> place;  // by PCI address
    std::vector<std::string> names;
    for (const Gpu& gpu : node_.gpus)
      if (gpu.nvlinks && gpus_.contains(gpu.address) && place.emplace(gpu.address, names.size()).second)
        names.push_back(fmt::format("OSDev:{}", gpus_[gpu.address]));
    if (place.empty()) return;
    for (const NvSwitch& nvswitch : node_.nvswitches)
      if (const auto found = devices_.find(nvswitch.address);
          found != devices_.end() && !place.contains(nvswitch.address)) {
        place.emplace(nvswitch.address, names.size());
        names.push_back(fmt::format("PCIDev:{}", found->second.attribute("gp_index").value()));
      }
    const std::size_t size = names.size();
    std::vector<std::uint64_t> MBps(size * size, 0);
    std::uint64_t sum = 0;
    for (const Gpu& gpu : node_.gpus) {
      const auto from = place.find(gpu.address);
      if (from == place.end() || !gpu.nvlinks) continue;
      for (const NvLink& link : *gpu.nvlinks) {
        const auto to = place.find(link.remote_address);
        if (to == place.end() || !link.up.is(true) || !link.rate.known() || link.rate->value < 0 ||
            link.rate->value > 1e15)
          continue;
        const auto rate = static_cast<std::uint64_t>(link.rate->value / 1e6);
        MBps[from->second * size + to->second] += rate;
        if (!gpus_.contains(link.remote_address)) MBps[to->second * size + from->second] += rate;
        sum += rate;
      }
    }
    if (sum == 0) return;
    pugi::xml_node matrix = topology.append_child("distances2hetero");
    matrix.append_attribute("nbobjs") = static_cast<unsigned>(size);
    matrix.append_attribute("kind") = 25;  // bandwidths, from the system, between objects of several types
    matrix.append_attribute("name") = "NVLinkBandwidth";
    append(matrix, "indexes", names);
    std::vector<std::string> values;
    for (const std::uint64_t value : MBps) values.push_back(std::to_string(value));
    append(matrix, "u64values", values);
  }

  static void append(pugi::xml_node matrix, const char* name, const std::vector<std::string>& words) {
    constexpr std::size_t a_line = 10;
    for (std::size_t i = 0; i < words.size(); i += a_line) {
      std::string line;
      for (std::size_t k = i; k < std::min(i + a_line, words.size()); ++k) line += words[k] + " ";
      pugi::xml_node child = matrix.append_child(name);
      child.append_attribute("length") = static_cast<unsigned>(line.size());
      child.text() = line.c_str();
    }
  }

  const Node& node_;
  pugi::xml_document document_;
  pugi::xml_node machine_;
  unsigned last_index_ = 0;
  std::map<int, pugi::xml_node> places_;           // by NUMA node
  std::map<std::string, pugi::xml_node> devices_;  // by PCI address, and host bridges
  std::map<std::string, unsigned> gpus_;           // indices of their OS devices
};

}  // namespace

std::string write_hwloc_xml(const Node& node) {
  return Writer(node).run();
}

}  // namespace ringtrue::formats
