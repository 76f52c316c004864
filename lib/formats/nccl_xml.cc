// NCCL's topology: <system><cpu><pci>...<gpu><nvlink/></gpu>...<nic><net/></nic></pci></cpu></system>. A
// bridge there is a whole PCIe switch; the width and speed of an element are the lesser of its own and of the
// port above, as sysfs had them for the maximum.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/devices.h"
#include "formats/format.h"
#include "formats/hwloc_nvlink.h"
#include "formats/text.h"
#include "formats/xml.h"
#include "topology/links.h"

namespace ringtrue::formats {
namespace {

using namespace topology;

constexpr int max_nvlinks_of_a_gpu = 64, max_nics = 4096;

tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "not a topology of NCCL: " + std::move(what));
}

tl::unexpected<Error> two_at(const std::string& address) {
  return fail(Cause::bad_input, fmt::format("not a topology of NCCL: two devices at {}", address), {},
              fmt::format("leave one of the two <pci busid=\"{}\"> out, or correct its address", address));
}

template <class T>
Fact<T> said(std::optional<T> value) {
  return value ? Fact<T>(std::move(*value), origin::nccl_xml) : Fact<T>();
}

std::optional<int> integer(std::string_view text) {
  const auto value = decimal(trim(text));
  return value && *value <= 1'000'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<std::uint32_t> identifier(std::string_view text) {
  const auto value = hexadecimal(trim(text));
  return value && *value > 0 && *value <= 0xffffff ? std::optional(static_cast<std::uint32_t>(*value))
                                                   : std::nullopt;
}

std::optional<bool> flag(std::string_view text) {
  if (text == "1") return true;
  if (text == "0") return false;
  return std::nullopt;
}

// "32.0 GT/s PCIe", "8 GT/s"; anything else ("Unknown", "") is no speed.
std::optional<double> speed(std::string_view text) {
  text = trim(text);
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos || !trim(text.substr(end)).starts_with("GT/s")) return std::nullopt;
  const auto value = real(text.substr(0, end));
  return value && pci_generation(*value) > 0 ? value : std::nullopt;
}

// GPUs of these generations have no NVLinks; of all others that no row speaks of, files do not tell.
bool never_has_nvlinks(int sm) {
  return (sm > 0 && sm < 60) || sm == 61 || sm == 62 || sm == 89 || sm == 120 || sm == 121;
}

// One way, of one xGMI link: AMD's figures for both ways together are 92, 100, 128 and 153.6 GB/s. By the
// word that RCCL writes, "908" or "gfx90a:sramecc+:xnack-"; it writes gfx90a as 910, too.
std::optional<BytesPerSecond> xgmi_rate(std::string_view gcn) {
  if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
  gcn = gcn.substr(0, gcn.find(':'));
  if (gcn == "906" || gcn == "908") return BytesPerSecond(46e9);  // MI50, MI60, MI100
  if (gcn == "90a" || gcn == "910") return BytesPerSecond(50e9);  // MI200
  if (gcn.starts_with("94")) return BytesPerSecond(64e9);         // MI300
  if (gcn.starts_with("95")) return BytesPerSecond(76.8e9);       // MI350
  return std::nullopt;
}

std::optional<int> width(std::string_view text) {
  const auto value = integer(text);
  return value && *value > 0 && *value <= 32 ? value : std::nullopt;  // 255: unknown
}

class Reader {
 public:
  explicit Reader(std::string name) { node_.name = std::move(name); }

  Result<Node> run(const pugi::xml_node& system) {
    const auto cpus = system.children("cpu");
    uniform_ = std::distance(cpus.begin(), cpus.end()) == 1;
    std::set<std::string_view> hosts;
    for (const auto& cpu : system.children("cpu"))
      if (cpu.attribute("host_hash")) hosts.insert(attribute(cpu, "host_hash"));
    if (hosts.size() > 1)
      return fail(
          Cause::bad_input, fmt::format("not a topology of NCCL: describes {} hosts in one", hosts.size()),
          {},
          "give a file a host: NCCL_TOPO_DUMP_FILE of a job on that host alone, or of NCCL_MNNVL_ENABLE=0");
    for (const auto& child : system.children()) {
      std::optional<int> numa;
      if (std::string_view(child.name()) == "cpu") numa = cpu(child);
      if (const auto read = below(child, numa, {}); !read) return tl::unexpected(read.error());
    }
    if (node_.pci.empty() && node_.nics.empty() && node_.processors.numa.empty())
      return bad("no cpu and no device");
    // Who lists the links of some GPUs knows those of the others: then none are none.
    const auto listed = [](const Gpu& gpu) { return gpu.nvlinks && !gpu.nvlinks->empty(); };
    if (std::any_of(node_.gpus.begin(), node_.gpus.end(), listed))
      for (Gpu& gpu : node_.gpus)
        if (described_.contains(gpu.address) && !gpu.nvlinks) gpu.nvlinks.emplace();
    for (const std::string& address : nvswitch_addresses_) node_.nvswitches.push_back({{}, address});
    name_devices(node_, gpu_numbers_);
    return std::move(node_);
  }

