// What a key does: to the view, and what it asks of the program.
#pragma once

#include <string>
#include <string_view>

#include "tui/frame/keys.h"
#include "tui/frame/view.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

struct Effect {
  enum class Kind { none, quit, refresh, start, cancel, save, copy, acknowledge, session, speed, price };
  Kind kind = Kind::none;
  int session = -1;    // the one to show; -1: now; of speed: 1 for faster, -1 for slower
  std::string text{};  // what to copy; the key of what to acknowledge
  int format = 0;      // of what is saved, see table.h
  Task task{};         // to be started, or what the price is asked of
};

struct Step {
  View view;
  Effect effect{};
};

// With the price of the plan, or why it has none: what was typed is to be confirmed, or to be mended.
View priced(View view, const Result<Price>& price);

// `key`: as keys.h names it, or a character of UTF-8.
Step press(View view, std::string_view key, const KeyMap& keys, const Snapshot& snapshot, Size size);

}  // namespace ringtrue::tui
