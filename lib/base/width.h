// How many columns of a terminal a text takes: by tables, so that it is the same in every locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringtrue {

// A character of a UTF-8 text; of a byte that is no UTF-8, `bytes` is 1 and `valid` false.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
  bool valid = false;
};

// The first one of a text that is not empty, by RFC 3629: the shortest form only, no surrogates.
Character first_character(std::string_view text);

// Of characters that are wide in East Asian surroundings alone, such as '…' and 'α': most terminals take them
// for narrow.
enum class Ambiguous : std::uint8_t { narrow, wide };

// 0 of combining marks and control characters, 2 of wide ones, else 1.
int columns_of(std::uint32_t code, Ambiguous ambiguous = Ambiguous::narrow);

// Of a text; bytes that are no UTF-8 count as one each. Escape sequences that set colours ("\x1b[31m") take
// none.
std::size_t columns_of(std::string_view text, Ambiguous ambiguous = Ambiguous::narrow);

}  // namespace ringtrue
