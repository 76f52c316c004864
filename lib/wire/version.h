// Who may talk to whom.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringtrue::wire {

inline constexpr std::uint32_t protocol_version =
    5;  // raised whenever an old peer would misunderstand a new one

std::string_view program_version();  // "0.1.0"

// Whether a program of that version and protocol can be talked to: the same protocol and release series
// ("0.1" of "0.1.3"), since figures of different series are not held against each other.
bool compatible(std::string_view their_version, std::uint32_t their_protocol);

}  // namespace ringtrue::wire
