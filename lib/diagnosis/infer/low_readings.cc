#include "diagnosis/infer/low_readings.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "diagnosis/infer/generations.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

using namespace at_times;

// Readings of one pair are not independent where it may share links with others, the same ones each time: so
// many count, and more until one is low.
constexpr int times_a_pair_far = 1, times_a_pair_near = 4;
constexpr double far_more = 10;  // times clearer, where the last readings with a partner count
// Of what was guessed to be one leaf, where more read low: it may be a pod, whose nodes share links.
constexpr double often_low_inside = 0.05;
constexpr int far_from = 2;  // of LowReadings::kinds
// Of few nodes there is hardly anybody to compare with: how often healthy sides read below each of the depths
// is taken to be this, until that many readings say otherwise.
constexpr std::array<double, depths.size()> low_of_few = {0.4, 0.25, 0.1, 0.02, 0.01};
constexpr double few_weight = 8;

// Acknowledgements that queue behind the data of a slow port take this much, and no more.
bool may_queue(double share) {
  return share > 0.6 && share < depths.front();
}

// That all low readings came before all others: those that came since, of which a check takes more because
// of them, say nothing against it. Of as many beginnings as there are.
double tail_of_what_ended(const LowReadings::Outcomes& outcomes) {
  if (outcomes.low.empty()) return 1;
  const auto first_good = std::ranges::find(outcomes.low, false);
  if (std::find(first_good, outcomes.low.end(), true) != outcomes.low.end()) return 1;
  double chance = double(outcomes.low.size());
  for (std::ptrdiff_t i = 0; i < first_good - outcomes.low.begin(); ++i)
    chance *= outcomes.chances[std::size_t(i)];
  return chance;
}

// What is counted by partner. A side has few of them: a list is faster than a tree.
template <class Count>
class ByPartner {
 public:
  Count& operator[](int partner) {
    const auto at = std::ranges::find(list_, partner, &std::pair<int, Count>::first);
    return at != list_.end() ? at->second : list_.emplace_back(partner, Count{}).second;
  }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }

 private:
  std::vector<std::pair<int, Count>> list_;
};

}  // namespace

double LowReadings::Base::chance(int kind, std::size_t depth) const {
  return of_few_ ? chance(kind, depth, low_of_few[depth], few_weight) : as_seen(kind, depth);
}

double LowReadings::Base::as_seen(int kind, std::size_t depth) const {
  return chance(kind, depth, 0.5, 1);
}

double LowReadings::Base::chance(int kind, std::size_t depth, double before, double weight) const {
  return (low_[std::size_t(kind)][depth] + weight * before) / (all_[std::size_t(kind)] + weight);
}

bool LowReadings::Base::is_often_low(int kind, std::size_t depth, double share) const {
  return low_[std::size_t(kind)][depth] > share * all_[std::size_t(kind)];
}

void LowReadings::Base::count(const LowReadings& sides, const Item& item, std::size_t end, int sign) {
  if (!item.tells(end)) return;
  const auto k = std::size_t(item.kind);
  all_[k] += sign;
  for (std::size_t d = 0; d < depths.size(); ++d) low_[k][d] += sign * sides.low(item, end, d);
}

