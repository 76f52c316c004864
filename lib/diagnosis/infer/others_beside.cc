#include "diagnosis/infer/others_beside.h"

#include <algorithm>

namespace ringtrue::diagnosis {
namespace {

// Of a hop with a busy node: whether its other end shows what it can do. The busy one's port was not full.
bool tells(const Reading& r, Direction end, double reference) {
  constexpr double full = 0.85;
  const Direction busy_end = end == Direction::sends ? Direction::receives : Direction::sends;
  return r.counts_for(end) ||
         (!r.held_back && !r.shared && !r.momentary && r.carried_by(busy_end) < full * reference);
}

}  // namespace

std::vector<OthersBeside> others_beside(Direction direction, const Readings& readings,
                                        const std::vector<OthersTraffic>& lasting, double reference,
                                        const Structure& structure) {
  const bool sends = direction == Direction::sends;
  std::vector<OthersBeside> out(lasting.size());
  if (structure.all_alike) return out;
  for (std::size_t busy = 0; busy < lasting.size(); ++busy) {
    const double rate = sends ? lasting[busy].sends : lasting[busy].receives;
    if (!(rate > 0)) continue;
    for (std::size_t node = 0; node < lasting.size(); ++node) {
      if (node == busy || rate <= out[node].rate || structure.crosses(int(node), int(busy))) continue;
      const int from = int(sends ? node : busy), to = int(sends ? busy : node);
      const bool met = !readings.held_by_partner(direction, from, to) &&
                       std::ranges::any_of(readings.of(from, to),
                                           [&](const Reading& r) { return tells(r, direction, reference); });
      if (!met) out[node] = {int(busy), rate};
    }
  }
  return out;
}

}  // namespace ringtrue::diagnosis
