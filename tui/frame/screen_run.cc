// What goes on: the check's phases, suspects, budget and matrix; a run's sizes against their ideals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void draw_small_matrix(Grid& grid, const Box& box, const Matrix& m) {
  if (box.width < 4 || box.height < 2 || m.names.empty()) return;
  grid.put(box.x, box.y, "read so far, rows send to columns", Paint::title, box.width);
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

}  // namespace

std::string draw_run(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Run& run = snapshot.run;
  int y = box.y;
  const int end = box.y + box.height;
  const auto say = [&](const std::string& text, Paint paint = Paint::plain) {
    if (y < end) y += draw_text(grid, {box.x, y, box.width, end - y}, text, paint, 2);
  };
  if (run.state == Run::State::none) {
    say("Nothing runs.");
    if (!snapshot.offer.what.empty()) say(fmt::format("{}: {}", snapshot.offer.what, snapshot.offer.cost));
    if (!snapshot.offer.allowed || view.read_only)
      say(fmt::format("Nothing can be started here: {}",
                      view.read_only ? "read-only" : snapshot.offer.why_not),
          Paint::dim);
    else
      say("A check is started by its key (c), which asks first.", Paint::accent);
    return {};
  }
  say(fmt::format("{}: {}", run.what, state_text(run)),
      run.state == Run::State::running ? Paint::accent : Paint::bold);
  if (!run.error.empty()) say(run.error, Paint::bad);
  if (!run.verdict.empty()) say(fmt::format("verdict: {}", run.verdict), paint_of(run.level));
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
  say(fmt::format("{} runs, {} sent", run.runs, size_text(run.bytes)));
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
  if (!run.sizes.empty() && y + 1 < end) {
    grid.put(box.x, y++, "      size     busbw     ideal", Paint::title, box.width);
    for (const SizeRow& s : run.sizes) {
      if (y >= end) break;
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
  if (run.matrix && y + 3 < end) draw_small_matrix(grid, {box.x, y, box.width, end - y}, *run.matrix);
  return {};
}

}  // namespace ringtrue::tui
