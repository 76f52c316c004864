// A frame as text, for scripts and pictures.
#pragma once

#include <string>

#include "tui/frame/grid.h"

namespace ringtrue::tui {

// With `colour`, as sequences of 256 colours, each row ended by a reset.
std::string printed(const Grid& grid, bool colour);

}  // namespace ringtrue::tui
