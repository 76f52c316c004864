#include "tui/frame/act.h"

#include <fmt/format.h>

#include <algorithm>

#include "tui/frame/filter.h"
#include "tui/frame/moves.h"
#include "tui/frame/parts.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t longest_input = 200;

void ask_to_start(View& view, const Snapshot& snapshot, Mode mode);

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

// What a key changes in a line that is typed.
void type(std::string& line, std::string_view key) {
  if (key == "Bksp" || key == "Del") {
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
    if (!line.empty()) line.pop_back();
  } else if (key == "C-u") {
    line.clear();
  } else if (line.size() >= longest_input) {
    return;
  } else if (key == "Space") {
    line += ' ';
  } else if (const Character c = key.empty() ? Character{} : first_character(key);
             c.valid && c.bytes == key.size() && c.code >= ' ' && c.code != 0x7f) {
    line += key;
  }
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
  } else {
    type(view.input, key);
  }
  return {std::move(view)};
}

// The next of the algorithms that there are for it, or the one before; the first is no name: as usual.
void choose_algorithm(Task& task, const Offer& offer, int step) {
  std::vector<std::string> names = {""};
  if (task.kind == Task::Kind::check) names.insert(names.end(), {"ring", "omnireduce"});
  if (task.kind == Task::Kind::run)
    names.insert(names.end(), offer.algorithms.begin(), offer.algorithms.end());
  const auto at = std::find(names.begin(), names.end(), task.algorithm) - names.begin();
  const auto count = std::ptrdiff_t(names.size());
  task.algorithm = at == count ? "" : names[std::size_t((at + step + count) % count)];
}

Step planning(View view, std::string_view key, const Snapshot& snapshot) {
  enum Line { what, algorithm, nodes, amount, lines };
  Task& task = view.plan;
  const int step = key == "Left" ? -1 : 1;
  if (key == "Esc") {
    view.mode = Mode::browse;
  } else if (key == "Enter") {
    Effect effect;
    effect.kind = Effect::Kind::price;
    effect.task = task;
    return {std::move(view), std::move(effect)};
  } else if (key == "Up" || key == "Down" || key == "Tab" || key == "S-Tab") {
    view.line = (view.line + (key == "Down" || key == "Tab" ? 1 : lines - 1)) % lines;
  } else if (view.line == what && (key == "Left" || key == "Right" || key == "Space")) {
    task.kind = Task::Kind((int(task.kind) + step + task_kinds) % task_kinds);
    task.algorithm.clear();
    task.amount.clear();
  } else if (view.line == algorithm && (key == "Left" || key == "Right" || key == "Space")) {
    choose_algorithm(task, snapshot.offer, step);
  } else if (view.line == nodes || view.line == amount) {
    type(view.line == nodes ? task.nodes : task.amount, key);
  }
  return {std::move(view)};
}

Effect show_session(View& view, int session) {
  view.asked_session = session;
  return {Effect::Kind::session, session, {}, 0};
}

void change_session(View& view, const Snapshot& snapshot, int step, Effect& effect) {
  const int count = snapshot.history ? int(snapshot.history->sessions.size()) : 0;
  if (count == 0) return say(view, "no earlier checks are known");
  // Behind the last one is now.
  const int shown = view.asked_session.value_or(snapshot.session);
  const int at = (shown < 0 ? count : shown) + step;
  if (at < 0) return say(view, "this is the first session that is known");
  if (at > count) return say(view, "this is now");
  effect = show_session(view, at == count ? -1 : at);
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
      if (at >= 0) effect = show_session(view, int(snapshot.history->sessions.size()) - 1 - at);
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
    case Screen::run:
      return ask_to_start(view, snapshot, Mode::plan);
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
    effect = show_session(view, -1);
  }
}

// `mode`: of what comes next where something may be started.
void ask_to_start(View& view, const Snapshot& snapshot, Mode mode) {
  if (view.read_only) return say(view, "read-only: nothing is started", true);
  if (!snapshot.offer.allowed)
    return say(view,
               "no check can be started here: " +
                   (snapshot.offer.why_not.empty() ? "nothing to run on" : snapshot.offer.why_not),
               true);
  if (snapshot.run.state == Run::State::running)
    return say(view, "something runs already; its screen is 'run'", true);
  view.mode = mode;
  if (mode == Mode::ask_start) view.price = {{}, snapshot.offer.what, snapshot.offer.cost};
}

}  // namespace

View priced(View view, const Result<Price>& price) {
  if (price) {
    view.mode = Mode::ask_start;
    view.price = *price;
  } else {
    say(view, price.error().text(), true);
  }
  return view;
}

Step press(View view, std::string_view key, const KeyMap& keys, const Snapshot& snapshot, Size size) {
  view.command.clear();
  if (view.asked_session == snapshot.session) view.asked_session.reset();
  if (view.mode == Mode::filter) return filtering(std::move(view), key, snapshot);
  say(view, "");
  if (view.mode == Mode::plan) return planning(std::move(view), key, snapshot);
  if (view.mode == Mode::ask_start) {
    view.mode = Mode::browse;
    if (key != "y") return (say(view, "nothing was started"), Step{std::move(view)});
    view.screen = Screen::run;
    Effect effect;
    effect.kind = Effect::Kind::start;
    effect.task = view.price.task;
    return with(std::move(view), std::move(effect));
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
      ask_to_start(view, snapshot, Mode::ask_start);
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