LowReadings::LowReadings(const Readings& readings, const Inference& inference, const Structure& structure)
    : n_(readings.nodes()),
      inference_(inference),
      guessed_(structure.guessed),
      leaf_(structure.leaf),
      apart_(structure.all_alike),
      clear_(n_ <= all_pairs_up_to || apart_ || !leaf_.empty()),
      may_share_(guessed_ || (clear_ && leaf_.empty() && !apart_)),
      of_(std::size_t(2 * n_)) {
  const bool ports_tell = knows_all(structure.port_rates);
  readings.each_pair([&](int x, int y) {
    const bool crosses = structure.crosses(x, y);  // a trunk may be what is slow
    // Both of its sides are slow alike, and no port says that it is meant to be.
    const bool slow_alike = !ports_tell && inference.generation(x, y) < 1;
    const double sends = inference.sends[std::size_t(x)].value_or(0),
                 receives = inference.receives[std::size_t(y)].value_or(0);
    // Held against what both ends have shown: a port that is slower for good is not slow at times.
    const double due = inference.due(x, y);
    for (const Reading& r : readings.of(x, y)) {
      if (r.momentary) continue;
      Item item;
      item.reading = &r;
      item.share[0] = r.carried_by(Direction::sends) / due;
      item.share[1] = r.carried_by(Direction::receives) / due;
      // A program that holds back what it receives is the receiver's.
      const bool tells = !crosses && !r.waits_for_others();
      item.counts[0] = tells && receives > 0 && !r.held_back && !r.is_beside(r.others_received) &&
                       fine(Direction::receives, y);
      item.counts[1] = tells && sends > 0 && !r.is_beside(r.others_sent) && fine(Direction::sends, x);
      if (slow_alike && may_queue(std::min(item.share[0], item.share[1]))) continue;
      item.kind = kind_of(r, structure);
      items_.push_back(item);
      if (crosses) continue;
      of_[side(x, Direction::sends)].push_back(items_.size() - 1);
      of_[side(y, Direction::receives)].push_back(items_.size() - 1);
    }
  });
}

bool LowReadings::fine(Direction d, int node) const {
  const ScopeType type = d == Direction::sends ? ScopeType::sender : ScopeType::receiver;
  return !inference_.find(type, node) && !inference_.find(ScopeType::node, node);
}

int LowReadings::kind_of(const Reading& r, const Structure& structure) const {
  const bool far = structure.leaf.empty() && !apart_ && !is_near(r.source, r.destination);
  return (far && n_ > all_pairs_up_to ? far_from : 0) + (r.company > few_hops(n_) ? 1 : 0);
}

bool LowReadings::low(const Item& item, std::size_t end, std::size_t depth) const {
  return item.share[end] < depths[depth] && item.share[end] < inference_.thresholds.warning;
}

void LowReadings::count_all() {
  for (auto& base : base_) base = Base(n_ <= few_nodes);
  for (const Item& item : items_)
    for (const std::size_t end : {0, 1}) base_[end].count(*this, item, end, 1);
}

LowReadings::Base LowReadings::base_without(std::size_t s) const {
  const std::size_t end = s % 2;
  Base base = base_[end];
  // Of two nodes the other direction is all that there is to compare with, in experiments in which this one
  // read well: where one thing slows both, they are low together.
  std::set<int> low_runs;
  if (n_ == 2)
    for (const std::size_t i : of_[s])
      if (low(items_[i], end, 0)) low_runs.insert(items_[i].reading->run);
  for (const std::size_t own : {s - end, s - end + 1})
    for (const std::size_t i : of_[own])
      if (n_ > 2 || own == s || low_runs.count(items_[i].reading->run)) base.count(*this, items_[i], end, -1);
  return base;
}

bool LowReadings::is_one_path(std::size_t s, std::size_t depth) const {
  constexpr int several = 2;
  constexpr double times_likelier = 30;
  struct Count {
    int low = 0, all = 0;
    double usual = 0;  // log of how likely they are of a side like all others
  };
  const std::size_t end = s % 2;
  const Base base = base_without(s);
  ByPartner<Count> by_partner;
  Count sum;
  for (const std::size_t i : of_[s]) {
    const Item& item = items_[i];
    if (!item.tells(end)) continue;
    const bool is_low = low(item, end, depth);
    const double chance = base.as_seen(item.kind, depth), log = std::log(is_low ? chance : 1 - chance);
    for (Count* count : {&by_partner[item.partner(end)], &sum})
      count->low += is_low, ++count->all, count->usual += log;
  }
  const auto times_log = [](int k, int n) { return k == 0 ? 0 : k * std::log(double(k) / n); };
  const double of_a_side = times_log(sum.low, sum.all) + times_log(sum.all - sum.low, sum.all);
  return std::ranges::any_of(by_partner, [&](const auto& partner) {
    const Count& count = partner.second;
    return count.low == count.all && count.all >= several &&
           sum.usual - count.usual > of_a_side - std::log(times_likelier);
  });
}

