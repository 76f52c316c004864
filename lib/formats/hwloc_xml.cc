// hwloc's XML: versions 1 (without a number), 2 and 3, which differ in where information stands and in how
// the types of OS devices are counted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "formats/devices.h"
#include "formats/format.h"
#include "formats/hwloc_nvlink.h"
#include "formats/hwloc_os_device.h"
#include "formats/text.h"
#include "formats/xml.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "not an hwloc XML: " + std::move(what));
}

// Where in the tree an object is.
struct Place {
  std::string parent, root;  // the bridge and the host bridge above
  std::string device;        // the PCI device whose OS devices follow
  std::optional<int> numa;
  int package = -1;
};

class Reader {
 public:
  Reader(const pugi::xml_node& root, std::string name) : root_(root) {
    node_.name = std::move(name);
    version_ = static_cast<int>(std::min(real(attribute(root, "version")).value_or(1), 9.0));
  }

  Result<Node> run() {
    information(root_);  // of the machine, from version 3 on
    for (const auto& child : root_.children("object")) {
      machine_ = child;
      if (const auto read = object(child, {}); !read) return tl::unexpected(read.error());
    }
    if (!machine_) return bad("no object");
    processors();
    devices();
    if (const auto read = read_nvlinks(root_, peers_, node_); !read) return bad(read.error().what);
    return std::move(node_);
  }

 private:
  Result<void> object(const pugi::xml_node& node, Place place) {
    const std::string_view type = attribute(node, "type");
    if (const auto nodes = mask(attribute(node, "nodeset")); nodes && node.attribute("nodeset"))
      place.numa = nodes->count() == 1 ? std::optional(nodes->ranges[0].first) : std::nullopt;
    if (type == "Machine" || type == "System") {
      information(node);
    } else if (type == "Package" || type == "Socket") {
      place.package = package(node);
    } else if (type == "NUMANode" || type == "Node") {
      numa_node(node, place);
    } else if (type == "Core") {
      ++cores_;
    } else if (type == "PU") {
      ++threads_;
    } else if (type == "Bridge" || type == "PCIDev") {
      if (const auto read = pci(node, place); !read) return read;
    } else if (type == "OSDev") {
      os_device(node, place);
    } else if (type.find("Cache") != std::string_view::npos && type != "MemCache") {
      cache(node, type);
    }
    for (const auto& child : node.children("object"))
      if (const auto read = object(child, place); !read) return read;
    return {};
  }

  void information(const pugi::xml_node& node) {
    for (const auto& info : node.children("info"))
      machine_info_.emplace(attribute(info, "name"), clean(attribute(info, "value")));
  }

  std::optional<std::string> machine_info(const char* name) const {
    const auto found = machine_info_.find(name);
    return found == machine_info_.end() || found->second.empty() ? std::nullopt
                                                                 : std::optional(found->second);
  }

  int package(const pugi::xml_node& node) {
    const int number = static_cast<int>(std::min<std::uint64_t>(
        decimal(attribute(node, "os_index")).value_or(packages_.size()), max_devices));
    packages_.emplace_back(number, mask(attribute(node, "cpuset")).value_or(Numbers{}));
    for (const auto& info : node.children("info")) {
      const std::string_view name = attribute(info, "name");
      if (name == "CPUModel") node_.processors.model.offer(clean(attribute(info, "value")), origin::hwloc);
      if (name == "CPUVendor") node_.processors.vendor.offer(clean(attribute(info, "value")), origin::hwloc);
    }
    peer(node, {Remote::cpu, {}});
    return number;
  }

  void numa_node(const pugi::xml_node& node, const Place& place) {
    NumaNode numa;
    numa.number = static_cast<int>(std::min<std::uint64_t>(
        decimal(attribute(node, "os_index")).value_or(node_.processors.numa.size()), max_devices));
    numa.package = place.package;
    fill(numa, node);
    node_.processors.numa.push_back(std::move(numa));
  }

  static void fill(NumaNode& numa, const pugi::xml_node& node) {
    if (const auto bytes = decimal(attribute(node, "local_memory")))
      numa.memory = {Bytes(*bytes), origin::hwloc};
    if (const auto cpus = mask(attribute(node, "cpuset")); cpus && node.attribute("cpuset")) {
      numa.processors = {cpus->count(), origin::hwloc};
      numa.cpus = cpus->text();
    }
  }

