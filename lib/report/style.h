// Whether and how text may be coloured.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::report {

enum class Color { automatic, always, never };
Result<Color> parse_color(std::string_view text);  // "auto", "always", "never"

// automatic: a terminal, no NO_COLOR (no-color.org), and not TERM=dumb.
bool colour_allowed(Color color, int fd);

enum class Ink { plain, bold, dim, red, yellow, green, cyan };

struct Style {
  bool colour = false;

  std::string paint(std::string_view text, Ink ink) const;
  // `text` on a background from red over yellow to green, for a share of what is expected (1 is all of it).
  std::string heat(std::string_view text, double share, double warning, double critical) const;
};

// Columns that a UTF-8 text takes on a terminal (code points; escape sequences count as nothing).
std::size_t display_width(std::string_view text);

}  // namespace ringtrue::report
