#include "run/inspect_thresholds.h"

#include <fmt/format.h>

#include "base/suggest.h"

namespace ringtrue::run {
namespace {

struct Named {
  std::string_view name;
  double InspectThresholds::*value;
  double low = 0, high = 1e18;
};

constexpr Named thresholds[] = {
    {"symbol_error_per_s", &InspectThresholds::symbol_error_per_s},
    {"symbol_error_per_hour", &InspectThresholds::symbol_error_per_hour},
    {"link_error_recovery_per_min", &InspectThresholds::link_error_recovery_per_min},
    {"port_rcv_errors_per_s", &InspectThresholds::port_rcv_errors_per_s},
    {"port_xmit_discards_per_s", &InspectThresholds::port_xmit_discards_per_s},
    {"carrier_changes", &InspectThresholds::carrier_changes},
    {"pci_correctable_per_s", &InspectThresholds::pci_correctable_per_s},
    {"nvlink_crc_per_s", &InspectThresholds::nvlink_crc_per_s},
    {"memlock_bytes", &InspectThresholds::memlock_bytes},
    {"pci_warning", &InspectThresholds::pci_warning, 0, 1},
    {"pci_critical", &InspectThresholds::pci_critical, 0, 1},
    {"majority", &InspectThresholds::majority, 0.5, 1},
};

}  // namespace

std::vector<std::pair<std::string, double>> list(const InspectThresholds& t) {
  std::vector<std::pair<std::string, double>> all;
  for (const Named& n : thresholds) all.emplace_back(n.name, t.*n.value);
  return all;
}

Result<void> set(InspectThresholds& t, std::string_view name, double value) {
  std::vector<std::string> known;
  for (const Named& n : thresholds) {
    known.emplace_back(n.name);
    if (n.name != name) continue;
    if (!(value >= n.low && value <= n.high))
      return fail(Cause::bad_input, fmt::format("inspect.{} is {}", name, value), {},
                  n.high > 1 ? "give a number that is not negative"
                             : fmt::format("give a number from {} to {}", n.low, n.high));
    t.*n.value = value;
    return {};
  }
  const auto meant = closest(name, known);
  return fail(Cause::bad_input, fmt::format("unknown threshold '{}'", name.substr(0, 64)), {},
              meant ? fmt::format("did you mean {}?", *meant) : "docs/rules.md lists them");
}

}  // namespace ringtrue::run
