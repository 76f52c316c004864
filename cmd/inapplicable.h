// Flags that would do nothing where they stand are rejected: whoever gave one meant something by it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/command.h"

namespace ringtrue::cmd {

struct Inapplicable {
  bool given;
  std::string flag;
  std::string next = "leave it out";
};
using Inapplicables = std::vector<Inapplicable>;

// Errors (bad_input): the first of them that was given, and `where` it does nothing.
Result<void> reject(std::string_view where, std::initializer_list<Inapplicables> flags);

// These of the common flags.
Inapplicables common(const Context& context, std::initializer_list<std::string_view> flags,
                     const std::string& next = "leave it out");
// The common flags about where and how ranks run, for commands that run none. `instead` says how many there
// are, like "use --nodes".
Inapplicables running(const Context& context, const std::string& instead);
// --hosts, and how they are asked, for commands that ask none.
Inapplicables hosts(const Context& context, const std::string& instead);

// --local: --hosts, and what is about daemons and the network between them.
Result<void> reject_where(const Context& context);
// "A and B exclude each other".
tl::unexpected<Error> both(std::string_view a, std::string_view b);

}  // namespace ringtrue::cmd
