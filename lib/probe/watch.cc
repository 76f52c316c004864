#include "probe/watch.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "probe/live.h"
#include "probe/own_network.h"
#include "probe/probe.h"
#include "run/counter_window.h"
#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

// GPUs, NICs, NVSwitches and what is above them: of a machine's thousand functions, those that carry the
// data.
void keep_data_paths(Node& node) {
  std::set<std::string> wanted;
  for (const PciDevice& device : node.pci) {
    if (!is_gpu(device) && !is_nic(device) && !is_nvswitch(device)) continue;
    for (const PciDevice* d = &device; d && wanted.insert(d->address).second;) d = node.find_pci(d->parent);
  }
  std::erase_if(node.pci, [&](const PciDevice& device) { return !wanted.contains(device.address); });
}

}  // namespace

CounterWatch::CounterWatch() : CounterWatch(std::make_unique<Files>()) {
  netdevs_ = sees_own_network(*source_);
}

CounterWatch::CounterWatch(std::unique_ptr<Source> source) : source_(std::move(source)) {}

CounterWatch::~CounterWatch() = default;

std::vector<run::CounterSet> CounterWatch::read() {
  if (!std::exchange(probed_, true)) {
    probe_pci(*source_, node_);
    probe_rdma(*source_, node_);
    if (netdevs_) probe_netlink(*source_, node_);
    keep_data_paths(node_);
  }
  return probe_counters(*source_, node_);
}

void CounterWatch::begin() {
  begun_ = true;
  // Firmware may take a millisecond a counter: runs in quick succession share a reading.
  if (last_ns_ != 0 && seconds_since(last_ns_) < Seconds(1)) return;
  last_ = read();
  last_ns_ = now_ns();
}

run::CounterWindow CounterWatch::end() {
  if (!std::exchange(begun_, false)) return {};
  const std::vector<run::CounterSet> before = std::exchange(last_, read());
  const double seconds = seconds_since(std::exchange(last_ns_, now_ns())).value;
  return worth_keeping(difference(before, last_, seconds), max_changes);
}

run::CounterWindow worth_keeping(run::CounterWindow window, std::size_t most) {
  auto& changes = window.changes;
  std::erase_if(
      changes, [](const run::CounterChange& c) { return counter_class(c.counter) == CounterClass::unknown; });
  std::stable_sort(changes.begin(), changes.end(),
                   [](const run::CounterChange& a, const run::CounterChange& b) {
                     return counter_class(a.counter) > counter_class(b.counter);
                   });
  if (changes.size() > most) changes.resize(most);
  return window;
}

}  // namespace ringtrue::probe
