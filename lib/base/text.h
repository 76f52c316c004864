// Text that was made elsewhere - by peers, in certificates and files -, fit for a terminal, a table or a log:
// one line, and nothing in it that moves a cursor, changes colours or turns the order of what follows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringtrue {

// At most `max` bytes of ASCII: control characters become blanks, all else that is not ASCII '?'. For words
// of peers, whose own are ASCII.
std::string one_line(std::string_view text, std::size_t max);

// UTF-8 stays, but for what does not show: control characters (those of C0 become blanks, of C1 '?'), marks
// of direction, line separators, characters without width, and bytes that are no UTF-8.
std::string visible(std::string_view text);

}  // namespace ringtrue
