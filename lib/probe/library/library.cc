#include "probe/library/library.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace ringtrue::probe {
namespace {

constexpr std::pair<std::string_view, Result<std::string> (*)(const Asking&)> libraries[] = {
    {"system", ask_system}, {"ethtool", ask_ethtool}, {"verbs", ask_verbs},  {"nvml", ask_nvml},
    {"hwloc", ask_hwloc},   {"fabric", ask_fabric},   {"routes", ask_routes}};

}  // namespace

Result<std::string> ask(std::string_view library, const Asking& asking) {
  std::vector<std::string_view> names;
  for (const auto& [name, ask_it] : libraries) {
    if (name == library) return ask_it(asking);
    names.push_back(name);
  }
  return fail(Cause::bad_input, fmt::format("no library is called '{}'", library), {},
              fmt::format("one of {}", fmt::join(names, ", ")));
}

}  // namespace ringtrue::probe
