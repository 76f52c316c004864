// Sentences from templates and the values of a statement.
//
//   {0}, {1}      the node of the first or second subject; {device}: the first one's device; {text}: its
//   words {rate_Bps}    that value, in the unit that its name tells; a list: "a, b and c"
//   {#readings}   "3 readings"; {#up:link}: "3 links"; {#up:link is/links are}
//   {x:.3g}       as fmt has it; {x:18}: so many of a list; {x:time}; {x:GiB}; {x:words}: those of a counter
//   or device
//   {?x}, {!x}    nothing, where x is known and not 0, or is not
//   [...]         left out where a value in it is missing
#pragma once

#include <string>
#include <string_view>

#include "diagnosis/findings/statement.h"

namespace ringtrue::report {

// "unknown" for what is missing outside of brackets.
std::string fill(const diagnosis::Statement& statement, std::string_view words);
// The first of "one|another" of which nothing is missing; empty: none.
std::string fill_first(const diagnosis::Statement& statement, std::string_view alternatives);

}  // namespace ringtrue::report
