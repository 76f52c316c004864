#include "base/suggest.h"

#include <algorithm>

namespace ringtrue {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = int(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = int(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > 64) return std::nullopt;
  std::optional<std::string> best;
  int limit = std::max(1, int(word.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    // What was typed may be the beginning of what was meant.
    int distance = edit_distance(word, candidate);
    if (word.size() >= 3 && candidate.starts_with(word)) distance = std::min(distance, 1);
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace ringtrue
