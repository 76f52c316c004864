// Which programs can talk to one another.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ringtrue::wire {

// Raised by a change that a peer has to know of. What is only added raises nothing: fields at the end of a
// record's table (run/fields.h) and of a message, which others pass over.
inline constexpr std::uint32_t protocol_version = 9;
// The oldest protocol that is still spoken, here and between workers of different nodes. Never raised past
// the protocol of the release before: a fleet is upgraded node by node.
inline constexpr std::uint32_t oldest_protocol = 9;

// What a program says of itself.
struct Program {
  std::string version;  // "0.1.0"
  std::uint32_t protocol = 0;
  std::uint32_t oldest = 0;  // 0: no other than `protocol`

  bool operator==(const Program&) const = default;
};

const Program& this_program();
// For tests: what this process calls itself from now on.
void speak_as(Program program);

// They share a protocol, and are of the same release series ("0.1" of "0.1.3") or of neighbouring ones: 0.1
// and 0.2. Beyond that, nothing was ever tried. Of series across a major version, 0.9 and 1.0, their
// protocols decide.
bool compatible(const Program& a, const Program& b);

// The refusal that names both.
Error version_mismatch(const Program& daemon, const Program& operators);

}  // namespace ringtrue::wire
