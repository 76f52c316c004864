#include "tui/frame/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/suggest.h"

namespace ringtrue::tui {
namespace {

constexpr const char* names_of_keys[] = {"Up",  "Down",  "Left", "Right", "PgUp",  "PgDn",  "Home",
                                         "End", "Enter", "Esc",  "Tab",   "S-Tab", "Space", "Bksp",
                                         "Del", "F1",    "F5",   "C-l",   "C-u",   "C-d"};

struct Usual {
  Action action;
  const char* keys;
  const char* help;
};

// The enumerators' names are common words: they stay within this struct.
struct UsualKeys {
  using enum Action;
  static constexpr Usual all[] = {
      {fleet, "1", "a row a node, problems first"},
      {findings, "2", "what is wrong, and what to do"},
      {matrix, "3", "who sends to whom"},
      {topology, "4", "what is in a node"},
      {history, "5", "rates over time"},
      {counters, "6", "what rose of devices' counters"},
      {run, "7", "the check or run that goes on"},
      {next_screen, "Tab", "next screen"},
      {previous_screen, "S-Tab", "previous screen"},
      {up, "k Up", "up"},
      {down, "j Down", "down"},
      {left, "h Left", "left"},
      {right, "l Right", "right"},
      {page_up, "PgUp C-u", "a page up"},
      {page_down, "PgDn C-d", "a page down"},
      {first, "g Home", "to the first row"},
      {last, "G End", "to the last row"},
      {enter, "Enter", "go in"},
      {back, "Esc Bksp", "go out; drop the filter"},
      {filter, "/", "filter: send<95% & errors>0, node[01-08], any text"},
      {next_fault, "n", "next fault"},
      {previous_fault, "N", "previous fault"},
      {sort, "s", "sort by the next column"},
      {reverse, "S", "sort the other way round"},
      {faults, "f", "faults only"},
      {freeze, "Space", "freeze: nothing is asked or changed"},
      {refresh, "r F5 C-l", "ask now, and draw anew"},
      {earlier, "[", "the session before; all screens show that moment"},
      {later, "]", "the session after"},
      {faster, "+", "of a recording: twice as fast"},
      {slower, "-", "of a recording: half as fast"},
      {baseline, "b", "shares of the baseline instead of what is expected"},
      {layer, "o", "next rail or port"},
      {map, "m", "map of cells or table"},
      {check, "c", "start a check, which asks first"},
      {cancel, "x", "cancel what was started here"},
      {save, "e", "export what is shown to a file: text, CSV, JSON"},
      {copy, "y", "show and copy the command"},
      {acknowledge, "a", "acknowledge a finding"},
      {help, "?", "help"},
      {quit, "q", "quit"},
  };
};
constexpr auto& usual = UsualKeys::all;

const Usual& usual_of(Action action) {
  return *std::find_if(std::begin(usual), std::end(usual),
                       [&](const Usual& u) { return u.action == action; });
}

bool is_key(std::string_view key) {
  if (key.size() == 1) return key[0] > ' ' && key[0] < 0x7f;
  return std::find(std::begin(names_of_keys), std::end(names_of_keys), key) != std::end(names_of_keys);
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  // A comma alone, or behind a comma, is a key.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

const Action* KeyMap::find(std::string_view key) const {
  for (const auto& [name, action] : keys)
    if (name == key) return &action;
  return nullptr;
}

std::string KeyMap::keys_for(Action action) const {
  std::string out;
  for (const auto& [name, does] : keys)
    if (does == action) out += (out.empty() ? "" : " ") + name;
  return out;
}

KeyMap usual_keys() {
  KeyMap map;
  for (const Usual& u : usual)
    for (std::string& key : words(u.keys)) map.keys.emplace_back(std::move(key), u.action);
  return map;
}

std::string_view help_of(Action action) {
  return usual_of(action).help;
}

std::span<const char* const> named_keys() {
  return names_of_keys;
}

Result<KeyMap> remapped(const std::vector<std::pair<std::string, std::string>>& names) {
  KeyMap out = usual_keys();
  std::vector<std::pair<std::string, Action>> given;
  for (const auto& [name, list] : names) {
    const auto action = parse_key<Action>(name);
    if (!action) {
      const auto near = closest(name, all_keys<Action>());
      return fail(Cause::bad_input, fmt::format("tui.keys: no action is called '{}'", name), {},
                  near ? fmt::format("did you mean {}?", *near) : "? in the dashboard lists them");
    }
    std::erase_if(out.keys, [&](const auto& key) { return key.second == *action; });
    for (std::string& key : words(list)) {
      if (!is_key(key))
        return fail(Cause::bad_input, fmt::format("tui.keys.{}: no key is called '{}'", name, key), {},
                    "a character, or Up, PgDn, Enter, Esc, Tab, Space, F1, ...");
      for (const auto& [other, does] : given)
        if (other == key)
          return fail(Cause::bad_input,
                      fmt::format("tui.keys: '{}' is for {} and for {}", key, key_of(does), name), {},
                      "give each its own");
      given.emplace_back(std::move(key), *action);
    }
  }
  // What was given wins over what is usual.
  std::erase_if(out.keys, [&](const auto& key) {
    return std::any_of(given.begin(), given.end(), [&](const auto& g) { return g.first == key.first; });
  });
  out.keys.insert(out.keys.end(), given.begin(), given.end());
  return out;
}

}  // namespace ringtrue::tui
