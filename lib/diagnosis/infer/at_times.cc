#include "diagnosis/infer/at_times.h"

#include <algorithm>
#include <iterator>

namespace ringtrue::diagnosis {

double tail_of(const std::vector<double>& chances, int low) {
  if (low <= 0) return 1;
  if (low > int(chances.size())) return 0;
  // The chance of each number of low readings below `low`, reading by reading.
  std::vector<double> exactly(std::size_t(low), 0);
  exactly[0] = 1;
  double reached = 0;
  for (const double p : chances) {
    reached += exactly.back() * p;
    for (std::size_t k = exactly.size(); k-- > 1;) exactly[k] = exactly[k] * (1 - p) + exactly[k - 1] * p;
    exactly[0] *= 1 - p;
  }
  return reached;
}

Course course_of(const std::set<int>& runs, const std::set<int>& low) {
  constexpr std::size_t several = 3;
  if (low.size() < several || runs.size() < low.size() + several) {
    // One good reading at the end, or at the beginning, says less.
    const bool ended =
        !low.empty() && low.size() >= several && *low.rbegin() < *runs.rbegin() &&
        std::distance(runs.begin(), runs.find(*low.rbegin())) + 1 == std::ptrdiff_t(low.size());
    return ended ? Course::ended : Course::at_times;
  }
  std::set<int> good;
  std::set_difference(runs.begin(), runs.end(), low.begin(), low.end(), std::inserter(good, good.end()));
  return *good.rbegin() < *low.begin()   ? Course::began
         : *low.rbegin() < *good.begin() ? Course::ended
                                         : Course::at_times;
}

}  // namespace ringtrue::diagnosis
