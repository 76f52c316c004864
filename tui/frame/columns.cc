#include "tui/frame/columns.h"

#include <algorithm>
#include <utility>

namespace ringtrue::tui {

std::vector<Place> places_of(const std::vector<Column>& columns, const std::vector<int>& wanted, int width) {
  const std::size_t n = columns.size();
  const int column_gap = gap_of(width);
  std::vector<int> want(n), take(n);
  std::vector<bool> there(n, true);
  for (std::size_t i = 0; i < n; ++i) {
    want[i] = std::clamp(wanted[i], 1, std::max(columns[i].most, 1));
    take[i] = std::min(want[i], std::max(columns[i].least, 1));
  }
  const auto needed = [&] {
    int sum = -column_gap;
    for (std::size_t i = 0; i < n; ++i)
      if (there[i]) sum += take[i] + column_gap;
    return sum;
  };
  while (needed() > width) {
    std::size_t first = n;
    for (std::size_t i = 0; i < n; ++i)
      if (there[i] && (first == n || columns[i].rank >= columns[first].rank)) first = i;
    if (first == n || std::count(there.begin(), there.end(), true) == 1) break;
    there[first] = false;
  }
  int left = std::max(width - needed(), 0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i)
    if (there[i]) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return columns[a].rank < columns[b].rank; });
  for (const std::size_t i : order) {
    const int more = std::min(want[i] - take[i], left);
    take[i] += more;
    left -= more;
  }
  std::vector<Place> places(n);
  int x = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!there[i]) continue;
    if (columns[i].rest) take[i] += std::exchange(left, 0);
    places[i] = {x, std::max(std::min(take[i], width - x), 0)};
    x += take[i] + column_gap;
  }
  return places;
}

}  // namespace ringtrue::tui
