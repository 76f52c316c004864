// What a node's daemon saw of its devices while nobody measured: which counters of errors rose, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringtrue::run {

// One counter that rose. The times are Unix seconds on that node's clock; what is older than an hour is told
// by spans of five minutes.
struct DeviceEvent {
  std::int64_t first = 0, last = 0;  // between these
  std::string device;                // as in CounterSet: "mlx5_0/1", "eth0", "0000:3b:00.0"
  std::string counter;               // "link_downed", "port_down", "carrier_down_count", "aer_correctable"
  std::uint64_t count = 0;           // how far it rose; at least, where it was reset or stands at its end
  bool operator==(const DeviceEvent&) const = default;
};

struct DeviceEvents {
  std::int64_t now = 0;             // that node's clock
  std::int64_t watched = 0;         // since when something is known: the daemon's start, or its oldest record
  bool cut = false;                 // there were more; these are the latest
  std::vector<DeviceEvent> events;  // by time
  bool operator==(const DeviceEvents&) const = default;
};

inline constexpr std::size_t max_device_events = 20'000;

}  // namespace ringtrue::run
