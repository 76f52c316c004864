// How the cursor moves. For act.cc.
#pragma once

#include <string>

#include "tui/frame/view.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

void say(View& view, std::string text, bool complaint = false);

// Columns that left and right go through; 0: none.
int columns_on(const View& view, const Snapshot& snapshot);
// Whether up and down move the text of what was gone into, and not the choice.
bool reads(const View& view);
int row_now(const View& view, const Snapshot& snapshot);
void move_to(View& view, const Snapshot& snapshot, int row);
void move_by(View& view, const Snapshot& snapshot, int rows);
// To the next row or cell with a fault, or the one before (-1).
void next_fault(View& view, const Snapshot& snapshot, int step);

}  // namespace ringtrue::tui
