// What a paint is on a terminal.
#pragma once

#include "tui/frame/grid.h"

namespace ringtrue::tui {

// Numbers of the palette; -1: the terminal's own.
struct Colour {
  int foreground = -1, background = -1;
  bool bold = false, dim = false;
};
// `colours`: that there are; below 8, attributes alone.
Colour colour_of(Paint paint, int colours, bool light);

}  // namespace ringtrue::tui
