#include "probe/library/library.h"

#include <fmt/format.h>

namespace ringtrue::topology {
namespace {

constexpr std::string_view names[] = {"system", "ethtool", "verbs", "nvml", "hwloc", "fabric"};
constexpr Result<std::string> (*askers[])(const Asking&) = {ask_system, ask_ethtool, ask_verbs,
                                                            ask_nvml,   ask_hwloc,   ask_fabric};
static_assert(std::size(names) == std::size(askers));

}  // namespace

std::span<const std::string_view> libraries() {
  return names;
}

Result<std::string> ask(std::string_view library, const Asking& asking) {
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == library) return askers[i](asking);
  return fail(Cause::bad_input, fmt::format("no library is called '{}'", library), {},
              fmt::format("one of {}", fmt::join(names, ", ")));
}

}  // namespace ringtrue::topology
