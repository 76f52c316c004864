#include "diagnosis/infer/leaf_guess.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/splitmix64.h"

namespace ringtrue::diagnosis {
namespace {

// Kinds are parted by at least this, as a ratio of round trips, and by so many times what round trips within
// a kind lie apart.
constexpr double least_gap = 1.03, gap_over_steps = 5;
constexpr std::size_t fewest_near = 4;        // pairs of the nearest kind
constexpr double fewest_far = 0.1;            // of all pairs, of the others
constexpr double most_contradictions = 0.05;  // of the pairs within groups: far, though near a third one
constexpr double fewest_grouped = 0.5;        // of the nodes: near somebody
constexpr double gap_over_resolution = 1.5;
// How often a pair is measured to find where kinds part: more often where all of them lie within a ratio that
// scatter may hide kinds in; and, where it is known, before a pair counts as far.
constexpr int few_times = 4, most_times = 32, far_times = 8;
constexpr double small_scatter = 1.25;
constexpr std::size_t enough_pairs = 1 << 18;  // to find where kinds part: of more every second, or third
// Seconds that a way over a spine adds at least, there and back: two switches of 250 ns each more.
constexpr double least_detour = 1e-6;
// Of all pairs, and of a node's: longer than alike for their scatter.
constexpr double most_scattered = 0.02, most_scattered_of_a_node = 0.25;
constexpr int neighbours = 3;  // in the order given, which often is that of racks

// The least that two of them differ by: a kernel tells microseconds, others tell more.
double resolution_of(const std::vector<double>& rising) {
  double out = 1e-6;
  for (std::size_t i = 1; i < rising.size(); ++i)
    if (rising[i] > rising[i - 1]) out = std::min(out, rising[i] - rising[i - 1]);
  return out;
}

struct PairHash {
  std::size_t operator()(const std::pair<int, int>& pair) const {
    return std::size_t(
        splitmix64(std::uint64_t(std::uint32_t(pair.first)) << 32 | std::uint32_t(pair.second)));
  }
};
using PairSet = std::unordered_set<std::pair<int, int>, PairHash>;

int root_of(std::vector<int>& parent, int i) {
  while (parent[std::size_t(i)] != i)
    i = parent[std::size_t(i)] = parent[std::size_t(parent[std::size_t(i)])];
  return i;
}

}  // namespace

void LeafGuess::add(const Observation& observation) {
  NodePairs pairs;
  std::vector<std::pair<std::pair<int, int>, double>> trips;
  for (const HopReading& hop : observation.hops) {
    if (!hop.latency || !(hop.latency->value > 0) || hop.source == hop.destination) continue;
    trips.push_back({std::minmax(hop.source, hop.destination), hop.latency->value});
    pairs.push_back(trips.back().first);
  }
  seen_.add(std::move(pairs));
  std::sort(trips.begin(), trips.end());  // the less of both ways first
  for (std::size_t i = 0; i < trips.size(); ++i) {
    if (i > 0 && trips[i].first == trips[i - 1].first) continue;
    Seen& seen = *seen_.find(trips[i].first);
    seen.least = seen.times++ == 0 ? trips[i].second : std::min(seen.least, trips[i].second);
  }
  least_.reset();
}

const std::vector<double>& LeafGuess::least() const {
  if (least_) return *least_;
  std::vector<double>& out = least_.emplace();
  const std::size_t step = 1 + seen_.size() / enough_pairs;
  std::size_t at = 0;
  for (const auto& [pair, seen] : seen_)
    if (at++ % step == 0 && seen.times >= times_) out.push_back(seen.least);
  std::sort(out.begin(), out.end());
  return out;
}

// A nearest kind that is wider than what parts kinds may be two.
bool LeafGuess::kinds_stand_apart() const {
  const auto& all = least();
  if (all.empty()) return false;
  const auto part = near_below();
  const double last = part ? *(std::lower_bound(all.begin(), all.end(), *part) - 1) : all.back();
  return last < least_gap * all.front() || last - all.front() < gap_over_resolution * resolution_of(all);
}

// Round trips of a few pairs scatter upwards; those of a node that hangs elsewhere are longer to most others.
bool LeafGuess::all_alike() const {
  const auto& all = least();
  if (all.size() < 4 * fewest_near) return false;
  const double most = std::min(least_gap * all.front(), all.front() + least_detour);
  const auto scatters = [](std::ptrdiff_t longer, std::size_t of, double share) {
    return double(longer) <= share * double(of);
  };
  if (!scatters(all.end() - std::ranges::lower_bound(all, most), all.size(), most_scattered)) return false;
  std::vector<std::size_t> pairs(std::size_t(nodes_), 0);
  std::vector<std::ptrdiff_t> longer(std::size_t(nodes_), 0);
  for (const auto& [pair, seen] : seen_)
    for (const int node : {pair.first, pair.second})
      ++pairs[std::size_t(node)], longer[std::size_t(node)] += seen.least >= most;
  for (std::size_t node = 0; node < pairs.size(); ++node)
    if (!scatters(longer[node], pairs[node], most_scattered_of_a_node)) return false;
  return true;
}

// Then kinds may lie so near together that more of them part; else they would part already, or never.
bool LeafGuess::scatter_is_small() const {
  const auto& all = least();
  return near_below() || (!all.empty() && all.back() < small_scatter * all.front());
}

// The lowest gap that stands out: above what neighbours in rank lie apart around it.
std::optional<double> LeafGuess::near_below() const {
  const auto& all = least();
  if (all.size() < 4 * fewest_near) return std::nullopt;
  const double resolution = resolution_of(all);
  for (std::size_t i = fewest_near; double(all.size() - i) >= fewest_far * double(all.size()); ++i) {
    const double gap = all[i] / all[i - 1];
    if (gap < least_gap || all[i] - all[i - 1] < gap_over_resolution * resolution) continue;
    // What the nearest kind spreads over, per pair of it, and the whole of it.
    const double spread = all[i - 1] / all[0];
    if (gap - 1 < gap_over_steps * (spread - 1) / double(i) || (gap - 1) * 4 < spread - 1) continue;
    return (all[i] + all[i - 1]) / 2;
  }
  return std::nullopt;
}

std::vector<int> LeafGuess::groups(double near_below) const {
  std::vector<int> parent(std::size_t(nodes_), 0);
  std::iota(parent.begin(), parent.end(), 0);
  for (const auto& [pair, seen] : seen_)
    if (seen.least < near_below)
      parent[std::size_t(root_of(parent, pair.first))] = root_of(parent, pair.second);
  for (int i = 0; i < nodes_; ++i) parent[std::size_t(i)] = root_of(parent, i);
  return parent;
}

// What was measured less often than it takes. Scatter makes round trips longer and never shorter: a pair that
// was near once is near.
LeafGuess::NodePairs LeafGuess::to_repeat(const std::vector<int>& nodes, int per_node) const {
  const auto part = near_below();
  const int enough = part ? std::min(times_, far_times) : times_;
  std::vector<int> room(std::size_t(nodes_), 0);
  for (const int node : nodes) room[std::size_t(node)] = per_node;
  NodePairs out;
  for (const auto& [pair, seen] : seen_) {
    int &a = room[std::size_t(pair.first)], &b = room[std::size_t(pair.second)];
    if (seen.times >= enough || (part && seen.least < *part) || a == 0 || b == 0) continue;
    --a, --b;
    out.push_back(pair);
  }
  return out;
}

LeafGuess::NodePairs LeafGuess::next(const std::vector<int>& nodes, int per_node, std::uint64_t seed) {
  // Where round trips scatter, the least of several tells kinds apart that one of each does not.
  while (!seen_.empty()) {
    const auto again = to_repeat(nodes, per_node);
    if (!again.empty()) return again;
    const bool settled = near_below() ? kinds_stand_apart() : kinds_stand_apart() && all_alike();
    if (settled || times_ >= (scatter_is_small() ? most_times : few_times)) break;
    times_ *= 2;
    least_.reset();
  }
  return fresh(nodes, per_node, seed);
}

LeafGuess::NodePairs LeafGuess::fresh(const std::vector<int>& nodes, int per_node, std::uint64_t seed) const {
  std::vector<int> room(std::size_t(nodes_), 0);
  for (const int node : nodes) room[std::size_t(node)] = per_node;
  SplitMix64 draw(splitmix64(seed) + seen_.size());
  const auto shuffle = [&](std::vector<int>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draw() % i]);
  };
  NodePairs out;
  PairSet taken;
  const auto take = [&](int x, int y) {
    if (x == y || room[std::size_t(x)] == 0 || room[std::size_t(y)] == 0) return false;
    const std::pair<int, int> pair = std::minmax(x, y);
    if (seen_.find(pair) || !taken.insert(pair).second) return false;
    out.emplace_back(x, y);
    --room[std::size_t(x)], --room[std::size_t(y)];
    return true;
  };
  std::vector<int> order = nodes;
  const auto fill_up = [&] {
    shuffle(order);
    for (std::size_t turn = 1; turn < order.size() && int(turn) <= per_node; ++turn)
      for (std::size_t i = 0; i < order.size(); ++i) take(order[i], order[(i + turn) % order.size()]);
  };
  if (seen_.empty()) {
    for (int step = 1; step <= neighbours; ++step)
      for (std::size_t i = 0; i + std::size_t(step) < nodes.size(); ++i)
        take(nodes[i], nodes[i + std::size_t(step)]);
    fill_up();
    return out;
  }
  const auto part = near_below();
  if (!part) return {};
  const std::vector<int> group = groups(*part);
  std::map<int, std::vector<int>> members;
  for (const int node : nodes) members[group[std::size_t(node)]].push_back(node);
  std::vector<int> list;
  for (auto& [root, of] : members) list.push_back(root), shuffle(of);
  shuffle(list);
  std::vector<std::vector<int>*> of;        // by place in the list
  const std::size_t nowhere = list.size();  // of nodes that have died
  std::vector<std::size_t> place(std::size_t(nodes_), nowhere);
  for (const int root : list) place[std::size_t(root)] = of.size(), of.push_back(&members[root]);
  // Groups of which a pair is far, by places: a bit each, as there may be millions of pairs.
  std::vector<bool> apart(list.size() * list.size(), false);
  const auto set_apart = [&](std::size_t i, std::size_t j) {  // whether they were not
    auto bit = apart[std::min(i, j) * list.size() + std::max(i, j)];
    const bool fresh = !bit;
    bit = true;
    return fresh;
  };
  for (const auto& [pair, seen] : seen_) {
    const std::size_t i = place[std::size_t(group[std::size_t(pair.first)])],
                      j = place[std::size_t(group[std::size_t(pair.second)])];
    if (i != j && i != nowhere && j != nowhere) set_apart(i, j);
  }
  const auto one_with_room = [&](std::size_t i) {
    while (!of[i]->empty() && room[std::size_t(of[i]->back())] == 0) of[i]->pop_back();
    return of[i]->empty() ? -1 : of[i]->back();
  };
  std::vector<std::size_t> open(list.size());
  std::iota(open.begin(), open.end(), std::size_t(0));
  // Each group beside as many others as its members have room for, nearest in this draw first.
  for (std::size_t step = 1; step < list.size(); ++step) {
    std::erase_if(open, [&](std::size_t i) { return one_with_room(i) < 0; });
    if (open.size() < 2) break;
    for (const std::size_t i : open) {
      const std::size_t j = (i + step) % list.size();
      const int x = one_with_room(i), y = one_with_room(j);
      if (x >= 0 && y >= 0 && set_apart(i, j)) take(x, y);
    }
  }
  if (!out.empty()) return out;
  // Whether what is linked fits together, of each group as many pairs as it has members.
  for (const auto& [root, of_root] : within_groups(*part))
    if (of_root.telling() < of_root.members)
      for (std::size_t step = 1; step <= 2; ++step)
        for (std::size_t i = 0; i < members[root].size(); ++i)
          take(members[root][i], members[root][(i + step) % members[root].size()]);
  return out;
}

