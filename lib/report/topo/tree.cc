// A node as a tree: processors, host bridges, switches, devices.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/plural.h"
#include "report/text/text.h"
#include "report/text/wording.h"
#include "report/topo/topo.h"
#include "topology/links.h"

namespace ringtrue::report {

namespace {

using namespace topology;

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string rate(const std::optional<BytesPerSecond>& value) {
  return value ? to_text(*value) : "";
}

// "8 GT/s x16 of 16 GT/s x16, 15.8 GB/s"
std::string link_text(const PciLink& link) {
  const auto now = pci_rate(link), max = pci_max_rate(link);
  if (!now) return max ? "link unknown of " + pci_max_text(link) : "";
  std::string out = pci_text(link);
  if (max && max->value > now->value) out += " of " + pci_max_text(link);
  const std::string plain = to_text(*now);
  return out == plain ? out : out + ", " + plain;
}

// "18 NVLinks v4 to 4 NVSwitches, 450 GB/s", "17 of 18 NVLinks up"
std::string nvlink_text(const Gpu& gpu) {
  if (!gpu.nvlinks || gpu.nvlinks->empty()) return "";
  int up = 0, unknown = 0;
  BytesPerSecond sum{};
  bool rated = true;
  std::set<std::string> peers;
  std::map<Remote, std::set<std::string>> by_kind;
  std::set<int> versions;
  for (const NvLink& link : *gpu.nvlinks) {
    unknown += !link.up.known();
    if (link.version.known()) versions.insert(*link.version);
    if (!link.up.value_or(false)) continue;
    ++up;
    if (link.rate.known())
      sum += *link.rate;
    else
      rated = false;
    if (link.remote != Remote::unknown) by_kind[link.remote].insert(link.remote_address);
  }
  const std::size_t count = gpu.nvlinks->size();
  std::string out =
      up == int(count) ? fmt::format("{} NVLinks", count) : fmt::format("{} of {} NVLinks up", up, count);
  if (unknown > 0) out += fmt::format(" ({} unknown)", unknown);
  if (versions.size() == 1) out += fmt::format(" v{}", *versions.begin());
  std::string to;
  for (const auto& [kind, addresses] : by_kind) {
    const bool many = addresses.size() != 1;
    to += fmt::format("{}{} {}", to.empty() ? " to " : " and ", addresses.size(),
                      kind == Remote::nvswitch ? many ? "NVSwitches" : "NVSwitch"
                      : kind == Remote::gpu    ? many ? "GPUs" : "GPU"
                      : many                   ? "CPUs"
                                               : "CPU");
  }
  out += to;
  if (rated && up > 0) out += ", " + to_text(sum);
  return out;
}

std::string port_text(const Nic& nic, const Port& port, bool peers) {
  std::string speed = port.speed.known() ? *port.speed : "";
  if (port.width.known()) speed += fmt::format("{}{}x", speed.empty() ? "" : " ", *port.width);
  if (port.max_width.known() && port.width.known() && *port.max_width > *port.width)
    speed += fmt::format(" of {}x", *port.max_width);
  std::string carries = rate(port.rate.value);
  if (port.max_rate.known() && port.rate.known() && port.max_rate->value > port.rate->value)
    carries += " of " + to_text(*port.max_rate);
  const std::string layer = port.layer == LinkLayer::unknown ? "" : std::string(name(port.layer)) + " ";
  return fmt::format("port {}: {}", port.number,
                     joined({layer + port.state.value_or("state unknown"), speed, carries,
                             port.mtu.known() ? fmt::format("MTU {}", *port.mtu) : "",
                             nic.netdevs.empty() ? "" : fmt::format("{}", fmt::join(nic.netdevs, " ")),
                             port.peer.empty() || !peers ? "" : "to " + port.peer}));
}

class Tree {
 public:
  Tree(const Node& node, const Marks& marks, bool all, bool peers, const Style& style)
      : node_(node), marks_(marks), all_(all), peers_(peers), style_(style) {
    for (const Gpu& gpu : node.gpus) gpus_[gpu.address].push_back(&gpu);
    for (const Nic& nic : node.nics)
      if (!nic.virtual_device || all) nics_[nic.address].push_back(&nic);
    for (const NvSwitch& s : node.nvswitches) switches_[s.address] = &s;
    // Parents come before children; what a file has otherwise hangs at the root.
    std::map<std::string, int> depths;
    std::vector<std::pair<const PciDevice*, std::string>> devices;
    for (const PciDevice& device : node.pci) {
      const auto above = depths.find(device.parent);
      const bool hangs = above != depths.end() && above->second < deepest;
      if (!depths.emplace(device.address, hangs ? above->second + 1 : 0).second) continue;
      devices.emplace_back(&device, hangs ? device.parent : "");
    }
    for (auto entry = devices.rbegin(); entry != devices.rend(); ++entry) {
      const std::string& a = entry->first->address;
      if (all || gpus_.count(a) || nics_.count(a) || switches_.count(a) || mark(a)) shown_.insert(a);
      if (shown_.count(a) && !entry->second.empty()) shown_.insert(entry->second);
    }
    for (const auto& [device, parent] : devices)
      if (shown_.count(device->address)) below_[parent].push_back(device);
  }

