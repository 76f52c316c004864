#include "tui/frame/act.h"

#include <fmt/format.h>

#include <algorithm>

#include "tui/frame/filter.h"
#include "tui/frame/moves.h"
#include "tui/frame/parts.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t longest_input = 200;

std::string command_of(const View& view, const Snapshot& snapshot) {
  if (view.screen == Screen::findings) {
    const Table table = shown_rows(snapshot, view);
    const int at = chosen(table, view.here());
    for (const FindingRow& f : snapshot.findings)
      if (at >= 0 && fmt::format("{} {}", f.kind, f.where) == table.rows[std::size_t(at)].key)
        return f.command;
  }
  if (view.screen == Screen::fleet) {
    const Table table = shown_rows(snapshot, view);
    const int at = chosen(table, view.here());
    for (const FindingRow& f : snapshot.findings)
      if (at >= 0 && f.node == table.rows[std::size_t(at)].key && !f.command.empty()) return f.command;
  }
  return {};
}

Step with(View view, Effect effect) {
  return {std::move(view), std::move(effect)};
}

Step filtering(View view, std::string_view key, const Snapshot& snapshot) {
  if (key == "Esc") {
    view.mode = Mode::browse;
  } else if (key == "Enter") {
    const auto filter = Filter::parse(view.input, all_rows(snapshot, view));
    if (!filter) return {std::move(view)};  // what is wrong stands behind it
    view.here().filter = view.input;
    view.here().row = 0;
    view.here().key.clear();
    view.mode = Mode::browse;
  } else if (key == "Bksp" || key == "Del") {
    while (!view.input.empty() && (static_cast<unsigned char>(view.input.back()) & 0xc0) == 0x80)
      view.input.pop_back();
    if (!view.input.empty()) view.input.pop_back();
  } else if (key == "C-u") {
    view.input.clear();
  } else if (key == "Space") {
    if (view.input.size() < longest_input) view.input += ' ';
  } else if (const Character c = key.empty() ? Character{} : first_character(key);
             c.valid && c.bytes == key.size() && c.code >= ' ' && c.code != 0x7f &&
             view.input.size() < longest_input) {
    view.input += key;
  }
  return {std::move(view)};
}

void change_session(View& view, const Snapshot& snapshot, int step, Effect& effect) {
  const int count = snapshot.history ? int(snapshot.history->sessions.size()) : 0;
  if (count == 0) return say(view, "no earlier checks are known");
  // Behind the last one is now.
  const int at = (snapshot.session < 0 ? count : snapshot.session) + step;
  if (at < 0) return say(view, "this is the first session that is known");
  if (at > count) return say(view, "this is now");
  effect = {Effect::Kind::session, at == count ? -1 : at, {}, 0};
}

void enter(View& view, const Snapshot& snapshot, Effect& effect) {
  Spot& spot = view.here();
  switch (view.screen) {
    case Screen::matrix: {
      const Cells cells = cells_of(snapshot, view);
      if (!cells.grouped || cells.rows.empty()) return;
      const int row = std::clamp(spot.row, 0, int(cells.rows.size()) - 1);
      const int column = std::clamp(spot.column, 0, int(cells.columns.size()) - 1);
      spot.key = fmt::format("{} {}", row, column);
      spot.open = true;
      spot.row = spot.column = 0;
      return;
    }
    case Screen::history: {
      const Table table = shown_rows(snapshot, view);
      const int at = chosen(table, spot);
      if (at >= 0) effect = {Effect::Kind::session, int(snapshot.history->sessions.size()) - 1 - at, {}, 0};
      return;
    }
    case Screen::fleet:
    case Screen::findings:
      move_to(view, snapshot, row_now(view, snapshot));  // holds the row by its key
      [[fallthrough]];
    case Screen::topology:
      if (!spot.open) spot.column = 0;
      spot.open = true;
      return;
    default:
      return;
  }
}

void back(View& view, const Snapshot& snapshot, Effect& effect) {
  Spot& spot = view.here();
  if (view.help) {
    view.help = false;
    spot.row = 0;
  } else if (spot.open) {
    spot.open = false;
    spot.column = 0;
    if (view.screen == Screen::matrix) spot.key.clear(), spot.row = 0;
  } else if (!spot.filter.empty()) {
    spot.filter.clear();
  } else if (view.faults_only) {
    view.faults_only = false;
  } else if (snapshot.as_of) {
    effect = {Effect::Kind::session, -1, {}, 0};
  }
}

void ask_to_start(View& view, const Snapshot& snapshot) {
  if (view.read_only) return say(view, "read-only: nothing is started", true);
  if (!snapshot.offer.allowed)
    return say(view,
               "no check can be started here: " +
                   (snapshot.offer.why_not.empty() ? "nothing to run on" : snapshot.offer.why_not),
               true);
  if (snapshot.run.state == Run::State::running)
    return say(view, "a check runs already; its screen is 'run'", true);
  view.mode = Mode::ask_start;
}

}  // namespace

