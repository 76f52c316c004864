// Lifetime counters of ports, netdevs, PCI functions and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/text.h"
#include "probe/probe.h"
#include "probe/reading.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using nlohmann::json;

constexpr std::size_t max_counters = 512, max_netdevs = 256;

void read_all(Source& source, const std::string& folder, run::CounterSet& set) {
  const auto names = source.list(folder);
  if (!names) return;
  for (const auto& name : *names) {
    if (name == "lifespan" || set.values.size() == max_counters) continue;  // for how long values are kept
    const auto text = source.read(folder + "/" + name);
    const auto value = text ? formats::decimal(*text) : std::nullopt;
    if (value) set.values.emplace(formats::clean(name), *value);
  }
}

run::CounterSet read_port(Source& source, const Nic& nic, const Port& port) {
  run::CounterSet set;
  set.device = fmt::format("{}/{}", nic.name, port.number);
  const std::string folder = fmt::format("/sys/class/infiniband/{}/ports/{}/", nic.rdma, port.number);
  read_all(source, folder + "counters", set);
  for (const auto& [name, value] : set.values) {
    // A value beyond that end shows a driver that counts further; hardware that counts in 8 bits alone sticks
    // at 255, where a wider counter is found but by chance.
    const int bits = counter_bits(name);
    if (bits < 64 && value >> bits == 0)
      set.widths[name] = bits == 16 && value == 255 ? 8 : std::uint64_t(bits);
  }
  read_all(source, folder + "hw_counters", set);
  return set;
}

run::CounterSet read_netdev(Source& source, const std::string& name, const json& ethtool) {
  run::CounterSet set;
  set.device = name;
  const std::string folder = "/sys/class/net/" + name;
  read_all(source, folder + "/statistics", set);
  for (const char* counter : {"carrier_changes", "carrier_up_count", "carrier_down_count"}) {
    const auto text = source.read(folder + "/" + counter);
    if (const auto value = text ? formats::decimal(*text) : std::nullopt) set.values[counter] = *value;
  }
  const auto told = ethtool.find(name);
  if (told == ethtool.end() || !told->is_object()) return set;
  const auto statistics = told->find("statistics");
  if (statistics == told->end() || !statistics->is_object()) return set;
  for (const auto& [counter, value] : statistics->items())
    if (value.is_number_unsigned() && set.values.size() < max_counters)
      set.values.emplace(formats::clean(counter), value.get<std::uint64_t>());
  return set;
}

// "RxErr 0\nBadTLP 3\n...TOTAL_ERR_COR 3"
run::CounterSet read_aer(Source& source, const std::string& address) {
  run::CounterSet set;
  set.device = address;
  for (const char* severity : {"correctable", "nonfatal", "fatal"}) {
    const auto text = source.read(fmt::format("/sys/bus/pci/devices/{}/aer_dev_{}", address, severity));
    if (!text) continue;
    for (const auto line : formats::split(*text, '\n')) {
      const auto space = line.rfind(' ');
      if (!line.starts_with("TOTAL_ERR_") || space == std::string_view::npos) continue;
      if (const auto value = formats::decimal(line.substr(space + 1)))
        set.values[fmt::format("aer_{}", severity)] = *value;
    }
  }
  return set;
}

}  // namespace

std::vector<run::CounterSet> probe_counters(Source& source, const Node& node) {
  std::vector<run::CounterSet> sets;
  const auto keep = [&](run::CounterSet set) {
    if (!set.values.empty()) sets.push_back(std::move(set));
  };
  const auto answer = source.answer("ethtool");
  json ethtool = answer ? json::parse(*answer, nullptr, false) : json();
  if (!ethtool.is_object()) ethtool = json::object();
  std::set<std::string> netdevs;
  for (const Nic& nic : node.nics) {
    // Of virtual functions there may be hundreds, and each costs a firmware's time.
    const PciDevice* device = node.find_pci(nic.address);
    if (device && device->virtual_function) continue;
    if (!nic.rdma.empty())
      for (const Port& port : nic.ports) keep(read_port(source, nic, port));
    for (const auto& name : nic.netdevs)
      if (netdevs.size() < max_netdevs && netdevs.insert(name).second)
        keep(read_netdev(source, name, ethtool));
  }
  for (const PciDevice& device : node.pci)
    if (!device.virtual_function) keep(read_aer(source, device.address));
  for (auto& set : nvml_counters(source, node)) keep(std::move(set));
  return sets;
}

}  // namespace ringtrue::probe
