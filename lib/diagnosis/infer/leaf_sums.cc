#include "diagnosis/infer/leaf_sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/statistics.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t fewest_hops = 2;    // of a leaf, each way
constexpr std::size_t fewest_leaves = 4;  // that tell what is usual

// Of all hops but a node's.
template <class Value>
double total(const LeafSum& sum, int without, const Value& value) {
  double out = 0;
  for (const LeafSum::Hop& hop : sum.hops)
    if (hop.source != without && hop.destination != without) out += value(hop);
  return out;
}

double due_of(const LeafSum& sum, int without = -1) {
  return total(sum, without, [](const LeafSum::Hop& hop) { return hop.due; });
}

}  // namespace

double LeafSum::carried(int without) const {
  return total(*this, without, [](const Hop& hop) { return hop.rate + hop.others; });
}

double LeafSum::share(int without) const {
  const double all_due = due_of(*this), due = due_of(*this, without), sum = carried(without);
  if (due <= 0) return 1;
  return std::max(sum / due / usual_share, sum / (due / all_due) / usual_sum);
}

std::vector<LeafSum> leaf_sums(const Readings& across, const Inference& inference, const Structure& structure,
                               const std::set<int>& except) {
  std::map<std::pair<int, bool>, std::map<int, LeafSum>> rounds;  // by run and way, by leaf
  across.each_pair([&](int x, int y) {
    const int from = structure.leaf[std::size_t(x)], to = structure.leaf[std::size_t(y)];
    if (from < 0 || to < 0 || from == to || except.contains(from) || except.contains(to)) return;
    const double due = inference.due(x, y) * std::min(inference.generation(x), inference.generation(y));
    if (due <= 0) return;
    for (const Reading& r : across.of(x, y)) {
      if (r.momentary || r.held_back) continue;
      for (const bool up : {true, false}) {
        LeafSum& sum = rounds[{r.run, up}][up ? from : to];
        sum.leaf = up ? from : to, sum.up = up, sum.run = r.run;
        sum.hops.push_back({x, y, r.rate, up ? r.others_sent : r.others_received, due});
      }
    }
  });
  std::vector<LeafSum> out;
  for (auto& [at, leaves] : rounds) {
    std::vector<double> shares, sums;
    std::erase_if(leaves, [](const auto& leaf) { return leaf.second.hops.size() < fewest_hops; });
    if (leaves.size() < fewest_leaves) continue;
    for (const auto& [number, sum] : leaves) {
      const double own = total(sum, -1, [](const LeafSum::Hop& hop) { return hop.rate; });
      shares.push_back(own / due_of(sum)), sums.push_back(own);
    }
    const double usual_share = lower_median(shares), usual_sum = lower_median(sums);
    for (auto& [number, sum] : leaves) {
      sum.usual_share = usual_share, sum.usual_sum = usual_sum;
      out.push_back(std::move(sum));
    }
  }
  return out;
}

}  // namespace ringtrue::diagnosis
