// What this program speaks with daemons.
#pragma once

#include <cstdint>

namespace ringtrue::fleet {

std::uint32_t protocol_spoken();

}  // namespace ringtrue::fleet
