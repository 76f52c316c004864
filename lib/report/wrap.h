// Text in lines of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringtrue::report {

constexpr std::size_t usual_width = 80;  // of files that people read

// Breaks each line that is wider than `width` at blanks. What follows a break is indented as its line is and
// by `hang` more. A word that is too wide stays whole; escape sequences count as nothing.
std::string wrap(std::string_view text, std::size_t width, std::size_t hang = 2);

}  // namespace ringtrue::report
