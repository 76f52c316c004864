// Commands that are longer than a daemon takes at once (lib/wire/node.proto, Part).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/node.pb.h"

namespace ringtrue::wire {

// What a daemon receives in one message. A stranger's refused request then costs kilobytes: an acquire for
// 4,000 nodes fits.
inline constexpr int max_request_bytes = 64 << 10;
// Of a part, so that its message is below that.
inline constexpr std::size_t part_bytes = 48 << 10;
// Of a command in parts, those of its own parts included. Of empty ones, 64 MiB would unpack to 2 GiB; the
// addresses of 300,000 processes need as many as this.
inline constexpr std::size_t max_command_fields = 1 << 20;

// The command itself where it fits a message; else its parts.
std::vector<rpc::Command> in_parts(rpc::Command command);

// Puts parts together.
class Assembly {
 public:
  // The command, once its last part has come. Errors are bad_input: too long, too many fields, not a command
  // that goes in parts.
  Result<std::optional<rpc::Command>> add(const rpc::Part& part);
  bool empty() const { return bytes_.empty(); }

 private:
  std::string bytes_;
};

}  // namespace ringtrue::wire
