#include "tui/frame/table.h"

#include <gtest/gtest.h>

#include "tests/support/tui_snapshots.h"
#include "tui/frame/columns.h"
#include "tui/frame/parts.h"

namespace ringtrue::tui {
namespace {

std::string cells(const Grid& grid, int y, int x, int width) {
  std::string out;
  for (int i = x; i < x + width; ++i) out += grid.at(i, y).text;
  return out;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// At every width each value is whole or ends with the mark of a cut, and blanks are between columns.
TEST(Table, NoTextRunsIntoAnotherColumnAndCutsAreMarked) {
  const Snapshot snapshot = fleet_of(40, Condition::hostile);
  int cut = 0;
  for (const Letters letters : {Letters{}, Letters{false, Ambiguous::narrow}, Letters{true, Ambiguous::wide}})
    for (const Screen screen : {Screen::fleet, Screen::findings, Screen::counters, Screen::history}) {
      View view;
      view.letters = letters;
      view.screen = screen;
      const Table table = shown_rows(snapshot, view);
      const int rows = int(table.rows.size());
      ASSERT_GT(rows, 0);
      const auto width_of = [&](const std::string& text) {
        return int(columns_of(shown(text, letters), letters.ambiguous));
      };
      std::vector<int> wanted;
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        wanted.push_back(width_of(table.columns[c].title));
        for (const Row& row : table.rows) wanted[c] = std::max(wanted[c], width_of(row.cells[c]));
      }
      for (int width = 20; width <= 250; ++width) {
        Grid grid({width, rows + 1}, letters);
        draw_table(grid, {0, 0, width, rows + 1}, table, -1);
        const auto places = places_of(table.columns, wanted, width);
        for (int y = 0; y <= rows; ++y) {
          int end = 0;
          for (std::size_t c = 0; c < places.size(); ++c) {
            const Place& p = places[c];
            if (p.width == 0) continue;
            ASSERT_EQ(trimmed(cells(grid, y, end, p.x - end)), "") << width << ": " << grid.row(y);
            end = p.x + p.width;
            const std::string whole = trimmed(
                shown(y == 0 ? table.columns[c].title : table.rows[std::size_t(y - 1)].cells[c], letters));
            const std::string seen = trimmed(cells(grid, y, p.x, p.width));
            if (seen == whole) continue;
            ++cut;
            // Names are cut in their middle.
            const bool marked = table.fields[c] == "node" && y > 0
                                    ? seen.find(letters.cut()) != std::string::npos
                                    : seen.ends_with(letters.cut());
            ASSERT_TRUE(marked) << width << ": '" << seen << "' of '" << whole << "'";
          }
          ASSERT_EQ(trimmed(cells(grid, y, end, width - end)), "") << grid.row(y);
        }
      }
    }
  EXPECT_GT(cut, 1000);
}

}  // namespace
}  // namespace ringtrue::tui
