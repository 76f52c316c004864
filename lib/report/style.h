// Whether and how text may be coloured.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringtrue::report {

enum class Color { automatic, always, never };

// automatic: a terminal, no NO_COLOR (no-color.org), and not TERM=dumb.
bool colour_allowed(Color color, int fd);
// Whether it is a terminal on which a line can be written anew.
bool rewrites_lines(int fd);

enum class Ink { plain, bold, dim, red, yellow, green, cyan };

// Columns for what is written to `fd`: COLUMNS, or else the terminal's, or else the usual ones.
std::size_t text_width(int fd);

struct Style {
  bool colour = false;
  std::size_t width = 0;  // of prose; tables are as wide as they are; 0: of any

  // Prose in lines of that width, what follows a break indented by `hang` more.
  std::string fit(std::string_view prose, std::size_t hang = 2) const;

  std::string paint(std::string_view text, Ink ink) const;
  std::string line(std::string_view text, Ink ink) const { return paint(text, ink) + '\n'; }
  // `text` on a background from red over yellow to green, for a share of what is expected (1 is all of it).
  std::string heat(std::string_view text, double share, double warning, double critical) const;
};

// Columns that a UTF-8 text takes on a terminal, see base/width.h.
std::size_t display_width(std::string_view text);

constexpr std::size_t usual_width = 80;  // of files that people read

// Breaks each line that is wider than `width` at blanks. What follows a break is indented as its line is and
// by `hang` more. A word that is too wide stays whole; escape sequences count as nothing.
std::string wrap(std::string_view text, std::size_t width, std::size_t hang = 2);

}  // namespace ringtrue::report
