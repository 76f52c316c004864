// What goes on: the check's phases, suspects, budget and matrix; a run's sizes against their ideals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plural.h"
#include "base/units.h"
#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

std::string bar(double share, int width, const Letters& letters) {
  const int full = std::clamp(int(std::lround(std::clamp(share, 0.0, 1.0) * width)), 0, width);
  std::string out;
  for (int i = 0; i < width; ++i)
    out += i < full ? (letters.symbols() ? "█" : "#") : (letters.symbols() ? "░" : ".");
  return out;
}

std::string state_text(const Run& run) {
  switch (run.state) {
    case Run::State::none:
      return "nothing runs";
    case Run::State::running:
      return "running";
    case Run::State::done:
      return "done";
    case Run::State::cancelled:
      return "cancelled; nothing is held any more";
    case Run::State::failed:
      return "failed";
  }
  return {};
}

void draw_small_matrix(Grid& grid, const Box& box, const Matrix& m, bool over) {
  const char* const title = over ? "rows send to columns" : "read so far, rows send to columns";
  if (box.width < 4 || box.height < 2 || m.names.empty()) return;
  const int told = grid.put(box.x, box.y, title, Paint::title, box.width);
  if (const std::string_view legend = "o as expected, ? low, ! very low, . not read";
      box.width >= told + 2 + int(legend.size()))
    grid.put(box.x + told + 2, box.y, legend, Paint::dim);
  const int across = std::min(int(m.names.size()), box.width),
            down = std::min(int(m.names.size()), box.height - 1);
  for (int i = 0; i < down; ++i)
    for (int j = 0; j < across; ++j) {
      const Maybe rate = m.rate(0, std::size_t(i), std::size_t(j));
      const Maybe share = rate && m.expected && *m.expected > 0 ? Maybe(*rate / *m.expected) : Maybe();
      const char mark = mark_of(level_of(share, m.warning, m.critical));
      const std::string cell = !rate ? (i == j ? " " : ".") : mark == ' ' ? "o" : std::string(1, mark);
      // The last column and row say that there are more.
      const bool more =
          (j == across - 1 && across < int(m.names.size())) || (i == down - 1 && down < int(m.names.size()));
      grid.put(box.x + j, box.y + 1 + i, more ? std::string(grid.letters().cut()) : cell,
               rate ? heat(share) : Paint::dim, 1);
    }
}

std::string hidden_text(int lines) {
  if (lines == 0) return {};
  return fmt::format("{}: a taller terminal shows {}", plural(std::size_t(lines), "more line"),
                     lines == 1 ? "it" : "them");
}

// Where what is to be started is chosen, a line each.
void draw_plan(Grid& grid, const Box& box, const View& view) {
  static constexpr const char* amounts[] = {"budget", "up to size", "bytes a pair"};
  static constexpr const char* usual[] = {"16s", "64M", "16M"};
  const Task& task = view.plan;
  const bool none = task.kind == Task::Kind::sweep;
  const std::size_t kind = std::size_t(task.kind);
  struct Row {
    const char* name;
    std::string value, help;
  };
  const Row rows[] = {
      {"what", std::string(key_of(task.kind)), "Left and Right change it: check, run, sweep"},
      {"algorithm",
       none                     ? "none"
       : task.algorithm.empty() ? "as usual"
                                : task.algorithm,
       none ? "a sweep has none" : "Left and Right change it"},
      {"nodes", task.nodes, "names, such as node[1-8]; nothing typed: all"},
      {amounts[kind], task.amount, fmt::format("such as {}; nothing typed: as usual", usual[kind])}};
  int y = box.y;
  grid.put(box.x, y++, "Start from here; Up and Down choose a line", Paint::title, box.width);
  for (int i = 0; i < int(std::size(rows)); ++i) {
    if (y >= box.y + box.height) return;
    const Row& row = rows[i];
    const bool here = i == view.line;
    const int taken = grid.put(
        box.x, y,
        fmt::format("{} {:<13} {}{}", here ? ">" : " ", row.name, row.value, here && i > 1 ? "_" : ""),
        here ? Paint::bold : Paint::plain, box.width);
    if (here) grid.put(box.x + taken + 3, y, row.help, Paint::dim, box.width - taken - 3);
    ++y;
  }
}

}  // namespace

