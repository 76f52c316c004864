// A frame as text, for scripts and pictures.
#pragma once

#include <string>

#include "tui/frame/grid.h"

namespace ringtrue::tui {

// With `colour`, as sequences of 256 colours, each row ended by a reset.
std::string printed(const Grid& grid, bool colour);

// What a paint is in colours of 256; -1: the terminal's own. bold and dim are attributes beside them.
struct Colour {
  int foreground = -1, background = -1;
  bool bold = false, dim = false;
};
Colour colour_of(Paint paint, int colours, bool light);

}  // namespace ringtrue::tui
