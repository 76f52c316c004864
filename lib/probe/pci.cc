// The PCI tree as sysfs has it. A function's real path names all that is above it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/text.h"
#include "probe/probe.h"
#include "probe/reading.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

constexpr const char* top = "/sys/bus/pci/devices";
constexpr std::size_t max_functions = 16384, max_depth = 64;

// ---- one function

// "16.0 GT/s PCIe"; nullopt for "Unknown", "Unknown speed" and what no PCIe link has.
std::optional<double> speed(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto end = text->find(" GT/s");
  const auto value = end == std::string::npos ? std::nullopt : formats::real(text->substr(0, end));
  return value && *value >= 2.5 && *value <= 256 ? value : std::nullopt;
}

// 0 and 255 are how the kernel reads a device that does not say.
std::optional<int> width(const std::optional<std::int64_t>& lanes) {
  return lanes && *lanes >= 1 && *lanes <= 32 ? std::optional(int(*lanes)) : std::nullopt;
}

struct Function {
  PciDevice device;
  bool has_link_files = true;
  bool asleep = false;
  bool gone = false;        // nothing of it is there any more
  bool acs_hidden = false;  // its configuration space shows no more than the first 64 bytes
};

Function read_function(Source& source, const std::string& address, Node& node) {
  Function f;
  PciDevice& d = f.device;
  Folder folder(source, fmt::format("{}/{}", top, address));
  d.address = address;
  d.device_class.offer(folder.hexadecimal("class"), origin::sysfs);
  d.vendor.offer(folder.hexadecimal("vendor"), origin::sysfs);
  d.device.offer(folder.hexadecimal("device"), origin::sysfs);
  d.subsystem_vendor.offer(folder.hexadecimal("subsystem_vendor"), origin::sysfs);
  d.subsystem_device.offer(folder.hexadecimal("subsystem_device"), origin::sysfs);
  if (const auto numa = folder.number("numa_node"); numa && *numa >= 0 && *numa < 65536)
    d.numa.offer(int(*numa), origin::sysfs);
  d.power.offer(folder.text("power/runtime_status"), origin::sysfs);
  d.driver.offer(folder.link_name("driver"), origin::sysfs);
  if (const auto group = parse_number<std::int64_t>(folder.link_name("iommu_group").value_or("")))
    d.iommu_group.offer(int(*group), origin::sysfs);
  if (const auto physical = folder.link_name("physfn")) {
    d.virtual_function = true;
    d.physical_function = formats::pci_address(*physical).value_or("");
  }
  // Of a suspended function, reading its link or configuration would wake it. A virtual one has no link.
  f.asleep = d.power.is("suspended");
  if (!f.asleep && !d.virtual_function) {
    const auto now = folder.text("current_link_speed");
    f.has_link_files = now || folder.failed();
    d.link.speed_GTps.offer(speed(now), origin::sysfs);
    d.link.width.offer(width(folder.number("current_link_width")), origin::sysfs);
    d.link.max_speed_GTps.offer(speed(folder.text("max_link_speed")), origin::sysfs);
    d.link.max_width.offer(width(folder.number("max_link_width")), origin::sysfs);
  }
  folder.add_gap(node, address);
  if (!d.device_class.known() && !folder.failed()) {
    node.gaps.push_back({origin::sysfs, address, half_removed});
    f.gone = !d.vendor.known();
  }
  return f;
}

// The chipset's own functions (hundreds on a server) say nothing of how data flows.
bool matters(const Function& f) {
  const PciDevice& d = f.device;
  const std::uint32_t base = d.device_class.value_or(0) >> 16;
  if (f.gone) return false;
  return !d.device_class.known() || is_bridge(d) || is_gpu(d) || is_nic(d) || is_nvswitch(d) ||
         base == 0x12 || base == 0x01 || d.link.max_speed_GTps.known();
}

// ---- the configuration space

