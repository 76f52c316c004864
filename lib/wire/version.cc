#include "wire/version.h"

namespace ringtrue::wire {

std::string_view program_version() {
  return RINGTRUE_VERSION;
}

bool compatible(std::string_view their_version, std::uint32_t their_protocol) {
  const auto series = [](std::string_view version) { return version.substr(0, version.rfind('.')); };
  return their_protocol == protocol_version && series(their_version) == series(program_version());
}

}  // namespace ringtrue::wire
