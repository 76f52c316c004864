// What the screens are made of. For draw.cc, act.cc and screen_*.cc.
#pragma once

#include <string>
#include <vector>

#include "tui/frame/draw.h"

namespace ringtrue::tui {

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
  Box below(int rows) const { return {x, y + rows, width, height - rows > 0 ? height - rows : 0}; }
  Box right_of(int columns) const {
    return {x + columns, y, width - columns > 0 ? width - columns : 0, height};
  }
  Box left(int columns) const { return {x, y, columns < width ? columns : width, height}; }
  Box top(int rows) const { return {x, y, width, rows < height ? rows : height}; }
};

// The row of a table that is chosen: the spot's key, else its number. -1: there are none.
int chosen(const Table& table, const Spot& spot);
// The first of `count` that is shown where `at` is to be seen.
int first_shown(int at, int count, int height);

void draw_table(Grid& grid, const Box& box, const Table& table, int chosen);
// A paragraph, each line indented by `indent` more than the first; the rows that it took.
int draw_text(Grid& grid, const Box& box, const std::string& text, Paint paint = Paint::plain,
              int indent = 0);
// Of lines that are as they are, from the first that is shown.
void draw_lines(Grid& grid, const Box& box, const std::vector<Line>& lines, int first);
// "rows 1-20 of 1024" on the message row, where not all are seen.
std::string seen(int first, int height, int count, const char* what);

// Whether and how the matrix is shown by groups; the names and numbers in the order that is shown.
struct Cells {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<Maybe>> shares;  // the worst of a group
  std::vector<int> row_ids, column_ids;    // of nodes, or groups
  bool grouped = false;
};
Cells cells_of(const Snapshot& snapshot, const View& view);

std::vector<Line> finding_lines(const Snapshot& snapshot, const FindingRow& finding, const Letters& letters,
                                int width);
std::vector<Line> node_lines(const Snapshot& snapshot, const NodeRow& node, const Letters& letters,
                             int width);
std::vector<Line> help_lines(const KeyMap& keys, Screen screen);

// Each returns what the message row says of what is seen.
std::string draw_fleet(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_findings(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_matrix(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_topology(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_history(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_counters(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);
std::string draw_run(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view);

}  // namespace ringtrue::tui
