#include "diagnosis/infer/leaf_sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/statistics.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t fewest_hops = 2;    // of a leaf, each way
constexpr std::size_t many_leaves = 32;   // what they do with one of them moves no median
constexpr std::size_t fewest_leaves = 2;  // others, that tell what is usual

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

// Medians of so many leaves.
struct Usual {
  std::size_t of = 0;
  double share = 0, sum = 0;  // of what is due, and bytes per second
};

// What leaves carry to or from each other leaf in one round, one way.
class Between {
 public:
  Between(const std::map<int, LeafSum>& leaves, const std::vector<int>& leaf) {
    for (const auto& [number, sum] : leaves) {
      for (const LeafSum::Hop& hop : sum.hops) {
        const int other = leaf[std::size_t(sum.up ? hop.destination : hop.source)];
        for (Sum* to : {&all_[number], &pairs_[{number, other}]}) to->carried += hop.rate, to->due += hop.due;
      }
    }
  }
  // Of all leaves but one, and but for what they do with that one.
  Usual usual(int without) const {
    std::vector<double> shares, sums;
    for (const auto& [leaf, all] : all_) {
      if (leaf == without) continue;
      const auto at = pairs_.find({leaf, without});
      const Sum less = at == pairs_.end() ? Sum{} : at->second;
      const double due = all.due - less.due;
      if (due <= 0) continue;
      const double share = (all.carried - less.carried) / due;
      shares.push_back(share), sums.push_back(share * all.due);
    }
    if (shares.empty()) return {};
    const std::size_t of = shares.size();
    return {of, lower_median(std::move(shares)), lower_median(std::move(sums))};
  }

 private:
  struct Sum {
    double carried = 0, due = 0;
  };
  std::map<int, Sum> all_;
  std::map<std::pair<int, int>, Sum> pairs_;
};

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
    const double due = inference.due(x, y) * inference.generation(x, y);
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
    std::erase_if(leaves, [](const auto& leaf) { return leaf.second.hops.size() < fewest_hops; });
    const Between between(leaves, structure.leaf);
    const bool many = leaves.size() >= many_leaves;
    Usual usual = many ? between.usual(-1) : Usual{};
    for (auto& [number, sum] : leaves) {
      if (!many) usual = between.usual(number);
      if (usual.of < fewest_leaves) continue;
      sum.usual_share = usual.share, sum.usual_sum = usual.sum;
      out.push_back(std::move(sum));
    }
  }
  return out;
}

}  // namespace ringtrue::diagnosis
