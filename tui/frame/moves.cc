#include "tui/frame/moves.h"

#include <algorithm>
#include <iterator>

#include "tui/frame/keys.h"
#include "tui/frame/parts.h"

namespace ringtrue::tui {
namespace {

bool is_table(Screen screen) {
  return screen == Screen::fleet || screen == Screen::findings || screen == Screen::counters ||
         screen == Screen::history;
}

// Rows of the list that the cursor is in.
int rows_of(const View& view, const Snapshot& snapshot) {
  switch (view.screen) {
    case Screen::matrix:
      return int(cells_of(snapshot, view).rows.size());
    case Screen::topology:
      return snapshot.topology
                 ? int(snapshot.topology->nodes.size()) + (snapshot.topology->fabric.empty() ? 0 : 1)
                 : 0;
    case Screen::run:
      return 0;
    default:
      return int(shown_rows(snapshot, view).rows.size());
  }
}

}  // namespace

void say(View& view, std::string text, bool complaint) {
  view.message = std::move(text);
  view.complaint = complaint;
}

int columns_on(const View& view, const Snapshot& snapshot) {
  if (view.screen == Screen::matrix) return int(cells_of(snapshot, view).columns.size());
  if (view.screen == Screen::history) return snapshot.history ? int(snapshot.history->series.size()) : 0;
  return 0;
}

bool reads(const View& view) {
  return view.here().open && view.screen != Screen::matrix && view.screen != Screen::history;
}

void move_to(View& view, const Snapshot& snapshot, int row) {
  Spot& spot = view.here();
  if (view.help) {
    spot.row = std::clamp(row, 0, int(std::size(keys_of<Action>)));
    return;
  }
  const int count = rows_of(view, snapshot);
  spot.row = std::clamp(row, 0, std::max(count - 1, 0));
  if (!is_table(view.screen)) return;
  const Table table = shown_rows(snapshot, view);
  spot.key = table.rows.empty() ? "" : table.rows[std::size_t(spot.row)].key;
}

int row_now(const View& view, const Snapshot& snapshot) {
  if (view.help || !is_table(view.screen)) return view.here().row;
  return std::max(chosen(shown_rows(snapshot, view), view.here()), 0);
}

void move_by(View& view, const Snapshot& snapshot, int rows) {
  if (reads(view) && !view.help) {
    view.here().column = std::clamp(view.here().column + rows, 0, 10'000);
    return;
  }
  move_to(view, snapshot, row_now(view, snapshot) + rows);
}

void next_fault(View& view, const Snapshot& snapshot, int step) {
  if (view.screen == Screen::matrix) {
    const Cells cells = cells_of(snapshot, view);
    const int rows = int(cells.rows.size()), columns = int(cells.columns.size());
    if (rows == 0 || columns == 0) return;
    Spot& spot = view.here();
    const int count = rows * columns;
    int at = std::clamp(spot.row, 0, rows - 1) * columns + std::clamp(spot.column, 0, columns - 1);
    for (int i = 0; i < count; ++i) {
      at = (at + step + count) % count;
      const Maybe& share = cells.shares[std::size_t(at / columns)][std::size_t(at % columns)];
      if (share && *share < snapshot.matrix->warning) {
        spot.row = at / columns;
        spot.column = at % columns;
        return;
      }
    }
    say(view, "no cell is below what is expected");
    return;
  }
  if (!is_table(view.screen)) return;
  const Table table = shown_rows(snapshot, view);
  const int count = int(table.rows.size());
  int at = chosen(table, view.here());
  for (int i = 0; i < count; ++i) {
    at = (at + step + count) % count;
    if (table.rows[std::size_t(at)].level >= Level::silent) return move_to(view, snapshot, at);
  }
  say(view, "no faults here");
}

}  // namespace ringtrue::tui
