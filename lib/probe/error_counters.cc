#include "probe/error_counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/text.h"
#include "probe/live.h"
#include "probe/own_network.h"
#include "probe/reading.h"
#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::probe {
namespace {

using topology::counter_class;
using topology::CounterClass;

constexpr std::size_t max_devices = 512, max_files = 64, max_virtual = 32;
constexpr const char* rdma_top = "/sys/class/infiniband";
constexpr const char* net_top = "/sys/class/net";
constexpr const char* pci_top = "/sys/bus/pci/devices";

std::vector<std::string> names_in(Source& source, const std::string& folder) {
  return source.list(folder).value_or(std::vector<std::string>());
}

}  // namespace

ErrorCounters::ErrorCounters() : ErrorCounters(std::make_unique<Files>()) {
  netdevs_ = sees_own_network(*source_);
}

ErrorCounters::ErrorCounters(std::unique_ptr<Source> source) : source_(std::move(source)) {}

ErrorCounters::~ErrorCounters() = default;

void ErrorCounters::find() {
  devices_.clear();
  find_ports();
  if (netdevs_) find_netdevs();
  find_functions();
  if (devices_.size() > max_devices) devices_.resize(max_devices);
}

void ErrorCounters::find_ports() {
  for (const std::string& name : names_in(*source_, rdma_top)) {
    for (const std::string& port : names_in(*source_, fmt::format("{}/{}/ports", rdma_top, name))) {
      const std::string folder = fmt::format("{}/{}/ports/{}", rdma_top, name, port);
      Device device{fmt::format("{}/{}", name, port), {}, {}, folder + "/state"};
      // Not hw_counters: firmware may take a millisecond for each.
      for (const std::string& counter : names_in(*source_, folder + "/counters"))
        if (counter_class(counter) == CounterClass::error && device.files.size() < max_files) {
          device.files.push_back({folder + "/counters/" + counter, counter});
          if (const int bits = topology::counter_bits(counter); bits < 64)
            device.widths[counter] = std::uint64_t(bits);
        }
      devices_.push_back(std::move(device));
    }
  }
}

void ErrorCounters::find_netdevs() {
  std::vector<std::string> names = names_in(*source_, net_top), virtual_ones;
  std::erase(names, "lo");
  std::erase_if(names, [&](const std::string& name) {
    const bool real = source_->link(fmt::format("{}/{}/device", net_top, name)).has_value();
    if (!real) virtual_ones.push_back(name);
    return !real;
  });
  // A container host has hundreds of virtual ones.
  virtual_ones.resize(std::min(virtual_ones.size(), max_virtual));
  names.insert(names.end(), virtual_ones.begin(), virtual_ones.end());
  for (const std::string& name : names) {
    const std::string folder = fmt::format("{}/{}", net_top, name);
    Device device{name, {}, {}, {}};
    for (const std::string& counter : names_in(*source_, folder + "/statistics"))
      if (counter_class(counter) == CounterClass::error && device.files.size() < max_files)
        device.files.push_back({folder + "/statistics/" + counter, counter});
    device.files.push_back({folder + "/carrier_down_count", "carrier_down_count"});
    devices_.push_back(std::move(device));
  }
}

void ErrorCounters::find_functions() {
  for (const std::string& address : names_in(*source_, pci_top)) {
    const std::string folder = fmt::format("{}/{}", pci_top, address);
    Device device{address, {}, {}, {}};
    for (const char* severity : {"correctable", "nonfatal", "fatal"})
      device.files.push_back(
          {fmt::format("{}/aer_dev_{}", folder, severity), fmt::format("aer_{}", severity)});
    if (source_->read(device.files.front().path)) devices_.push_back(std::move(device));
  }
}

std::vector<run::CounterSet> ErrorCounters::read() {
  std::vector<run::CounterSet> sets;
  for (const Device& device : devices_) {
    run::CounterSet set{device.name, {}, device.widths};
    for (const File& file : device.files) {
      const auto text = source_->read(file.path);
      if (!text) continue;
      // Of AER's file only the total, "TOTAL_ERR_COR 3", its last line.
      const std::string_view number = std::string_view(*text).substr(text->find_last_of(' ') + 1);
      if (const auto value = formats::decimal(number)) set.values[file.counter] = *value;
    }
    // A value beyond a counter's usual end shows a driver that counts further.
    std::erase_if(set.widths, [&](const auto& width) {
      const auto value = set.values.find(width.first);
      return value == set.values.end() || value->second >> width.second != 0;
    });
    if (!device.state.empty()) {
      const auto text = source_->read(device.state);
      const bool active = text && text->find("ACTIVE") != std::string::npos;
      PortState& port = ports_[device.name];
      if (port.active && !active) ++port.went_down;
      port.active = active;
      set.values["port_down"] = port.went_down;
    }
    if (!set.values.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<run::CounterChange> rises(const std::vector<run::CounterSet>& before,
                                      const std::vector<run::CounterSet>& now) {
  auto changes = topology::difference(before, now, 0).changes;
  std::erase_if(changes, [](const run::CounterChange& c) { return c.before == c.after; });
  return changes;
}

}  // namespace ringtrue::probe
