// Keys by name, what they do, and the map between the two, which can be changed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keys.h"
#include "base/result.h"

namespace ringtrue::tui {

enum class Action : std::uint8_t {
  fleet,
  findings,
  matrix,
  topology,
  history,
  counters,
  run,
  next_screen,
  previous_screen,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  first,
  last,
  enter,
  back,
  filter,
  next_fault,
  previous_fault,
  sort,
  reverse,
  faults,
  freeze,
  refresh,
  earlier,
  later,
  faster,
  slower,
  baseline,
  layer,
  map,
  check,
  cancel,
  save,
  copy,
  acknowledge,
  help,
  quit
};

struct KeyMap {
  std::vector<std::pair<std::string, Action>> keys;  // "j" -> down; printable characters are themselves

  const Action* find(std::string_view key) const;
  // "j Down", "" where nothing does it.
  std::string keys_for(Action action) const;
};

KeyMap usual_keys();
// What an action does, for help.
std::string_view help_of(Action action);
// The names of keys that are no characters: "Up", "PgDn", "Enter", "Space", ...
std::span<const char* const> named_keys();

// With each of `names` ("down") on the keys of a list ("j,Down") instead of its usual ones; an empty list
// takes them away. Errors (bad_input): no such action or key, a key for two.
Result<KeyMap> remapped(const std::vector<std::pair<std::string, std::string>>& names);

}  // namespace ringtrue::tui

namespace ringtrue {

template <>
inline constexpr const char* keys_of<tui::Action>[] = {"fleet",
                                                       "findings",
                                                       "matrix",
                                                       "topology",
                                                       "history",
                                                       "counters",
                                                       "run",
                                                       "next_screen",
                                                       "previous_screen",
                                                       "up",
                                                       "down",
                                                       "left",
                                                       "right",
                                                       "page_up",
                                                       "page_down",
                                                       "first",
                                                       "last",
                                                       "enter",
                                                       "back",
                                                       "filter",
                                                       "next_fault",
                                                       "previous_fault",
                                                       "sort",
                                                       "reverse",
                                                       "faults",
                                                       "freeze",
                                                       "refresh",
                                                       "earlier",
                                                       "later",
                                                       "faster",
                                                       "slower",
                                                       "baseline",
                                                       "layer",
                                                       "map",
                                                       "check",
                                                       "cancel",
                                                       "export",
                                                       "copy",
                                                       "acknowledge",
                                                       "help",
                                                       "quit"};

}  // namespace ringtrue