LowReadings::Tail LowReadings::tail_of_side(std::size_t s) const {
  const std::size_t end = s % 2;
  const Base base = base_without(s);
  std::vector<const Item*> items;
  for (const std::size_t i : of_[s])
    if (items_[i].tells(end)) items.push_back(&items_[i]);
  std::ranges::stable_sort(items, {}, [](const Item* item) { return item->reading->run; });
  // Of too many readings with one partner the first count; or the last, where they show it far more
  // clearly.
  const bool look_back = clear_ && n_ > 2;
  std::vector<const Item*> backwards;
  if (look_back) backwards.assign(items.rbegin(), items.rend());
  Tail out;
  for (std::size_t d = 0; d < depths.size(); ++d) {
    const auto is_low = [&](const Item* item) { return low(*item, end, d); };
    if (std::ranges::none_of(items, is_low)) {  // nor at any depth beyond
      if (out.chance == 1) out.depth = depths.size() - 1;
      break;
    }
    const Outcomes first = independent(items, end, d, base);
    double chance = first.tail();
    if (clear_) chance = std::min(chance, tail_of_what_ended(first));
    if (look_back) {
      const Outcomes last = independent(backwards, end, d, base);
      chance = std::min(chance, far_more * last.tail());
      const Outcomes more = independent(items, end, d, base, true);
      chance = std::min(chance, far_more * more.tail());
    }
    if (chance <= out.chance) out = {chance, d};  // where several say as much, the deepest
  }
  return out;
}

LowReadings::Outcomes LowReadings::outcomes_of(const Numbers& list, std::size_t end, std::size_t depth,
                                               const Base& base) const {
  Outcomes out;
  for (const std::size_t i : list) {
    if (!items_[i].tells(end)) continue;
    out.chances.push_back(base.chance(items_[i].kind, depth));
    out.low.push_back(low(items_[i], end, depth));
  }
  return out;
}

// `all`: more of a pair as well, until one of them is low.
LowReadings::Outcomes LowReadings::independent(const std::vector<const Item*>& items, std::size_t end,
                                               std::size_t depth, const Base& base, bool all) const {
  Outcomes out;
  int last_run = -1;
  struct Count {
    int all = 0;
    bool low = false;
  };
  ByPartner<Count> by_partner;
  for (const Item* item : items) {
    const bool may_share =
        item->kind >= far_from || (guessed_ && base.is_often_low(item->kind, depth, often_low_inside));
    const int times_a_pair = n_ == 2 ? most_runs : may_share ? times_a_pair_far : times_a_pair_near;
    Count& count = by_partner[item->partner(end)];
    if (item->reading->run == last_run || (count.all >= times_a_pair && (!all || count.low))) continue;
    last_run = item->reading->run;
    out.chances.push_back(base.chance(item->kind, depth));
    out.low.push_back(low(*item, end, depth));
    ++count.all, count.low |= out.low.back();
  }
  return out;
}

bool LowReadings::low_lately(std::size_t s, std::size_t depth) const {
  const Item* last = nullptr;
  for (const std::size_t i : of_[s])
    if (items_[i].counts[s % 2] && (!last || items_[i].reading->run > last->reading->run)) last = &items_[i];
  return last && low(*last, s % 2, depth);
}

bool LowReadings::alone_is_low(int run, int node) const {
  const auto may_share = [&](int other) {
    return !guessed_ || leaf_[std::size_t(other)] == leaf_[std::size_t(node)];
  };
  const auto is_low = [&](const Item& item, std::size_t end) { return item.tells(end) && low(item, end, 0); };
  return std::ranges::none_of(items_, [&](const Item& item) {
    const Reading& r = *item.reading;
    return r.run == run && r.source != node && r.destination != node &&
           (may_share(r.source) || may_share(r.destination)) && (is_low(item, 0) || is_low(item, 1));
  });
}

void LowReadings::explain(std::size_t s, std::size_t depth) {
  for (const std::size_t i : of_[s])
    if (low(items_[i], s % 2, depth)) items_[i].explained = true;
}

}  // namespace ringtrue::diagnosis
