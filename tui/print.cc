#include "tui/print.h"

#include <fmt/format.h>

#include "tui/terminal/colours.h"

namespace ringtrue::tui {
std::string printed(const Grid& grid, bool colour) {
  if (!colour) return grid.text();
  std::string out;
  for (int y = 0; y < grid.size().height; ++y) {
    std::string last;
    for (int x = 0; x < grid.size().width; ++x) {
      const Cell& cell = grid.at(x, y);
      const Colour c = colour_of(cell.paint, 256, false);
      std::string codes = "0";
      if (c.bold) codes += ";1";
      if (c.dim) codes += ";2";
      if (cell.reversed) codes += ";7";
      if (c.foreground >= 0) codes += fmt::format(";38;5;{}", c.foreground);
      if (c.background >= 0) codes += fmt::format(";48;5;{}", c.background);
      if (codes != last) out += fmt::format("\x1b[{}m", codes);
      last = codes;
      out += cell.text;
    }
    out += "\x1b[0m\n";
  }
  return out;
}

}  // namespace ringtrue::tui