  std::string text() {
    system();
    // Host bridges by NUMA node, in the order of both; unknown ones last.
    std::map<int, std::map<std::string, std::vector<const PciDevice*>>> roots;
    for (const NumaNode& numa : node_.processors.numa) roots[numa.number];
    for (const PciDevice* device : below_[""]) roots[numa_of(*device)][device->root].push_back(device);
    for (const auto& [number, bridges] : roots) {
      line(1,
           joined({number == unknown_numa ? "NUMA node unknown" : fmt::format("NUMA node {}", number),
                   numa_text(number)}),
           nullptr);
      for (const auto& [root, devices] : bridges) {
        line(2, root.empty() ? "host bridge unknown" : "host bridge " + root, nullptr);
        for (const PciDevice* device : devices) branch(*device, 3);
      }
    }
    loose();
    return std::move(out_);
  }

 private:
  static constexpr int unknown_numa = 1 << 20;
  static constexpr int deepest = 32;

  const diagnosis::Finding* mark(const std::string& device) const {
    return device.empty() ? nullptr : marks_.of(node_.name, {device});
  }

  void line(int depth, const std::string& text, const diagnosis::Finding* finding) {
    const std::string body = printable(text);
    out_ +=
        finding ? style_.paint(std::string(1, mark_of(finding->severity)), ink_of(finding->severity)) : " ";
    out_ += fmt::format(" {}{}", std::string(std::size_t(depth) * 2 - 2, ' '), body);
    if (finding)
      out_ += "  " +
              style_.paint(printable(fmt::format(
                               "<- {}{}", key_of(finding->kind),
                               finding->evidence.empty() ? "" : ": " + sentence(finding->evidence.front()))),
                           ink_of(finding->severity));
    out_ += "\n";
  }

  void system() {
    const System& s = node_.system;
    const Processors& p = node_.processors;
    const auto word = [](const std::string& label, const Fact<std::string>& fact) {
      return fact.known() ? label + *fact : "";
    };
    std::string text =
        joined({s.board.value_or(""),
                p.packages.known() && p.model.known() ? fmt::format("{} x {}", *p.packages, *p.model)
                                                      : p.model.value_or(""),
                p.cores.known() ? plural(*p.cores, "core") : "", word("kernel ", s.kernel),
                word("IOMMU ", s.iommu), word("NVIDIA driver ", s.nvidia_driver), word("CUDA ", s.cuda)});
    const diagnosis::Finding* finding = marks_.of(node_.name, {});
    if (text.empty() && finding) text = "system";
    if (!text.empty()) line(1, text, finding);
  }

  int numa_of(const PciDevice& device) {
    if (device.numa.known()) return *device.numa < 0 ? unknown_numa : *device.numa;
    for (const PciDevice* child : below_[device.address])
      if (const int numa = numa_of(*child); numa != unknown_numa) return numa;
    return unknown_numa;
  }

  std::string numa_text(int number) const {
    for (const NumaNode& numa : node_.processors.numa)
      if (numa.number == number)
        return joined({numa.package >= 0 ? fmt::format("package {}", numa.package) : "",
                       numa.cpus.empty() ? numa.processors.known() ? plural(*numa.processors, "thread") : ""
                                         : "cpus " + numa.cpus,
                       numa.memory.known() ? amount_text(numa.memory->value) : ""});
    return "";
  }

