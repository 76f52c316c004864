// Counters of devices, and how they changed. Apart from the model, because runs carry them as well.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ringtrue::run {

// Lifetime counters of one device at one time. Names are the kernel's own ("symbol_error"); of netdevs those
// of /sys/class/net/X/statistics and "carrier_changes"; of GPUs "nvlink3_replay", "ecc_uncorrected"; of PCI
// devices "aer_correctable" and so on.
struct CounterSet {
  std::string device;  // "mlx5_0/1" (port 1), "eth0", "GPU0", "0000:3b:00.0"
  std::map<std::string, std::uint64_t> values;
  std::map<std::string, std::uint64_t> widths;  // bits of those that stick at their end: {"symbol_error", 16}
  bool operator==(const CounterSet&) const = default;
};

// How one counter changed between two readings. A counter that stands at its end may hide any number.
struct CounterChange {
  std::string device;
  std::string counter;
  std::uint64_t before = 0, after = 0;
  bool saturated = false;  // `after` is as high as the counter goes: ">= after - before"
  bool reset = false;      // it went down: cleared, wrapped or replaced in between
  bool operator==(const CounterChange&) const = default;
};

struct CounterWindow {
  double seconds = 0;
  std::vector<CounterChange> changes;  // only those that changed, and those that stand at their end
  bool operator==(const CounterWindow&) const = default;
};

}  // namespace ringtrue::run