 private:
  std::optional<int> cpu(const pugi::xml_node& element) {
    node_.processors.architecture.offer(word(element, "arch"), origin::nccl_xml);
    node_.processors.vendor.offer(word(element, "vendor"), origin::nccl_xml);
    // -1: the kernel knows of no NUMA nodes. Of one cpu that is one.
    const std::string_view id = trim(attribute(element, "numaid"));
    const auto number = uniform_ && id == "-1" ? std::optional(0) : integer(id);
    if (!number || *number >= max_devices) return std::nullopt;
    const auto known = std::find_if(node_.processors.numa.begin(), node_.processors.numa.end(),
                                    [&](const NumaNode& numa) { return numa.number == *number; });
    if (known != node_.processors.numa.end()) return number;
    NumaNode numa;
    numa.number = *number;
    if (const auto cpus = mask(attribute(element, "affinity")); cpus && cpus->count() > 0) {
      numa.processors = {cpus->count(), origin::nccl_xml};
      numa.cpus = cpus->text();
    }
    node_.processors.numa.push_back(std::move(numa));
    return number;
  }

  static std::optional<std::string> word(const pugi::xml_node& element, const char* name) {
    std::string text = clean(attribute(element, name));
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  }

  Result<void> below(const pugi::xml_node& element, std::optional<int> numa, const std::string& parent) {
    for (const auto& child : element.children()) {
      const std::string_view name = child.name();
      if (name == "pci") {
        if (const auto read = pci(child, numa, parent); !read) return read;
      } else if (name == "nic" && parent.empty()) {
        nic(child, nullptr);  // without PCI: NCCL repeats it below each cpu
      }
    }
    return {};
  }

  Result<void> pci(const pugi::xml_node& element, std::optional<int> numa, const std::string& parent) {
    const auto address = pci_address(attribute(element, "busid"));
    if (!address) return bad(fmt::format("{:?} is not a PCI address", clean(attribute(element, "busid"))));
    if (!addresses_.insert(*address).second) return two_at(*address);
    if (node_.pci.size() >= max_devices) return bad(fmt::format("more than {} PCI devices", max_devices));
    PciDevice device;
    device.address = *address;
    device.parent = parent;
    device.device_class = said(identifier(attribute(element, "class")));
    device.vendor = said(identifier(attribute(element, "vendor")));
    device.device = said(identifier(attribute(element, "device")));
    constexpr std::uint32_t amd = 0x1002;
    if (element.child("gpu").attribute("gcn")) device.vendor.offer(amd, origin::derived);
    device.subsystem_vendor = said(identifier(attribute(element, "subsystem_vendor")));
    device.subsystem_device = said(identifier(attribute(element, "subsystem_device")));
    device.numa = said(numa);
    device.link.speed_GTps = said(speed(attribute(element, "link_speed")));
    device.link.width = said(width(attribute(element, "link_width")));
    const bool is_switch = device.device_class.known() ? is_bridge(device) : bool(element.child("pci"));
    device.kind = is_switch ? PciKind::switch_upstream : PciKind::endpoint;
    // Some write a GPU's class without its maker.
    if (is_gpu(device) || element.child("gpu") || device.device_class.value_or(0) >> 8 == 0x0300) {
      if (const auto read = gpu(element.child("gpu"), *address); !read) return read;
    } else if (is_nic(device) || element.child("nic")) {
      nic(element, &device);
    } else if (is_nvswitch(device)) {
      nvswitch_addresses_.insert(*address);
    }
    node_.pci.push_back(std::move(device));
    return below(element, numa, *address);
  }

  Result<void> gpu(const pugi::xml_node& element, const std::string& address) {
    Gpu gpu;
    gpu.address = address;
    int number = -1;
    if (element) {
      number = integer(attribute(element, "dev")).value_or(-1);
      gpu.compute_capability = said(integer(attribute(element, "sm")));
      gpu.gdr = said(flag(attribute(element, "gdr")));
      if (element.child("c2c")) gpu.c2c = {true, origin::nccl_xml};
      described_.insert(address);
      if (never_has_nvlinks(gpu.compute_capability.value_or(0))) gpu.nvlinks.emplace();
      for (const char* kind : {"nvlink", "xgmi"})
        for (const auto& link : element.children(kind))
          if (const auto read = gpu_links(link, gpu); !read) return read;
    }
    gpu_numbers_.emplace(address, number);
    node_.gpus.push_back(std::move(gpu));
    return {};
  }

