// Flags that would do nothing where they stand are refused: whoever gave one meant something by it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/command.h"

namespace ringtrue::cmd {

struct Unheeded {
  bool given;
  std::string_view flag;
  std::string_view next = "leave it out";
};

// Errors (bad_input): the first of them that was given, and `where` it does nothing.
Result<void> refuse(std::string_view where, std::initializer_list<Unheeded> flags);

// The common flags about where and how ranks run, for commands that run none: --local, --ranks-per-node,
// --transport, --memory, --data-* and --deadline. `instead` says how many there are, like "use --nodes".
Result<void> refuse_playing(const Context& context, std::string_view where, std::string_view instead);

// What is about daemons and the network between them, of a command that plays --local.
Result<void> refuse_remote(const Context& context);

// --hosts, and how they are asked, for commands that ask none.
Result<void> refuse_hosts(const Context& context, std::string_view where, std::string_view instead);

}  // namespace ringtrue::cmd
