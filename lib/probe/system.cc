// The system: files of /proc and /sys, then the answer of system (its form: library/system.cc).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/probe.h"
#include "probe/reading.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

constexpr std::uint64_t unlimited = ~0ull;

std::optional<std::string> line(Source& source, const std::string& path) {
  const auto text = source.read(path);
  auto words = formats::clean(text.value_or(""));
  return words.empty() ? std::nullopt : std::optional(std::move(words));
}

// What stands behind `key` and a separator on a line of its own.
std::optional<std::string> value_of(const std::string& text, std::string_view key, char separator) {
  for (const auto row : formats::split(text, '\n')) {
    const auto at = row.find(separator);
    if (at == std::string_view::npos || formats::trim(row.substr(0, at)) != key) continue;
    auto value = formats::trim(row.substr(at + 1));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return formats::clean(value);
  }
  return std::nullopt;
}

void read_names(Source& source, System& system) {
  system.hostname.offer(line(source, "/proc/sys/kernel/hostname"), origin::sysfs);
  system.kernel.offer(line(source, "/proc/sys/kernel/osrelease"), origin::sysfs);
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"})
    if (const auto text = source.read(path))
      system.distribution.offer(value_of(*text, "PRETTY_NAME", '='), origin::sysfs);
  const auto vendor = line(source, "/sys/class/dmi/id/sys_vendor");
  const auto product = line(source, "/sys/class/dmi/id/product_name");
  if (product) system.board.offer(vendor ? *vendor + " " + *product : *product, origin::sysfs);
  system.board.offer(line(source, "/proc/device-tree/model"), origin::sysfs);
}

// ---- IOMMU

bool has_word(const std::string& line, std::string_view word) {
  for (const auto part : formats::split(line, ' '))
    if (part == word) return true;
  return false;
}

// The groups of GPUs and NICs decide: those whose traffic the IOMMU may hold up.
std::optional<std::string> group_mode(Source& source, const Node& node) {
  std::optional<std::string> mode;
  for (const PciDevice& device : node.pci) {
    if (!device.iommu_group.known() || device.virtual_function || (!is_gpu(device) && !is_nic(device)))
      continue;
    const auto type = line(source, fmt::format("/sys/kernel/iommu_groups/{}/type", *device.iommu_group));
    if (type && type->starts_with("DMA")) return "translated";
    if (type == "identity") mode = "passthrough";
  }
  return mode;
}

void read_iommu(Source& source, Node& node) {
  const std::string command = source.read("/proc/cmdline").value_or("");
  const auto units = source.list("/sys/class/iommu");
  std::optional<std::string> mode;
  if (units && units->empty()) mode = "off";
  if (!mode) mode = group_mode(source, node);
  if (!mode && (has_word(command, "intel_iommu=off") || has_word(command, "amd_iommu=off") ||
                has_word(command, "iommu=off")))
    mode = "off";
  if (!mode && units && (has_word(command, "iommu=pt") || has_word(command, "iommu.passthrough=1")))
    mode = "passthrough";
  node.system.iommu.offer(mode, origin::sysfs);
  if (!mode)
    node.gaps.push_back(
        {origin::sysfs, "IOMMU",
         units ? "no GPU's or NIC's group tells its type" : why_not(units.error(), "/sys/class/iommu")});
}

// ---- GPUDirect

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  545.23.08  Release Build": the first word that
// is numbers and dots.
void read_nvidia(Source& source, System& system) {
  if (const auto modules = source.list("/sys/module"))
    system.nvidia_peermem.offer(
        std::any_of(modules->begin(), modules->end(),
                    [](const std::string& m) { return m == "nvidia_peermem" || m == "nv_peer_mem"; }),
        origin::sysfs);
  const auto text = source.read("/proc/driver/nvidia/version");
  if (!text) return;
  const std::string first(text->substr(0, text->find('\n')));
  for (const auto word : formats::split(first, ' '))
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos)
      system.nvidia_driver.offer(std::string(word), origin::sysfs);
  system.open_kernel_module.offer(first.find("Open Kernel Module") != std::string::npos, origin::sysfs);
}

std::optional<std::pair<int, int>> major_minor(const std::string& version) {
  const auto parts = formats::split(version, '.');
  if (parts.size() < 2) return std::nullopt;
  const auto minor = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  const auto a = formats::decimal(parts[0]), b = formats::decimal(minor);
  if (!a || !b || *a > 1000 || *b > 1000) return std::nullopt;
  return std::pair(int(*a), int(*b));
}

// GPU memory is registered by dma-buf where the kernel's RDMA core knows that (5.12) and the driver exports
// it: NVIDIA's open kernel modules, from 515 on.
void derive_dmabuf(System& system) {
  if (!system.open_kernel_module.known() || !system.kernel.known()) return;
  const auto kernel = major_minor(*system.kernel);
  if (kernel) system.dmabuf.offer(*system.open_kernel_module && *kernel >= std::pair(5, 12), origin::derived);
}

// ---- limits and settings

// "Max locked memory         8388608              unlimited            bytes"
void read_memlock(Source& source, System& system) {
  constexpr std::string_view key = "Max locked memory";
  const auto text = source.read("/proc/self/limits").value_or("");
  for (const auto row : formats::split(text, '\n')) {
    if (!row.starts_with(key)) continue;
    const auto rest = formats::trim(row.substr(key.size()));
    const auto soft = rest.substr(0, rest.find(' '));
    const auto bytes = soft == "unlimited" ? std::optional(unlimited) : formats::decimal(soft);
    if (bytes) system.memlock.offer(Bytes(*bytes), origin::sysfs);
  }
}