class Config {
 public:
  explicit Config(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t size() const { return bytes_.size(); }
  unsigned byte(std::size_t at) const { return at < size() ? static_cast<unsigned char>(bytes_[at]) : 0; }
  unsigned word(std::size_t at) const { return byte(at) | byte(at + 1) << 8; }

  // Of the PCI Express capability; nullopt: none, or hidden.
  std::optional<unsigned> port_type() const {
    if (!(word(0x06) & 0x10)) return std::nullopt;
    std::size_t at = byte(0x34) & ~3u;
    for (int hops = 0; at >= 0x40 && at + 4 <= size() && hops < 48; ++hops, at = byte(at + 1) & ~3u)
      if (byte(at) == 0x10) return word(at + 2) >> 4 & 0xf;
    return std::nullopt;
  }

  // Whether Access Control Services send requests or completions between peers up to the root; false also
  // where the port has no such services. nullopt: the extended space is hidden.
  std::optional<bool> redirects() const {
    if (size() < 0x104) return std::nullopt;
    std::size_t at = 0x100;
    for (int hops = 0; at >= 0x100 && at + 8 <= size() && hops < 480; ++hops, at = word(at + 2) >> 4 & ~3u)
      if (word(at) == 0x000d) return (word(at + 6) & 0x000c) != 0;
    return false;
  }

 private:
  std::string bytes_;
};

void read_config(Source& source, Function& f) {
  const auto bytes = source.read(fmt::format("{}/{}/config", top, f.device.address));
  if (!bytes) return;
  const Config config(*bytes);
  f.acs_hidden = config.size() > 0 && config.size() < 0x104;
  f.device.acs_redirect.offer(config.redirects(), origin::sysfs);
  // By the port type of the PCI Express capability.
  constexpr PciKind kinds[] = {PciKind::unknown,           PciKind::unknown,   PciKind::unknown,
                               PciKind::unknown,           PciKind::root_port, PciKind::switch_upstream,
                               PciKind::switch_downstream, PciKind::bridge,    PciKind::bridge};
  if (const auto type = config.port_type(); type && *type < std::size(kinds)) f.device.kind = kinds[*type];
}

// ---- kinds by structure

struct Below {
  bool bridges = false, others = false;
};

PciKind kind_by_structure(const Function& f, const PciDevice* parent, const Below& below, bool pcie_shows) {
  if (!is_bridge(f.device)) return f.device.device_class.known() ? PciKind::endpoint : PciKind::unknown;
  if (f.device.root.empty()) return PciKind::unknown;
  if (pcie_shows && !f.has_link_files) return PciKind::bridge;  // of conventional PCI
  if (f.device.parent.empty()) return PciKind::root_port;
  switch (parent ? parent->kind : PciKind::unknown) {
    case PciKind::root_port:
    case PciKind::switch_downstream:
      return below.bridges && !below.others ? PciKind::switch_upstream : PciKind::bridge;
    case PciKind::switch_upstream:
      return PciKind::switch_downstream;
    default:
      return PciKind::bridge;
  }
}

std::vector<std::string> some(const std::set<std::string>& all) {
  std::vector<std::string> names(all.begin(), all.end());
  if (names.size() > 4) names.resize(4), names.push_back("...");
  return names;
}

}  // namespace

void probe_pci(Source& source, Node& node) {
  const auto addresses = source.list(top);
  if (!addresses) {
    node.gaps.push_back({origin::sysfs, std::string(gap::pci_devices), why_not(addresses.error(), top)});
    return;
  }
  // Real paths, in whose order parents come before their children.
  std::map<std::string, Function> functions;
  for (const auto& name : *addresses) {
    const auto address = formats::pci_address(name);
    if (!address || *address != name || functions.size() == max_functions) continue;
    Function f = read_function(source, name, node);
    const auto path = source.link(fmt::format("{}/{}", top, name));
    PciPlace place = path ? pci_place(*path) : PciPlace();
    const bool placed =
        !place.addresses.empty() && place.addresses.back() == name && place.addresses.size() <= max_depth;
    if (placed) f.device.root = place.root;
    if (placed && place.addresses.size() > 1) f.device.parent = place.addresses.rbegin()[1];
    if (matters(f)) functions.emplace((placed ? *path : "") + "/" + name, std::move(f));
  }

  std::map<std::string, Below> below;
  bool pcie_shows = false;
  for (auto& [path, f] : functions) {
    (is_bridge(f.device) ? below[f.device.parent].bridges : below[f.device.parent].others) = true;
    pcie_shows |= f.device.link.max_speed_GTps.known();
    if (is_bridge(f.device) && !f.asleep) read_config(source, f);
  }
  std::map<std::string, const PciDevice*> by_address;
  std::set<std::string> asleep, acs_hidden;
  for (auto& [path, f] : functions) {
    PciDevice& d = f.device;
    by_address[d.address] = &d;
    const auto parent = by_address.find(d.parent);
    if (parent == by_address.end()) d.parent.clear();
    const auto children = below.find(d.address);
    const bool leaf = children == below.end();
    if (d.kind == PciKind::unknown)
      d.kind = kind_by_structure(f, parent == by_address.end() ? nullptr : parent->second,
                                 leaf ? Below() : children->second, pcie_shows);
    const bool empty_port = is_bridge(d) && leaf;
    if (f.asleep && !empty_port) asleep.insert(d.address);
    if (f.acs_hidden && !empty_port) acs_hidden.insert(d.address);
  }
  for (auto& [path, f] : functions) node.pci.push_back(std::move(f.device));

  if (!asleep.empty())
    node.gaps.push_back({origin::sysfs, fmt::format("PCIe links of {}", fmt::join(some(asleep), ", ")),
                         "suspended: reading them would wake the devices"});
  if (!acs_hidden.empty())
    node.gaps.push_back({origin::sysfs, fmt::format("ACS of {}", fmt::join(some(acs_hidden), ", ")),
                         "needs root: the kernel shows others only the first 64 bytes of the configuration"});
}

}  // namespace ringtrue::probe
