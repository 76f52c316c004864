// Flags that would do nothing where they stand are refused: whoever gave one meant something by it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/command.h"

namespace ringtrue::cmd {

struct Inapplicable {
  bool given;
  std::string_view flag;
  std::string_view next = "leave it out";
};

// Errors (bad_input): the first of them that was given, and `where` it does nothing.
Result<void> reject_inapplicable(std::string_view where, std::initializer_list<Inapplicable> flags);

// The common flags about where and how ranks run, for commands that run none: --local, --ranks-per-node,
// --transport, --memory, --data-* and --deadline. `instead` says how many there are, like "use --nodes".
Result<void> reject_playing(const Context& context, std::string_view where, std::string_view instead);

// --local: --hosts, and what is about daemons and the network between them.
Result<void> reject_where(const Context& context);

// --hosts, and how they are asked, for commands that ask none.
Result<void> reject_hosts(const Context& context, std::string_view where, std::string_view instead);

}  // namespace ringtrue::cmd
