#include "diagnosis/infer/others_beside.h"

#include <algorithm>
#include <map>

namespace ringtrue::diagnosis {
namespace {

constexpr int fewest_meetings = 2;  // one may be low by chance
constexpr double full = 0.85;       // of what a port does
constexpr double alike = 1.2;       // what one sends and another receives, seen at different times

double part_of(const OthersTraffic& traffic, Direction direction) {
  return direction == Direction::sends ? traffic.sends : traffic.receives;
}

constexpr Direction opposite(Direction d) {
  return d == Direction::sends ? Direction::receives : Direction::sends;
}

// Of a hop with a busy node: whether its other end was slow, and not because the busy one's port was full.
bool tells(const Reading& r, Direction end, double reference, double good) {
  const bool free = r.counts_for(end) || r.carried_by(opposite(end)) < full * reference;
  return free && !r.held_back && !r.shared && !r.momentary && r.carried_by(end) < good;
}

// Begins or ends at nodes that are not looked at, of which nobody knows where they are.
double foreign_share(const std::vector<OthersTraffic>& lasting, Direction direction) {
  double there = 0, here = 0, most = 0;
  for (const OthersTraffic& traffic : lasting) {
    const double other_end = part_of(traffic, opposite(direction));
    here += part_of(traffic, direction), there += other_end, most = std::max(most, other_end);
  }
  return std::clamp(there - alike * here, 0.0, most);
}

}  // namespace

std::vector<OthersBeside> others_beside(Direction direction, const Readings& readings,
                                        const std::vector<OthersTraffic>& lasting, double reference,
                                        double good, const Structure& structure) {
  std::vector<OthersBeside> out(lasting.size());
  if (structure.all_alike) return out;
  std::map<int, int> members;
  for (const int leaf : structure.leaf) ++members[leaf];
  // One that fits nowhere counts as below a leaf of its own.
  std::vector<char> fits(out.size(), 0);
  for (std::size_t node = 0; node < structure.leaf.size(); ++node)
    fits[node] = members[structure.leaf[node]] > 1;
  const double foreign = foreign_share(lasting, direction);
  for (std::size_t node = 0; node < out.size(); ++node)
    if (!fits[node]) out[node].rate = foreign;
  for (std::size_t busy = 0; busy < lasting.size(); ++busy) {
    const double rate = part_of(lasting[busy], direction);
    if (!(rate > 0)) continue;
    for (std::size_t node = 0; node < lasting.size(); ++node) {
      const bool apart = fits[node] && fits[busy] && structure.crosses(int(node), int(busy));
      if (node == busy || rate <= out[node].rate || apart) continue;
      const int from = int(direction == Direction::sends ? node : busy),
                to = int(direction == Direction::sends ? busy : node);
      const auto meetings = std::ranges::count_if(
          readings.of(from, to), [&](const Reading& r) { return tells(r, direction, reference, good); });
      if (meetings < fewest_meetings || readings.held_by_partner(direction, from, to))
        out[node] = {int(busy), rate};
    }
  }
  return out;
}

}  // namespace ringtrue::diagnosis
