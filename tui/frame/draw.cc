#include "tui/frame/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "tui/frame/filter.h"
#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  return text;
}

// "ringtrue  demo  32 nodes: 31 answer, 1 silent          FAULTY 3 m ago"
void draw_title(Grid& grid, const Snapshot& snapshot, const View& view) {
  const int width = grid.size().width;
  std::string verdict = snapshot.verdict.empty() ? "" : upper(snapshot.verdict);
  if (!verdict.empty() && snapshot.checked && !snapshot.as_of)
    verdict += fmt::format(" {} ago", age(snapshot.now - *snapshot.checked));
  if (snapshot.as_of) verdict += fmt::format(" as of {}", moment(*snapshot.as_of, snapshot.utc_offset));
  if (view.frozen) verdict = "FROZEN " + verdict;
  const int right = std::min(int(columns_of(verdict)), width / 2);
  grid.put_right(width - right, 0, right, verdict, view.frozen ? Paint::accent : paint_of(snapshot.level));
  const auto silent = std::count_if(snapshot.nodes.begin(), snapshot.nodes.end(),
                                    [](const NodeRow& n) { return !n.answers; });
  const auto count = std::ptrdiff_t(snapshot.nodes.size());
  int x = grid.put(0, 0, "ringtrue", Paint::title, width - right - 1);
  const auto say = [&](const std::string& text, Paint paint) {
    if (const int room = width - right - 1 - x - 2; room > 0 && !text.empty())
      x += 2 + grid.put(x + 2, 0, text, paint, room);
  };
  say(fitted(shown(snapshot.source, grid.letters()), std::max(width / 4, 8), grid.letters()), Paint::bold);
  if (snapshot.production) say("[PRODUCTION]", Paint::bad);
  say(silent > 0 ? fmt::format("{}: {} answer, {} silent", plural(count, "node"), count - silent, silent)
                 : plural(count, "node"),
      silent > 0 ? Paint::unknown : Paint::plain);
}

void draw_keys(Grid& grid, const View& view, const KeyMap& keys) {
  const int y = grid.size().height - 1, width = grid.size().width;
  struct Item {
    std::string text;
    bool here;
    bool screen;
  };
  std::vector<Item> items;
  const auto key = [&](Action action) {
    const std::string all = keys.keys_for(action);
    return all.substr(0, all.find(' '));
  };
  for (int s = 0; s < screens; ++s)
    items.push_back({fmt::format("{} {}", key(Action(s)), key_of(Screen(s))), s == int(view.screen), true});
  items.push_back({fmt::format("{} filter", key(Action::filter)), false, false});
  items.push_back({fmt::format("{} help", key(Action::help)), false, false});
  items.push_back({fmt::format("{} quit", key(Action::quit)), false, false});
  // Narrower: without the words, then as far as it goes.
  const auto length = [&] {
    std::size_t sum = 0;
    for (const Item& item : items) sum += columns_of(item.text) + 1;
    return int(sum) - 1;
  };
  for (auto item = items.rbegin(); item != items.rend() && length() > width; ++item)
    item->text = item->text.substr(0, item->text.find(' '));
  int x = 0;
  for (const Item& item : items) {
    const int taken = grid.put(x, y, item.text,
                               item.here     ? Paint::bold
                               : item.screen ? Paint::plain
                                             : Paint::dim,
                               width - x);
    if (item.here) grid.reverse(x, y, taken);
    x += taken + 1;
    if (x >= width) break;
  }
}

struct Said {
  std::string text;
  Paint paint = Paint::plain;
};

Said message_of(const Snapshot& snapshot, const View& view) {
  switch (view.mode) {
    case Mode::filter: {
      const auto filter = Filter::parse(view.input, all_rows(snapshot, view));
      const std::string typed = "/" + view.input + "_";
      if (filter || view.input.empty()) return {typed, Paint::accent};
      const Error& e = filter.error();
      return {fmt::format("{}  {}{}", typed, e.what, e.next.empty() ? "" : "; " + e.next), Paint::warning};
    }
    case Mode::ask_start:
      return {fmt::format("y starts {}: {}; any other key does not", view.price.what, view.price.cost),
              Paint::accent};
    case Mode::plan:
      if (view.message.empty())
        return {"Enter asks what it costs, Esc leaves; nothing is started yet", Paint::accent};
      return {view.message, Paint::warning};
    case Mode::ask_export:
      return {"export what is shown as t text, c CSV or j JSON? any other key: not at all", Paint::accent};
    case Mode::browse:
      break;
  }
  if (!view.command.empty()) return {view.command, Paint::accent};
  if (!view.message.empty()) return {view.message, view.complaint ? Paint::warning : Paint::plain};
  std::string text;
  if (!view.here().filter.empty()) text = "filter: " + view.here().filter;
  if (view.faults_only) text += text.empty() ? "faults only" : ", faults only";
  if (!text.empty()) return {text, Paint::accent};
  return {snapshot.message, Paint::dim};
}

std::string draw_screen(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  switch (view.screen) {
    case Screen::fleet:
      return draw_fleet(grid, box, snapshot, view);
    case Screen::findings:
      return draw_findings(grid, box, snapshot, view);
    case Screen::matrix:
      return draw_matrix(grid, box, snapshot, view);
    case Screen::topology:
      return draw_topology(grid, box, snapshot, view);
    case Screen::history:
      return draw_history(grid, box, snapshot, view);
    case Screen::counters:
      return draw_counters(grid, box, snapshot, view);
    case Screen::run:
      return draw_run(grid, box, snapshot, view);
  }
  return {};
}

}  // namespace

std::optional<std::string> too_small(Size size) {
  if (size.width >= least_size.width && size.height >= least_size.height) return std::nullopt;
  return fmt::format("{}x{} is too small: {}x{} at least", size.width, size.height, least_size.width,
                     least_size.height);
}

Grid draw(const Snapshot& snapshot, const View& view, const KeyMap& keys, Size size) {
  Grid grid(size, view.letters);
  if (const auto notice = too_small(size)) {
    draw_text(grid, {0, 0, size.width, size.height}, *notice, Paint::warning);
    return grid;
  }
  draw_title(grid, snapshot, view);
  const Box body{0, 1, size.width, size.height - 3};
  std::string seen_of;
  if (view.help) {
    const auto lines = help_lines(keys, view.screen);
    const int first = std::clamp(view.here().row, 0, std::max(int(lines.size()) - body.height, 0));
    draw_lines(grid, body, lines, first);
    seen_of = seen(first, body.height, int(lines.size()), "lines");
  } else {
    seen_of = draw_screen(grid, body, snapshot, view);
  }
  const int y = size.height - 2;
  if (view.mode != Mode::browse) seen_of.clear();  // what is asked for needs the room
  const int right = std::min(int(columns_of(seen_of)), size.width / 2);
  grid.put_right(size.width - right, y, right, seen_of, Paint::dim);
  const Said said = message_of(snapshot, view);
  grid.put(0, y, said.text, said.paint, size.width - right - (right > 0 ? 1 : 0));
  draw_keys(grid, view, keys);
  return grid;
}

}  // namespace ringtrue::tui
