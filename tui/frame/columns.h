// Which columns of a table fit, and how wide each is.
#pragma once

#include <string>
#include <vector>

#include "tui/frame/grid.h"

namespace ringtrue::tui {

struct Column {
  std::string title;
  bool right = false;  // aligned
  int rank = 0;        // the highest goes first where there is no room; 0: never
  int least = 4;       // columns that it is of use with
  int most = 40;       // columns that it may take
  bool rest = false;   // takes what is left
};

struct Place {
  int x = 0, width = 0;  // 0: not shown
};

// Between columns: one where it is narrow.
constexpr int gap_of(int width) {
  return width < 100 ? 1 : 2;
}

// `wanted`: by column, the widest content. Places never overlap and lie within `width`.
std::vector<Place> places_of(const std::vector<Column>& columns, const std::vector<int>& wanted, int width);

}  // namespace ringtrue::tui