  // "L3Cache", "L1iCache"; "Cache" with its depth in version 1.
  void cache(const pugi::xml_node& node, std::string_view type) {
    const std::uint64_t size = decimal(attribute(node, "cache_size")).value_or(0);
    const std::string_view depth = attribute(node, "depth"), kind = attribute(node, "cache_type");
    if (size == 0 || !decimal(depth)) return;
    const bool instructions = kind == "2" || type.find('i') != std::string_view::npos;
    const char* suffix = instructions ? "i" : kind == "1" ? "d" : "";
    ++caches_[{fmt::format("L{}{}", clean(depth), suffix), size}];
  }

  Result<void> pci(const pugi::xml_node& node, Place& place) {
    if (attribute(node, "bridge_type").starts_with("0-")) {
      // A host bridge: "0000:[3a-5c]" is what it leads to.
      std::string below = lower(attribute(node, "bridge_pci"));
      std::erase(below, '[');
      place.root = clean(below.substr(0, below.find('-')));
      place.parent.clear();
      return {};
    }
    const auto address = pci_address(attribute(node, "pci_busid"));
    if (!address) return bad(fmt::format("{:?} is not a PCI address", clean(attribute(node, "pci_busid"))));
    if (!at_.emplace(*address, node_.pci.size()).second)
      return fail(
          Cause::bad_input, fmt::format("not an hwloc XML: two devices at {}", *address), {},
          fmt::format("leave one of the two with pci_busid=\"{}\" out, or correct its address", *address));
    if (node_.pci.size() >= max_devices) return bad(fmt::format("more than {} PCI devices", max_devices));
    PciDevice device;
    device.address = *address;
    device.parent = place.parent;
    device.root = place.root;
    if (place.numa) device.numa = {*place.numa, origin::hwloc};
    pci_type(attribute(node, "pci_type"), device);
    if (const auto GBps = real(attribute(node, "pci_link_speed")); GBps && *GBps > 0 && *GBps < 1e6)
      device.link.rate = {BytesPerSecond(*GBps * 1e9), origin::hwloc};
    std::string name;
    for (const char* part : {"PCIVendor", "PCIDevice"})
      for (const auto& info : node.children("info"))
        if (attribute(info, "name") == part)
          name += fmt::format("{}{}", name.empty() ? "" : " ", clean(attribute(info, "value")));
    if (!name.empty()) device.name = {name, origin::hwloc};
    if (attribute(node, "subtype") == "NVSwitch" || is_nvswitch(device)) {
      node_.nvswitches.push_back({{}, *address});
      peer(node, {Remote::nvswitch, *address});
    } else if (is_gpu(device)) {
      peer(node, {Remote::gpu, *address});
    }
    (attribute(node, "type") == "Bridge" ? place.parent : place.device) = *address;
    node_.pci.push_back(std::move(device));
    return {};
  }

  // "0302 [10de:1db6] [10de:1297] a1 00": class, numbers, revision and, from version 3 on, interface.
  static void pci_type(std::string_view text, PciDevice& device) {
    std::string digits(text);
    std::replace_if(
        digits.begin(), digits.end(), [](char c) { return c == '[' || c == ']' || c == ':'; }, ' ');
    std::vector<std::uint32_t> numbers;
    for (const std::string_view word : split(digits, ' '))
      if (const auto value = hexadecimal(word); value && *value <= 0xffff)
        numbers.push_back(static_cast<std::uint32_t>(*value));
    if (numbers.size() < 3) return;
    const std::uint32_t interface = numbers.size() > 6 ? numbers[6] & 0xff : 0;
    if (numbers[0] != 0) device.device_class = {numbers[0] << 8 | interface, origin::hwloc};
    if (numbers[1] == 0) return;
    device.vendor = {numbers[1], origin::hwloc};
    device.device = {numbers[2], origin::hwloc};
    if (numbers.size() < 5 || numbers[3] == 0) return;
    device.subsystem_vendor = {numbers[3], origin::hwloc};
    device.subsystem_device = {numbers[4], origin::hwloc};
  }