  // A bundle of NVLinks, or of AMD's xGMI links, which RCCL writes alike.
  Result<void> gpu_links(const pugi::xml_node& element, Gpu& gpu) {
    const int count = integer(attribute(element, "count")).value_or(0);
    if (!gpu.nvlinks) gpu.nvlinks.emplace();
    if (static_cast<std::size_t>(count) + gpu.nvlinks->size() > max_nvlinks_of_a_gpu)
      return bad(fmt::format("more than {} NVLinks of one GPU", max_nvlinks_of_a_gpu));
    NvLink link;
    link.up = {true, origin::nccl_xml};  // NCCL lists no others
    const int sm = gpu.compute_capability.value_or(0);
    if (std::string_view(element.name()) == "xgmi") {
      link.remote = Remote::gpu;
      if (const auto rate = xgmi_rate(attribute(element.parent(), "gcn")))
        link.rate = {*rate, origin::derived};
    } else if (const auto version = nvlink_version(sm)) {
      link.version = {*version, origin::derived};
      // Boards of these generations without NVLinks of full rate have bridges of other rates.
      if (sm % 10 == 0 || *version >= 4)
        if (const auto rate = nvlink_rate(*version)) link.rate = {*rate, origin::derived};
    }
    // Where the switches are not shown, as in virtual machines, their address is all ones.
    link.remote_address = pci_address(attribute(element, "target")).value_or("");
    const std::uint32_t target = identifier(attribute(element, "tclass")).value_or(0);
    if (target >> 16 == 0x03) link.remote = Remote::gpu;
    if (target == 0x068000) link.remote = Remote::nvswitch;
    if (target == 0x068001) link.remote = Remote::cpu;
    if (link.remote == Remote::nvswitch && count > 0 && !link.remote_address.empty())
      nvswitch_addresses_.insert(link.remote_address);
    for (int i = 0; i < count; ++i) {
      link.index = static_cast<int>(gpu.nvlinks->size());
      gpu.nvlinks->push_back(link);
    }
    return {};
  }

  // The functions of one card are one NIC here, with a <net> for each port.
  void nic(const pugi::xml_node& element, const PciDevice* device) {
    Nic nic;
    std::vector<std::string> names;
    bool rdma = false;
    if (device) {
      nic.address = device->address;
      for (const auto& child : element.children("nic")) rdma |= nets(child, *device, nic, names);
    } else {
      rdma |= nets(element, {}, nic, names);
      if (names.empty() || !without_pci_.insert(names[0]).second) return;
      nic.virtual_device = true;  // no hardware behind it that NCCL could find
    }
    if (node_.nics.size() >= max_nics) return;
    if (!names.empty()) nic.name = names[0];
    if (rdma && !names.empty()) nic.rdma = names[0];
    // Its other functions' names find it as well.
    nic.netdevs.assign(names.begin() + (nic.rdma.empty() ? 0 : 1), names.end());
    node_.nics.push_back(std::move(nic));
  }

  // Whether there are RDMA devices among them.
  static bool nets(const pugi::xml_node& element, const PciDevice& device, Nic& nic,
                   std::vector<std::string>& names) {
    const std::uint32_t type = device.device_class.value_or(0) >> 8;
    constexpr std::uint32_t amazon = 0x1d0f;  // EFA is of Ethernet's class and is none
    const LinkLayer layer = type == 0x0207 || type == 0x0c06              ? LinkLayer::infiniband
                            : type == 0x0200 && !device.vendor.is(amazon) ? LinkLayer::ethernet
                                                                          : LinkLayer::unknown;
    bool rdma = false;
    for (const auto& net : element.children("net")) {
      if (nic.ports.size() >= 64) break;
      // NCCL's sockets are port 0, with their index for a GUID. They know no GPUDirect; and where the kernel
      // tells no speed, as of wireless and virtual devices, NCCL writes one of its own.
      constexpr int placeholder_Mbps = 10000;
      const auto number = integer(attribute(net, "port"));
      const bool socket = number == 0;
      rdma |= number ? !socket : hexadecimal(attribute(net, "guid")).value_or(0) != 0;
      Port port;
      port.number = std::max(number.value_or(1), 1);
      const auto taken = [&](const Port& other) { return other.number == port.number; };
      while (std::any_of(nic.ports.begin(), nic.ports.end(), taken)) ++port.number;
      port.layer = layer;
      if (const auto Mbps = integer(attribute(net, "speed"));
          Mbps && *Mbps > 0 && !(socket && *Mbps == placeholder_Mbps))
        port.rate = {BytesPerSecond(*Mbps * 1e6 / 8), origin::nccl_xml};
      if (const auto gdr = flag(attribute(net, "gdr")); gdr && !socket && !nic.gdr.is(false))
        nic.gdr = {*gdr, origin::nccl_xml};
      if (auto name = word(net, "name"); name && std::find(names.begin(), names.end(), *name) == names.end())
        names.push_back(std::move(*name));
      nic.ports.push_back(std::move(port));
    }
    return rdma;
  }

  Node node_;
  bool uniform_ = false;  // one cpu
  std::set<std::string> addresses_, nvswitch_addresses_, without_pci_;
  std::set<std::string> described_;         // GPUs with an element of their own
  std::map<std::string, int> gpu_numbers_;  // by address
};

}  // namespace

Result<Node> read_nccl_xml(std::string_view text, const std::string& name) {
  pugi::xml_document document;
  const auto system = load_xml(text, "system", document);
  if (!system) return bad(system.error().what);
  return Reader(name).run(*system);
}

}  // namespace ringtrue::formats
