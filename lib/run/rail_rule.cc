#include "run/rail_rule.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace ringtrue::run {

std::string kind_for_data(std::span<const PortForData> ports) {
  struct Weight {
    double rate = 0;
    int count = 0;
  };
  const bool any = std::any_of(ports.begin(), ports.end(), [](const PortForData& p) { return p.active; });
  std::map<std::string, Weight> kinds;
  for (const PortForData& port : ports) {
    Weight& weight = kinds[port.kind];
    if (any && !port.active) continue;
    weight.rate += port.rate;
    ++weight.count;
  }
  const auto best = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.rate, a.second.count, a.first) <
           std::tie(b.second.rate, b.second.count, b.first);
  });
  return best == kinds.end() ? "" : best->first;
}

std::string kind_that_is_down(std::span<const PortForData> ports) {
  std::vector<PortForData> all(ports.begin(), ports.end());
  for (PortForData& port : all) port.active = true;
  std::string kind = kind_for_data(all);
  const bool up =
      std::any_of(ports.begin(), ports.end(), [&](const auto& p) { return p.active && p.kind == kind; });
  return up ? "" : kind;
}

}  // namespace ringtrue::run