std::map<int, LeafGuess::Within> LeafGuess::within_groups(double near_below) const {
  const std::vector<int> group = groups(near_below);
  std::map<int, Within> out;
  for (const int root : group) ++out[root].members;
  for (const auto& [pair, seen] : seen_) {
    if (group[std::size_t(pair.first)] != group[std::size_t(pair.second)]) continue;
    Within& of = out[group[std::size_t(pair.first)]];
    ++of.pairs, of.far += seen.least >= near_below;
  }
  return out;
}

std::vector<int> LeafGuess::leaves() const {
  const auto part = near_below();
  if (!part) return {};
  double telling = 0, far = 0;
  int grouped = 0, several = 0;
  std::map<int, bool> fits;
  for (const auto& [root, of] : within_groups(*part)) {
    fits[root] = of.far <= most_contradictions * of.pairs || of.far <= 1;
    telling += of.telling(), far += of.far;
    if (of.members > 1 && fits[root]) ++several, grouped += of.members;
  }
  if (several < 2 || grouped < fewest_grouped * nodes_ || telling < 1 || far > most_contradictions * telling)
    return {};
  std::vector<int> out;
  std::map<int, int> number;
  int next = 0;
  for (const int root : groups(*part)) {
    if (!fits[root]) {
      out.push_back(next++);
      continue;
    }
    const auto [at, fresh] = number.try_emplace(root, next);
    next += fresh;
    out.push_back(at->second);
  }
  return out;
}

}  // namespace ringtrue::diagnosis
