#include "probe/library/gpu_power.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace ringtrue::probe {
namespace {

std::string word(Source& files, const std::string& path) {
  return files.read(path).value_or(std::string());
}

bool suspended(Source& files, const std::string& function) {
  const std::string status = word(files, function + "/power/runtime_status");
  return status == "suspended" || status == "suspending" ||
         word(files, function + "/power_state").starts_with("D3");
}

// What follows "Video Memory:" at the start of a line: "Active", "Off", "?"; empty: nothing is said.
std::string video_memory(std::string_view text) {
  constexpr std::string_view key = "Video Memory:";
  std::size_t at = text.starts_with(key) ? 0 : text.find("\nVideo Memory:");
  if (at == text.npos) return {};
  at = text.find(':', at) + 1;
  std::string_view value = text.substr(at, text.find('\n', at) - at);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return std::string(value);
}

bool nobody_has_it_open(Source& files) {
  const auto count = files.read("/sys/module/nvidia/refcnt");
  if (!count || count->empty()) return false;
  const auto holders = files.list("/sys/module/nvidia/holders");
  return std::strtol(count->c_str(), nullptr, 10) <= long(holders ? holders->size() : 0);
}

}  // namespace

NvidiaGpus nvidia_gpus(Source& files) {
  const std::string pci = "/sys/bus/pci/devices/";
  struct Gpu {
    std::string address, memory;
    bool suspended;
  };
  std::vector<Gpu> gpus;
  for (const auto& address : files.list("/sys/bus/pci/devices").value_or(std::vector<std::string>())) {
    const std::string function = pci + address;
    if (word(files, function + "/vendor") != "0x10de" ||
        !word(files, function + "/class").starts_with("0x03"))
      continue;
    const std::string power = word(files, "/proc/driver/nvidia/gpus/" + address + "/power");
    gpus.push_back({address, video_memory(power), suspended(files, function)});
  }
  const bool told = std::any_of(gpus.begin(), gpus.end(),
                                [](const Gpu& gpu) { return gpu.memory == "Active" || gpu.memory == "Off"; });
  const bool closed = nobody_has_it_open(files);
  NvidiaGpus result;
  for (const Gpu& gpu : gpus) {
    const bool asleep = gpu.suspended || gpu.memory == "Off" ||
                        (gpu.memory != "Active" && (told && gpu.memory == "?" ? true : closed));
    (asleep ? result.asleep : result.awake).push_back(gpu.address);
  }
  return result;
}

}  // namespace ringtrue::probe
