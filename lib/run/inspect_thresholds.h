// What an inspection (diagnosis/inspect) holds counters and rates to: the field's practice, which [inspect]
// of the configuration overrides by these names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ringtrue::run {

struct InspectThresholds {
  double symbol_error_per_s = 10;          // warning above
  double symbol_error_per_hour = 120;      // critical above
  double link_error_recovery_per_min = 5;  // warning above
  double port_rcv_errors_per_s = 10;
  double port_xmit_discards_per_s = 100;
  double carrier_changes = 2;         // in the window
  double pci_correctable_per_s = 10;  // warning above
  double nvlink_crc_per_s = 100;      // critical from
  double memlock_bytes = 1 << 30;     // a soft limit below this is too low to register memory
  double pci_warning = 0.95;          // of the link's own maximum
  double pci_critical = 0.51;         // half of it, or less
  double majority = 0.5;              // more than this share of the nodes agree: a majority
};

std::vector<std::pair<std::string, double>> list(const InspectThresholds& thresholds);
// Setting one that does not exist, or out of its range, is bad_input.
Result<void> set(InspectThresholds& thresholds, std::string_view name, double value);

}  // namespace ringtrue::run