  void branch(const PciDevice& device, int depth) {
    const std::string& a = device.address;
    const std::string link = link_text(device.link);
    bool told = false;
    if (const auto found = gpus_.find(a); found != gpus_.end()) {
      for (const Gpu* gpu : found->second)
        line(depth,
             joined({fmt::format("{} {}", gpu->name, a), gpu->model.value_or(device.name.value_or("")), link,
                     nvlink_text(*gpu)}),
             marks_.of(node_.name, {gpu->name, a}));
      told = true;
    }
    if (const auto found = nics_.find(a); found != nics_.end()) {
      for (const Nic* each : found->second)
        nic(*each, joined({each->model.known() ? "" : device.name.value_or(""), link}), depth);
      told = true;
    }
    if (const auto found = switches_.find(a); found != switches_.end()) {
      line(depth, joined({fmt::format("{} {}", found->second->name, a), link}),
           marks_.of(node_.name, {found->second->name, a}));
      told = true;
    }
    // Ports say nothing that what is below them does not say, unless something is wrong with them.
    const bool port = device.kind == PciKind::root_port || device.kind == PciKind::switch_downstream;
    if (!told && (!port || all_ || mark(a))) {
      line(depth, joined({fmt::format("{} {}", name(device.kind), a), device.name.value_or(""), link}),
           mark(a));
      told = true;
    }
    for (const PciDevice* child : below_[a]) branch(*child, depth + told);
  }

  void nic(const Nic& nic, const std::string& what, int depth) {
    line(depth,
         joined({nic.address.empty() ? nic.name : fmt::format("{} {}", nic.name, nic.address),
                 nic.model.value_or(""), what, nic.virtual_device ? "virtual" : "",
                 nic.firmware.known() ? "firmware " + *nic.firmware : ""}),
         marks_.of(node_.name, {nic.name, nic.address}));
    for (const Port& port : nic.ports)
      line(depth + 1, port_text(nic, port, peers_),
           marks_.of(node_.name, {fmt::format("{}/{}", nic.name, port.number)}));
  }

  // What hangs on no PCI device that was seen, and what was folded.
  void loose() {
    const auto placed = [&](const std::string& address) { return node_.find_pci(address) != nullptr; };
    int folded = 0;
    bool headed = false;
    const auto head = [&] {
      if (!std::exchange(headed, true)) line(1, "not on PCI, or its place is unknown", nullptr);
    };
    for (const Gpu& gpu : node_.gpus) {
      if (placed(gpu.address)) continue;
      head();
      line(2,
           joined({gpu.address.empty() ? gpu.name : fmt::format("{} {}", gpu.name, gpu.address),
                   gpu.model.value_or(""), nvlink_text(gpu)}),
           marks_.of(node_.name, {gpu.name, gpu.address}));
    }
    for (const NvSwitch& s : node_.nvswitches) {
      if (placed(s.address)) continue;
      head();
      line(2, s.address.empty() ? s.name : fmt::format("{} {}", s.name, s.address),
           marks_.of(node_.name, {s.name, s.address}));
    }
    for (const Nic& each : node_.nics) {
      folded += each.virtual_device && !all_;
      if ((each.virtual_device && !all_) || placed(each.address)) continue;
      head();
      nic(each, "", 2);
    }
    if (folded > 0)
      line(1,
           fmt::format("{} virtual network device{} folded; --all shows {}", folded, folded == 1 ? "" : "s",
                       folded == 1 ? "it" : "them"),
           nullptr);
  }

  const Node& node_;
  const Marks& marks_;
  bool all_, peers_;
  const Style& style_;
  std::string out_;
  std::map<std::string, std::vector<const Gpu*>> gpus_;
  std::map<std::string, std::vector<const Nic*>> nics_;
  std::map<std::string, const NvSwitch*> switches_;
  std::set<std::string> shown_;
  std::map<std::string, std::vector<const PciDevice*>> below_;
};

}  // namespace

std::string node_tree(const Node& node, const Marks& marks, bool all, bool peers, const Style& style) {
  return Tree(node, marks, all, peers, style).text();
}

}  // namespace ringtrue::report