std::string draw_run(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Run& run = snapshot.run;
  int y = box.y;
  const int end = box.y + box.height;
  if (view.mode == Mode::plan) return draw_plan(grid, box, view), std::string();
  int hidden = 0;  // lines for which there is no room
  const auto say = [&](const std::string& text, Paint paint = Paint::plain) {
    if (y < end)
      y += draw_text(grid, {box.x, y, box.width, end - y}, text, paint, 2);
    else
      ++hidden;
  };
  if (run.state == Run::State::none) {
    say("Nothing runs.");
    if (!snapshot.offer.what.empty()) say(fmt::format("{}: {}", snapshot.offer.what, snapshot.offer.cost));
    if (!snapshot.offer.allowed || view.read_only)
      say(fmt::format("Nothing can be started here: {}",
                      view.read_only ? "read-only" : snapshot.offer.why_not),
          Paint::dim);
    else
      say("A check is started by its key (c), which asks first; Enter chooses a check, run or sweep.",
          Paint::accent);
    return hidden_text(hidden);
  }
  say(fmt::format("{}: {}", run.what, state_text(run)),
      run.state == Run::State::running ? Paint::accent : Paint::bold);
  if (!run.error.empty()) say(run.error, Paint::bad);
  if (!run.verdict.empty()) say(fmt::format("verdict: {}", run.verdict), paint_of(run.level));
  if (!run.recorded.empty()) say("recorded in " + run.recorded, Paint::dim);
  if (run.state == Run::State::running && !run.phase.empty())
    say(fmt::format("phase {}{}{}", run.phase,
                    run.of > 0 ? fmt::format(", {} of {} nodes", run.answered, run.of) : "",
                    run.step.empty() ? "" : ": " + run.step));
  if (run.budget_s && *run.budget_s > 0) {
    const double used = run.used_s.value_or(0);
    say(fmt::format("budget {} {:.0f} of {:.0f} s, {:.0f} s left",
                    bar(used / *run.budget_s, 20, grid.letters()), used, *run.budget_s,
                    std::max(*run.budget_s - used, 0.0)));
  }
  const std::string sent = run.bytes > 0 ? fmt::format(", {} sent", size_text(run.bytes)) : "";
  if (run.runs > 0 || !sent.empty()) say(plural(std::size_t(run.runs), "run") + sent);
  std::size_t shown_suspects = 0;
  for (const Suspect& s : run.suspects) {
    if (++shown_suspects > 6) {
      say(fmt::format("  and {} more suspects", run.suspects.size() - 6), Paint::dim);
      break;
    }
    say(fmt::format("{} {} {:3.0f} % {}{}", s.confirmed ? "!" : "?", bar(s.confidence, 10, grid.letters()),
                    s.confidence * 100, s.where, s.confirmed ? ", confirmed" : ""),
        s.confirmed ? Paint::bad : Paint::warning);
  }
  if (!run.sizes.empty()) {
    const bool room_for_any = y + 1 < end;
    if (room_for_any) grid.put(box.x, y++, "      size     busbw     ideal", Paint::title, box.width);
    for (const SizeRow& s : run.sizes) {
      if (!room_for_any || y >= end) {
        ++hidden;
        continue;
      }
      const RateUnit unit = unit_of(std::max(s.busbw.value_or(0), s.ideal.value_or(0)));
      const Maybe share = s.busbw && s.ideal && *s.ideal > 0 ? Maybe(*s.busbw / *s.ideal) : Maybe();
      const int room = std::clamp(box.width - 46, 0, 40);
      grid.put(box.x, y++,
               fmt::format("{:>10} {:>9} {:>9} {} {} {}", size_text(s.bytes), in_unit(s.busbw, unit),
                           in_unit(s.ideal, unit), unit.name, bar(share.value_or(0), room, grid.letters()),
                           percent(share)),
               paint_of(level_of(share)), box.width);
    }
  }
  if (run.matrix) {
    if (y + 3 < end)
      draw_small_matrix(grid, {box.x, y, box.width, end - y}, *run.matrix, run.state != Run::State::running);
    else
      hidden += int(run.matrix->names.size());
  }
  return hidden_text(hidden);
}

}  // namespace ringtrue::tui