Step press(View view, std::string_view key, const KeyMap& keys, const Snapshot& snapshot, Size size) {
  view.command.clear();
  if (view.mode == Mode::filter) return filtering(std::move(view), key, snapshot);
  say(view, "");
  if (view.mode == Mode::ask_start) {
    view.mode = Mode::browse;
    if (key != "y") return (say(view, "nothing was started"), Step{std::move(view)});
    view.screen = Screen::run;
    return with(std::move(view), {Effect::Kind::start});
  }
  if (view.mode == Mode::ask_export) {
    view.mode = Mode::browse;
    const int format = key == "t" ? 0 : key == "c" ? 1 : key == "j" ? 2 : -1;
    if (format < 0) return (say(view, "nothing was exported"), Step{std::move(view)});
    return with(std::move(view), {Effect::Kind::save, -1, {}, format});
  }
  const Action* const action = keys.find(key);
  if (action == nullptr) return {std::move(view)};
  Effect effect;
  Spot& spot = view.here();
  const int page = std::max(size.height - 5, 1);
  switch (*action) {
    case Action::fleet:
    case Action::findings:
    case Action::matrix:
    case Action::topology:
    case Action::history:
    case Action::counters:
    case Action::run:
      view.screen = Screen(*action);
      view.help = false;
      break;
    case Action::next_screen:
    case Action::previous_screen:
      view.screen = Screen((int(view.screen) + (*action == Action::next_screen ? 1 : screens - 1)) % screens);
      view.help = false;
      break;
    case Action::up:
      move_by(view, snapshot, -1);
      break;
    case Action::down:
      move_by(view, snapshot, 1);
      break;
    case Action::page_up:
      move_by(view, snapshot, -page);
      break;
    case Action::page_down:
      move_by(view, snapshot, page);
      break;
    case Action::first:
      if (reads(view))
        spot.column = 0;
      else
        move_to(view, snapshot, 0);
      break;
    case Action::last:
      if (reads(view))
        spot.column = 10'000;
      else
        move_to(view, snapshot, 1 << 30);
      break;
    case Action::left:
    case Action::right:
      if (view.screen == Screen::matrix || view.screen == Screen::history)
        spot.column = std::clamp(spot.column + (*action == Action::right ? 1 : -1), 0,
                                 std::max(columns_on(view, snapshot) - 1, 0));
      break;
    case Action::enter:
      enter(view, snapshot, effect);
      break;
    case Action::back:
      back(view, snapshot, effect);
      break;
    case Action::filter:
      view.mode = Mode::filter;
      view.input = spot.filter;
      break;
    case Action::next_fault:
      next_fault(view, snapshot, 1);
      break;
    case Action::previous_fault:
      next_fault(view, snapshot, -1);
      break;
    case Action::sort: {
      const Table table = all_rows(snapshot, view);
      do {
        if (++spot.sort >= int(table.columns.size())) spot.sort = -1;
      } while (spot.sort >= 0 && table.columns[std::size_t(spot.sort)].title.empty());
      say(view, spot.sort < 0 ? "sorted: problems first"
                              : "sorted by " + table.columns[std::size_t(spot.sort)].title);
      break;
    }
    case Action::reverse:
      spot.descending = !spot.descending;
      break;
    case Action::faults:
      view.faults_only = !view.faults_only;
      break;
    case Action::freeze:
      view.frozen = !view.frozen;
      break;
    case Action::refresh:
      effect.kind = Effect::Kind::refresh;
      break;
    case Action::earlier:
      change_session(view, snapshot, -1, effect);
      break;
    case Action::later:
      change_session(view, snapshot, 1, effect);
      break;
    case Action::faster:
      effect = {Effect::Kind::speed, 1, {}, 0};
      break;
    case Action::slower:
      effect = {Effect::Kind::speed, -1, {}, 0};
      break;
    case Action::baseline:
      if (snapshot.matrix && !snapshot.matrix->baseline.empty())
        view.baseline = !view.baseline;
      else
        say(view, "no baseline is known");
      break;
    case Action::layer:
      ++view.layer;
      if (!snapshot.matrix || snapshot.matrix->layers.size() < 2)
        say(view, "rails and ports are not told apart here");
      break;
    case Action::map:
      view.map = !view.map;
      break;
    case Action::check:
      ask_to_start(view, snapshot);
      break;
    case Action::cancel:
      if (snapshot.run.state == Run::State::running)
        effect.kind = Effect::Kind::cancel;
      else
        say(view, "nothing runs that was started here");
      break;
    case Action::save:
      if (all_rows(snapshot, view).columns.empty())
        say(view, "this screen is no table");
      else
        view.mode = Mode::ask_export;
      break;
    case Action::copy:
      view.command = command_of(view, snapshot);
      if (view.command.empty())
        say(view, "there is no command for this");
      else
        effect = {Effect::Kind::copy, -1, view.command, 0};
      break;
    case Action::acknowledge:
      if (view.screen != Screen::findings) {
        say(view, "findings are acknowledged on their screen");
      } else if (const Table table = shown_rows(snapshot, view); !table.rows.empty()) {
        effect = {Effect::Kind::acknowledge, -1, table.rows[std::size_t(chosen(table, spot))].key, 0};
      }
      break;
    case Action::help:
      view.help = !view.help;
      spot.row = 0;
      spot.key.clear();
      break;
    case Action::quit:
      effect.kind = Effect::Kind::quit;
      break;
  }
  return {std::move(view), std::move(effect)};
}

}  // namespace ringtrue::tui
