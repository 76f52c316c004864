// The dashboard on a terminal, until it is left.
#pragma once

#include "tui/frame/keys.h"
#include "tui/frame/view.h"
#include "tui/model/model.h"
#include "tui/terminal/terminal.h"

namespace ringtrue::tui {

// Before any thread starts: signals then wait until the loop takes them.
void hold_signals();

// The signal that ended it; 0: it was left by a key.
int run_loop(std::unique_ptr<Terminal> terminal, std::unique_ptr<Model> model, View view, const KeyMap& keys);

}  // namespace ringtrue::tui