  void os_device(const pugi::xml_node& node, const Place& place) {
    OsDevice device = read_os_device(node, version_);
    if (device.gpu && !place.device.empty()) peer(node, {Remote::gpu, place.device});
    os_devices_[place.device].push_back(std::move(device));
  }

  void peer(const pugi::xml_node& node, HwlocPeer peer) {
    if (const auto index = decimal(attribute(node, "gp_index"))) peers_.emplace(*index, std::move(peer));
  }

  void processors() {
    Processors& all = node_.processors;
    if (all.numa.empty()) {  // version 1 has none where memory is uniform
      fill(all.numa.emplace_back(), machine_);
      if (!all.numa[0].memory.known() && all.numa[0].cpus.empty()) all.numa.clear();
    }
    for (NumaNode& numa : all.numa) {
      const Numbers cpus = number_list(numa.cpus).value_or(Numbers{});
      for (const auto& [number, theirs] : packages_)
        if (!cpus.ranges.empty() && theirs.contains(cpus)) numa.package = number;
    }
    const auto count = [](int n) { return n > 0 ? Fact<int>(n, origin::hwloc) : Fact<int>(); };
    all.packages = count(static_cast<int>(packages_.size()));
    all.cores = count(cores_);
    all.threads = count(threads_);
    for (const auto& [kind, number] : caches_) all.caches.push_back({kind.first, number, Bytes(kind.second)});
    std::reverse(all.caches.begin(), all.caches.end());  // the outermost first
    all.architecture.offer(machine_info("Architecture"), origin::hwloc);
    all.model.offer(machine_info("CPUModel"), origin::hwloc);

    System& system = node_.system;
    system.hostname.offer(machine_info("HostName"), origin::hwloc);
    system.kernel.offer(machine_info("OSRelease"), origin::hwloc);
    std::optional<std::string> board = machine_info("DMIProductName");
    auto vendor = machine_info("DMISysVendor");
    if (!vendor) vendor = machine_info("DMIBoardVendor");
    if (board && vendor && !board->starts_with(*vendor)) board = *vendor + " " + *board;
    system.board.offer(board ? board : machine_info("PlatformModel"), origin::hwloc);
    if (system.hostname.known()) node_.name = *system.hostname;
  }

  void devices() {
    classify_bridges(node_.pci);
    mark_virtual_functions(node_.pci);
    for (const PciDevice& device : node_.pci) {
      const auto theirs = os_devices_.find(device.address);
      const auto found = theirs == os_devices_.end() ? std::vector<OsDevice>{} : theirs->second;
      const bool asked =
          std::any_of(found.begin(), found.end(), [](const auto& d) { return d.nvml_index >= 0; });
      if (is_gpu(device) || asked) node_.gpus.push_back(make_gpu(device, found));
      if (is_nic(device)) make_nics(device, found, node_.nics);
    }
    for (const auto& [address, found] : os_devices_)
      if (const auto at = at_.find(address); at == at_.end() || !is_nic(node_.pci[at->second]))
        make_nics({}, found, node_.nics);
    std::map<std::string, int> numbers;
    for (const auto& [address, found] : os_devices_)
      for (const OsDevice& device : found)
        if (device.nvml_index >= 0) numbers[address] = device.nvml_index;
    name_devices(node_, numbers);
  }

  pugi::xml_node root_, machine_;
  int version_ = 1;
  Node node_;
  std::map<std::string, std::string, std::less<>> machine_info_;
  std::vector<std::pair<int, Numbers>> packages_;
  int cores_ = 0, threads_ = 0;
  std::map<std::pair<std::string, std::uint64_t>, int> caches_;
  std::unordered_map<std::string, std::size_t> at_;
  std::map<std::string, std::vector<OsDevice>> os_devices_;  // by the PCI address that they belong to
  HwlocPeers peers_;
};

}  // namespace

Result<Node> read_hwloc_xml(std::string_view text, const std::string& name) {
  pugi::xml_document document;
  const auto root = load_xml(text, "topology", document);
  if (!root) return bad(root.error().what);
  return Reader(*root, name).run();
}

}  // namespace ringtrue::formats