void read_governor(Source& source, System& system) {
  const std::string top = "/sys/devices/system/cpu/cpufreq";
  std::set<std::string> governors;
  for (const auto& policy : source.list(top).value_or(std::vector<std::string>()))
    if (policy.starts_with("policy"))
      if (const auto governor = line(source, fmt::format("{}/{}/scaling_governor", top, policy)))
        governors.insert(*governor);
  if (!governors.empty())
    system.governor.offer(governors.size() == 1 ? *governors.begin() : "mixed", origin::sysfs);
}

void read_hugepages(Source& source, System& system) {
  const std::string top = "/sys/kernel/mm/hugepages";
  const auto sizes = source.list(top);
  if (!sizes) return;
  std::int64_t pages = 0;
  for (const auto& size : *sizes)
    pages +=
        parse_number<std::int64_t>(line(source, fmt::format("{}/{}/nr_hugepages", top, size)).value_or("0"))
            .value_or(0);
  system.hugepages.offer(int(std::clamp<std::int64_t>(pages, 0, 1 << 30)), origin::sysfs);
}

// ---- processors, where hwloc told nothing

void read_processors(Source& source, Processors& processors) {
  const std::string top = "/sys/devices/system/cpu";
  if (!processors.model.known()) {
    const std::string info = source.read("/proc/cpuinfo").value_or("");
    for (const char* key : {"model name", "cpu"})  // "cpu" is POWER's
      processors.model.offer(value_of(info, key, ':'), origin::sysfs);
    processors.vendor.offer(value_of(info, "vendor_id", ':'), origin::sysfs);
  }
  if (processors.threads.known() && processors.cores.known() && processors.packages.known()) return;
  const auto online = formats::number_list(line(source, top + "/online").value_or(""));
  if (!online) return;
  std::set<std::string> packages;
  std::set<std::pair<std::string, std::string>> cores;
  for (const auto& [first, last] : online->ranges)
    for (int cpu = first; cpu <= last; ++cpu) {
      const std::string topology = fmt::format("{}/cpu{}/topology/", top, cpu);
      const auto package = line(source, topology + "physical_package_id");
      const auto core = line(source, topology + "core_id");
      if (!package || !core) continue;
      packages.insert(*package);
      cores.emplace(*package, *core);
    }
  processors.threads.offer(online->count(), origin::sysfs);
  if (packages.empty()) return;
  processors.packages.offer(int(packages.size()), origin::sysfs);
  processors.cores.offer(int(cores.size()), origin::sysfs);
}

void read_numa(Source& source, Processors& processors) {
  if (!processors.numa.empty()) return;
  const std::string top = "/sys/devices/system/node";
  for (const auto& name : source.list(top).value_or(std::vector<std::string>())) {
    const auto number = name.starts_with("node") ? formats::decimal(name.substr(4)) : std::nullopt;
    if (!number || *number >= 65536) continue;
    NumaNode numa;
    numa.number = int(*number);
    const std::string folder = fmt::format("{}/{}/", top, name);
    numa.cpus = line(source, folder + "cpulist").value_or("");
    if (const auto cpus = formats::number_list(numa.cpus)) {
      numa.processors.offer(cpus->count(), origin::sysfs);
      const auto package =
          line(source, fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id",
                                   cpus->ranges.empty() ? 0 : cpus->ranges[0].first));
      if (!cpus->ranges.empty())
        numa.package = int(parse_number<std::int64_t>(package.value_or("")).value_or(-1));
    }
    const auto memory =
        value_of(source.read(folder + "meminfo").value_or(""), fmt::format("Node {} MemTotal", *number), ':');
    if (memory)
      if (const auto kilobytes = formats::decimal(memory->substr(0, memory->find(' ')));
          kilobytes && *kilobytes < 1ull << 50)
        numa.memory.offer(Bytes(*kilobytes * 1024), origin::sysfs);
    processors.numa.push_back(std::move(numa));
  }
  std::sort(processors.numa.begin(), processors.numa.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
}

// ---- what no file tells

void add_answer(Source& source, Node& node) {
  Node unneeded;  // a gap is none where the files have told it all
  const bool told = node.system.kernel.known() && node.system.memlock.known();
  const auto answer =
      answer_of(source, origin::system, "kernel, limit of locked memory", told ? unneeded : node);
  node.system.kernel.offer(get<std::string>(answer, "release"), origin::system);
  node.system.hostname.offer(get<std::string>(answer, "nodename"), origin::system);
  node.processors.architecture.offer(get<std::string>(answer, "machine"), origin::system);
  if (const auto limit = get<std::uint64_t>(answer, "memlock"))
    node.system.memlock.offer(Bytes(*limit), origin::system);
}

}  // namespace

void probe_system(Source& source, Node& node) {
  read_names(source, node.system);
  read_memlock(source, node.system);
  add_answer(source, node);
  read_iommu(source, node);
  read_nvidia(source, node.system);
  derive_dmabuf(node.system);
  read_governor(source, node.system);
  read_hugepages(source, node.system);
  read_processors(source, node.processors);
  read_numa(source, node.processors);
}

}  // namespace ringtrue::probe
