#include "report/topo/topo.h"

#include <fmt/format.h>

#include <iterator>

namespace ringtrue::report {

Marks::Marks(const std::vector<diagnosis::Finding>& findings) {
  for (const diagnosis::Finding& f : findings) {
    const auto [place, fresh] = by_device_.try_emplace({f.scope.subject.node, f.scope.subject.device}, &f);
    if (!fresh && f.severity > place->second->severity) place->second = &f;
  }
}

const diagnosis::Finding* Marks::of(const std::string& node, std::initializer_list<std::string> names) const {
  const diagnosis::Finding* worst = nullptr;
  const auto look = [&](const std::string& name) {
    const auto found = by_device_.find({node, name});
    if (found != by_device_.end() && (!worst || found->second->severity > worst->severity))
      worst = found->second;
  };
  if (names.size() == 0) look("");
  for (const std::string& name : names)
    if (!name.empty()) look(name);
  return worst;
}

char mark_of(diagnosis::Severity severity) {
  switch (severity) {
    case diagnosis::Severity::critical:
      return '!';
    case diagnosis::Severity::warning:
      return '?';
    case diagnosis::Severity::info:
      break;
  }
  return 'i';
}

Ink ink_of(diagnosis::Severity severity) {
  switch (severity) {
    case diagnosis::Severity::critical:
      return Ink::red;
    case diagnosis::Severity::warning:
      return Ink::yellow;
    case diagnosis::Severity::info:
      break;
  }
  return Ink::cyan;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    // The second: U+0080 to U+009F, which some terminals take for escape sequences.
    const bool c1 = i > 0 && static_cast<unsigned char>(out[i - 1]) == 0xc2 && c >= 0x80 && c < 0xa0;
    if (c1) out[i - 1] = '?';
    if (c < 0x20 || c == 0x7f || c1) out[i] = '?';
  }
  return out;
}

std::vector<std::string> devices_of(const topology::Node& node) {
  std::vector<std::string> devices;
  for (const topology::Gpu& gpu : node.gpus) devices.push_back(gpu.name);
  for (const topology::Nic& nic : node.nics)
    if (!nic.virtual_device) devices.push_back(nic.name);
  return devices;
}

namespace {

constexpr std::size_t max_builds = 64;

// All that paths depend on.
std::string build_of(const topology::Node& node) {
  std::string out;
  const auto add = [&out](const auto&... parts) {
    (fmt::format_to(std::back_inserter(out), "{};", parts), ...);
  };
  const auto number = [](const auto& fact) { return fact.known() ? double(*fact) : -1.0; };
  const auto rate = [](const auto& fact) { return fact.known() ? fact->value : -1.0; };
  for (const topology::PciDevice& d : node.pci)
    add(d.address, d.parent, d.root, int(d.kind), number(d.numa), number(d.link.speed_GTps),
        number(d.link.width), number(d.link.max_speed_GTps), number(d.link.max_width), rate(d.link.rate));
  for (const topology::Gpu& gpu : node.gpus) {
    add('g', gpu.name, gpu.address);
    if (!gpu.nvlinks) continue;
    for (const topology::NvLink& link : *gpu.nvlinks)
      add('l', number(link.up), number(link.version), rate(link.rate), int(link.remote), link.remote_address);
  }
  for (const topology::Nic& nic : node.nics) add('n', nic.name, nic.address, nic.virtual_device);
  for (const topology::NvSwitch& s : node.nvswitches) add('s', s.name, s.address);
  return out;
}

std::vector<Way> ways_of(const topology::Node& node) {
  const std::vector<std::string> devices = devices_of(node);
  std::vector<Way> out;
  if (devices.size() > max_devices_with_paths) return out;
  const topology::PathFinder paths(node);
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      auto path = paths.path(devices[i], devices[j]);
      out.push_back({devices[i], devices[j], path ? std::move(*path) : topology::Path{}});
    }
  return out;
}

}  // namespace

const std::vector<Way>& Ways::of(const topology::Node& node) {
  if (by_build_.size() >= max_builds) by_build_.clear();
  const auto [place, fresh] = by_build_.try_emplace(build_of(node));
  if (fresh) place->second = ways_of(node);
  return place->second;
}

}  // namespace ringtrue::report
