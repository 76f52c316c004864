// A screen from a snapshot: the same for the same, without a terminal, a clock or files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tui/frame/grid.h"
#include "tui/frame/keys.h"
#include "tui/frame/table.h"
#include "tui/frame/view.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

inline constexpr Size least_size{20, 6};
// What to say where a screen has less room; nullopt: it has enough.
std::optional<std::string> too_small(Size size);

Grid draw(const Snapshot& snapshot, const View& view, const KeyMap& keys, Size size);

}  // namespace ringtrue::tui
