#include "diagnosis/infer/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "diagnosis/infer/at_times.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double slow_share = 0.93;
constexpr std::size_t min_sides = 6;  // to say what is usual on a rail
constexpr double chance = 1e-4;       // of a part that is suspected, and looked at after each round
// Where links are hashed, hops meet: of so many more pairs that many are taken to be slow.
constexpr double usually_slow = 1, usually_of = 4;
constexpr double badly_known = 0.5;  // of what few sides show, the middle: by this over their number
constexpr std::size_t many_readings = 8;
constexpr std::size_t of_two_leaves = 6;  // pairs: nothing else tells what is usual between them

// Of how many other pairs are slow, what the share may well be: a standard deviation above what was seen, as
// many pairs of one leaf make the chance a high power of it.
double usual_share(double slow, double all) {
  const double deviation = std::sqrt(slow * (all - slow) / all) / all;
  return std::min(1.0, (slow + usually_slow) / (all + usually_of) + deviation);
}

// Of the readings of all pairs of a part: repeated, from several places, and nearer together than what is
// missing; of many, but for the fastest quarter, which may have been taken as it began.
bool proven(const FabricPart& part, double reference) {
  std::set<int> runs, repeats;
  for (const Reading& r : part.readings) {
    runs.insert(r.run);
    if (r.confirming) repeats.insert(r.run);
  }
  if (part.pairs.size() < 2 || part.readings.size() < 3 || runs.size() < 3 || repeats.size() < 2)
    return false;
  const std::size_t n = part.readings.size();
  const double best = part.readings[n >= many_readings ? n / 4 : 0].rate, middle = part.readings[n / 2].rate;
  return 1 - middle / best + 0.02 <= 1 - best / reference;
}

}  // namespace

Parts::Parts(const Structure& structure, const Readings& readings, const Readings& across,
             const Inference& inference)
    : structure_(structure),
      readings_(readings),
      across_(across),
      inference_(inference),
      crowded_(inference.crowded) {
  find_rail();
  // Where routes are told, trunks.h names trunks; what no route explains is slow paths and no more.
  if (!structure.routes && structure.leaf.size() == std::size_t(readings.nodes()) &&
      inference.reference.rate > 0)
    fold(crossings());
  for (const SlowGroup& group : inference.groups) {
    const ScopeType type = group.halves || group.sends != group.receives ? ScopeType::trunk : ScopeType::leaf;
    const char* const what = group.halves              ? links_between
                             : type == ScopeType::leaf ? "leaf of"
                             : group.sends             ? "uplinks of"
                                                       : "downlinks of";
    fabric_.push_back({type, what, group.pairs, group.readings, group.confirmed, group.members});
  }
}

// By rail: the best of what each node sends, then receives, of those that have shown anything; with what
// others sent there meanwhile.
std::vector<std::vector<double>> Parts::best_of_sides(bool beside_slow, bool with_others) const {
  const auto n = std::size_t(readings_.nodes());
  std::vector<std::vector<double>> best;
  readings_.each_pair([&](int x, int y) {
    if (!beside_slow && std::ranges::any_of(inference_.suspects, [&](const Suspect& s) {
          return s.confirmed && s.type != ScopeType::path && s.explains(x, y);
        }))
      return;
    // Where nobody told who is near whom, few readings count, and all show what a rail carries at least.
    for (const Reading& r : structure_.leaf.empty() ? readings_.usable(x, y) : readings_.counting(x, y)) {
      best.resize(std::max(best.size(), r.rails.size()), std::vector<double>(2 * n, 0));
      for (std::size_t k = 0; k < r.rails.size(); ++k)
        for (const std::size_t side : {std::size_t(x), n + std::size_t(y)})
          best[k][side] = std::max(best[k][side], with_others ? r.carried_by_rail(k) : r.rails[k]);
    }
  });
  for (auto& sides : best) std::erase(sides, 0.0);
  return best;
}

// The majority is taken over sides, as for whole hops: of three nodes one bad one has most of the readings.
// Beside one that is very slow, what the others carried may be too little to count, but for what they
// carried with it.
void Parts::find_rail() {
  const auto n = std::size_t(readings_.nodes());
  const auto fewest_of = [](const std::vector<std::vector<double>>& best) {
    std::size_t fewest = best.empty() ? 0 : ~std::size_t(0);
    for (const auto& sides : best) fewest = std::min(fewest, sides.size());
    return fewest;
  };
  auto best = best_of_sides(false);
  // Too few to compare with have their own other rails.
  const bool by_own = n == 2 || fewest_of(best) < n;
  if (by_own) best = best_of_sides(true);
  std::size_t slowest = 0;
  const std::size_t fewest = fewest_of(best);
  for (std::size_t k = 0; k < best.size(); ++k) {
    usual_.push_back(upper_median(best[k]));
    if (usual_[k] < usual_[slowest]) slowest = k;
  }
  if (by_own && !usual_.empty())
    usual_.assign(usual_.size(), *std::max_element(usual_.begin(), usual_.end()));
  // Of most sides, or a slow node's own would stand for all.
  if (usual_.size() < 2 || fewest < std::max(min_sides, n + n / 2) || by_own) return;
  std::vector<double> others = usual_;
  others.erase(others.begin() + std::ptrdiff_t(slowest));
  const double usual = upper_median(others);
  const double share = slow_share - badly_known / double(fewest);
  if (usual_[slowest] >= share * usual || crowded_) return;
  // Not where others fill it. What they sent and what we did may not have been at once, so that their sum
  // only clears.
  if (upper_median(best_of_sides(false, true)[slowest]) < share * usual)
    slow_rail_ = {int(slowest), usual_[slowest], usual};
}

std::vector<int> Parts::slow_rails(const Suspect& s) const {
  constexpr double far_slower = 0.7;         // than the suspect's other rails
  constexpr double surely_slow = 0.85;       // beside one that is far slower others may have had a bad moment
  if (s.type == ScopeType::node) return {};  // its program takes in what all of them carry
  const std::vector<double> shares =
      shares_of_usual(s.unsteady ? usual_by_rail(s.readings) : best_by_rail(s.readings));
  if (shares.empty()) return {};
  const double others = upper_median(shares), worst = *std::ranges::min_element(shares);
  std::vector<int> slow;
  if (worst >= std::max(slow_share, (1 + s.ratio) / 2)) return slow;
  const double halfway = (1 + worst) / 2;
  const double limit = others < halfway ? halfway : std::max(surely_slow, (others + worst) / 2);
  for (std::size_t k = 0; k < shares.size(); ++k)
    if (shares[k] < limit) slow.push_back(int(k));
  const auto more_than_nics = [&] { return 2 * slow.size() > shares.size(); };
  // Beside a NIC that is far slower the others may be held up, too.
  if (more_than_nics())
    std::erase_if(slow, [&](int k) { return shares[std::size_t(k)] >= far_slower * others; });
  return more_than_nics() ? std::vector<int>() : slow;
}

std::vector<int> Parts::slow_rails(const std::vector<Reading>& readings) const {
  const std::vector<double> shares = shares_of_usual(best_by_rail(readings));
  std::vector<int> slow;
  for (std::size_t k = 0; k < shares.size(); ++k)
    if (shares[k] < slow_share) slow.push_back(int(k));
  return slow;
}

// By rail; of one that carried nothing, 1. Empty: rails tell nothing.
std::vector<double> Parts::shares_of_usual(std::vector<double> rates) const {
  if (usual_.size() < 2) return {};
  rates.resize(std::min(rates.size(), usual_.size()));
  for (std::size_t k = 0; k < rates.size(); ++k)
    rates[k] = rates[k] > 0 && usual_[k] > 0 ? rates[k] / usual_[k] : 1;
  return rates;
}

const FabricPart* Parts::part_of(int source, int destination) const {
  for (const FabricPart& part : fabric_) {
    for (const auto& [x, y] : part.pairs)
      if (x == source && y == destination) return &part;
    const auto inside = [&](int node) {
      return std::binary_search(part.members.begin(), part.members.end(), node);
    };
    if (inside(source) != inside(destination)) return &part;
  }
  return nullptr;
}

// Whether nodes that are below one leaf, as was guessed, read as low among each other now and then: they may
// be below several, and share links.
bool Parts::may_be_pods(double rate) const {
  constexpr double often = 0.05, as_low = 1.05;
  if (!structure_.guessed) return false;
  int all = 0, low = 0;
  readings_.each_pair([&](int x, int y) {
    if (structure_.crosses(x, y)) return;
    for (const Reading& r : readings_.of(x, y)) ++all, low += r.rate < as_low * rate;
  });
  return low > often * all;
}

// Pairs between two leaves whose ends are not suspected themselves.
std::vector<Parts::Crossing> Parts::crossings() const {
  std::set<std::pair<int, ScopeType>> suspected;
  for (const Suspect& s : inference_.suspects)
    if (s.type != ScopeType::path && !s.chance) suspected.emplace(s.node, s.type);
  const double fastest = inference_.fastest_generation();
  std::vector<Crossing> out;
  readings_.each_pair([&](int x, int y) {
    const int from = structure_.leaf[std::size_t(x)], to = structure_.leaf[std::size_t(y)];
    const auto best = readings_.best(x, y);
    if (from < 0 || to < 0 || from == to || !best || readings_.only_momentary(x, y)) return;
    if (suspected.count({x, ScopeType::sender}) || suspected.count({y, ScopeType::receiver})) return;
    const bool slow = *best < slow_share * inference_.reference.rate;
    const double level = inference_.generation(x, y);
    const std::vector<Reading> counting = readings_.counting(x, y);
    const std::vector<int> rails = slow ? slow_rails(counting) : std::vector<int>();
    const bool some = !rails.empty() && rails.size() < usual_.size();
    const std::vector<Reading> list = readings_.usable(x, y);
    const auto low = std::ranges::count_if(
        list, [&](const Reading& r) { return r.rate < slow_share * inference_.reference.rate; });
    const double share = list.empty() ? slow : double(low) / double(list.size());
    out.push_back({x, y, from, to, slow, share, some && rails.size() == 1 ? rails[0] : -1,
                   some && rails.size() > 1, *best, level, !slow && level < fastest, !counting.empty()});
  });
  return out;
}

void Parts::fold(std::vector<Crossing> all) {
  std::set<int> leaves, slow_for_good;
  readings_.each_pair([&](int x, int y) {
    for (const int node : {x, y}) leaves.insert(structure_.leaf[std::size_t(node)]);
  });
  leaves.erase(-1);
  // The leaf that explains most, and no chance; again, of what it leaves.
  for (;;) {
    Ends best;
    std::size_t most = 0;
    for (const int leaf : leaves) {
      for (const auto& [up, down] : {std::pair(true, true), {true, false}, {false, true}}) {
        const Ends ends{leaf, up, down};
        const std::size_t explained = explains(all, ends, leaves.size());
        if (explained > most) most = explained, best = ends;
      }
    }
    if (most == 0) break;
    add(all, best, leaves);
    if (fabric_.back().confirmed) slow_for_good.insert(best.leaf);
    std::erase_if(all, [&](const Crossing& c) { return best.hold(c) && c.slow; });
  }
  if (fabric_.size() > 1 || often_slow(all, leaves))
    for (FabricPart& part : fabric_) part.confirmed &= !may_be_others(part, true);
  for (const Ends& ends : add_at_times(leaves, slow_for_good)) {
    std::erase_if(all, [&](const Crossing& c) { return ends.hold(c) && c.slow; });
    // What is too little to name it as slow for good says no more than this.
    std::erase_if(fabric_, [&](const FabricPart& part) { return part.leaf == ends.leaf && !part.confirmed; });
  }
  fold_confirmed(std::move(all), int(leaves.size()));
}

// How many pairs are slow because of these ends of a leaf; 0 if some are not slow, or if so many others are
// that it may be chance.
std::size_t Parts::explains(const std::vector<Crossing>& all, const Ends& ends, std::size_t leaves) {
  std::size_t own = 0, ups = 0, others = 0;
  double slow_others = 0;  // one that was measured again and was fast once counts by how often it was slow
  int rail = -2;
  double most = 0, best = 0;  // of the slow ones
  for (const Crossing& c : all)
    if (c.slow && c.counts && ends.hold(c)) most = std::max(most, c.carried()), best = std::max(best, c.best);
  for (const Crossing& c : all) {
    // What an older node carries may cross what is slow all the same.
    if (c.older && (c.carried() <= most || !ends.hold(c))) continue;
    if (!ends.hold(c)) {
      ++others, slow_others += c.low;
      continue;
    }
    if (!c.counts && c.slow) continue;
    // One rail's leaf is slow on that rail with everyone; all rails' leaves, on all.
    if (!c.slow || c.scattered || (rail != -2 && rail != c.rail)) return 0;
    rail = c.rail;
    ++own, ups += c.from == ends.leaf;
  }
  if (own < 2 || (ends.up && ups == 0) || (ends.down && ups == own)) return 0;
  if (others == 0 && own < of_two_leaves) return 0;
  if (others == 0 && may_be_pods(best)) return 0;
  const double share = others > 0 ? usual_share(slow_others, double(others)) : 0;
  double by_chance = 3 * double(leaves);  // ways to choose the ends
  for (std::size_t i = 0; i < own; ++i) by_chance *= share;
  const bool sure = by_chance < chance;
  undecided_ |= !sure;
  return sure ? own : 0;
}

void Parts::add(const std::vector<Crossing>& all, const Ends& ends, const std::set<int>& leaves) {
  FabricPart part;
  const auto its = [&](const Crossing& c) { return ends.hold(c) && !c.older && c.counts; };
  // What an older node lacks of its own rate is another share than what the others lack of theirs.
  double level = 0;
  for (const Crossing& c : all)
    if (its(c)) level = std::max(level, c.level);
  for (const Crossing& c : all) {
    if (!its(c)) continue;
    part.pairs.emplace_back(c.source, c.destination);
    if (c.level < level) continue;
    const auto list = readings_.counting(c.source, c.destination);
    part.readings.insert(part.readings.end(), list.begin(), list.end());
  }
  std::sort(part.readings.begin(), part.readings.end(),
            [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
  name(part, ends, leaves);
  part.confirmed = proven(part, inference_.reference.rate) && !may_be_others(part, leaves.size() == 2);
  fabric_.push_back(std::move(part));
}

void Parts::name(FabricPart& part, const Ends& ends, const std::set<int>& leaves) const {
  part.leaf = ends.leaf;
  if (leaves.size() == 2) {  // which of the two it is, nobody can tell
    part.device = fmt::format("{} {} and {}", links_between, structure_.leaf_name(*leaves.begin()),
                              structure_.leaf_name(*leaves.rbegin()));
  } else {
    if (ends.up && ends.down) part.type = ScopeType::leaf;
    part.device = (part.type == ScopeType::leaf ? ""
                   : ends.up                    ? "uplinks of "
                                                : "downlinks of ") +
                  structure_.leaf_name(ends.leaf);
  }
  name_by_members(part, leaves.size() == 2 ? *leaves.begin() : ends.leaf,
                  leaves.size() == 2             ? links_between
                  : part.type == ScopeType::leaf ? "leaf of"
                  : ends.up                      ? "uplinks of"
                                                 : "downlinks of");
}

// Those that are slow now and then, and are named; whether others want another look.
std::vector<Parts::Ends> Parts::add_at_times(const std::set<int>& leaves,
                                             const std::set<int>& slow_for_good) {
  std::vector<Ends> out;
  bool others = false;
  // What all nodes of a leaf send at once, and others with them, shows more than others may explain of a hop.
  for (const CrossingsSeen seen : {CrossingsSeen::all, CrossingsSeen::together}) {
    if (seen == CrossingsSeen::together && !others) break;
    for (const LeafAtTimes& leaf :
         leaves_at_times(readings_, across_, inference_, structure_, slow_for_good, seen)) {
      FabricPart part;
      part.pairs = leaf.pairs, part.readings = leaf.readings, part.at_times = leaf;
      name(part, {leaf.leaf, leaf.up, leaf.down}, leaves);
      const bool two = leaves.size() == 2, may_be = may_be_others(part, two);
      others |= may_be;
      if (may_be || (two && may_be_pods(part.readings.front().rate))) continue;
      if (leaf.open) open_parts_.push_back(part);
      if (!leaf.confirmed) continue;
      part.confirmed = true;
      fabric_.push_back(std::move(part));
      out.push_back({leaf.leaf, leaf.up, leaf.down});
    }
    if (!out.empty()) break;
  }
  return out;
}

// Whether pairs of some leaf are slow as often as not.
bool Parts::often_slow(const std::vector<Crossing>& crossings, const std::set<int>& leaves) {
  constexpr int fewest = 2;
  return std::ranges::any_of(leaves, [&](int leaf) {
    int all = 0, slow = 0;
    for (const Crossing& c : crossings)
      if (c.from == leaf || c.to == leaf) ++all, slow += c.slow;
    return slow >= fewest && 2 * slow >= all;
  });
}

// What others send crosses the links of a leaf that was guessed if it begins or ends at its members. Of two
// leaves it may be anybody's, and of a pod, whose other leaves are slow then, too.
bool Parts::may_be_others(const FabricPart& part, bool anybodys) const {
  if (!structure_.guessed || part.readings.empty()) return false;
  double sent = 0, received = 0;
  // Of all that a leaf sends at once, what its members send for others is part.
  const bool counted = part.at_times && part.at_times->together;
  if (!counted)
    for (const int node : part.members) {
      sent += inference_.lasting[std::size_t(node)].sends;
      received += inference_.lasting[std::size_t(node)].receives;
    }
  const double anybody = anybodys ? inference_.lasting_others : 0;
  // What leaves it lacks no more than others send, and what enters it than they receive.
  const auto at_most = [](std::optional<double> lack, double others) {
    return !lack || *lack <= Inference::others_at_most * others;
  };
  return at_most(lacks(part, true), std::max(sent, anybody)) &&
         at_most(lacks(part, false), std::max(received, anybody));
}

// What its links lack of what is usual one way, bytes per second: in the middle, as hops that meet one
// another lack more.
std::optional<double> Parts::lacks(const FabricPart& part, bool up) const {
  const bool together = part.at_times && part.at_times->together;
  const auto own = [&](int node) { return std::ranges::find(part.members, node) != part.members.end(); };
  std::vector<double> out;
  for (const Reading& r : part.readings) {
    if (own(r.source) != up) continue;
    // What an older node lacks, it lacks of what others carry there.
    const double level = inference_.generation(r.source, r.destination);
    out.push_back(together ? part.at_times->hops * (part.usual(inference_) - r.rate)
                           : part.usual(inference_) - r.rate * level);
  }
  if (out.empty()) return std::nullopt;
  return lower_median(std::move(out));
}

// The number of a leaf that was guessed says nothing to anybody.
void Parts::name_by_members(FabricPart& part, int leaf, std::string device) const {
  if (!structure_.guessed) return;
  for (std::size_t node = 0; node < structure_.leaf.size(); ++node)
    if (structure_.leaf[node] == leaf) part.members.push_back(int(node));
  part.device = std::move(device);
}

// Paths between leaves that are proven one by one.
void Parts::fold_confirmed(std::vector<Crossing> all, int leaves) {
  FabricPart part;
  std::set<int> from, to;
  for (const Suspect& s : inference_.suspects) {
    if (s.type != ScopeType::path || !s.confirmed) continue;
    for (const Crossing& c : all) {
      if (c.source != s.node || c.destination != s.peer) continue;
      from.insert(c.from), to.insert(c.to);
      part.pairs.emplace_back(c.source, c.destination);
      part.readings.insert(part.readings.end(), s.readings.begin(), s.readings.end());
    }
  }
  if (part.pairs.size() < 2) return;
  std::sort(part.readings.begin(), part.readings.end(),
            [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
  part.confirmed = true;
  if (leaves > 2 ? from.size() > 1 && to.size() > 1 : from.size() > 1) {
    part.type = ScopeType::spine, part.device = "a spine";
  } else if (leaves == 2) {
    part.device = fmt::format("a trunk from {} to {}", structure_.leaf_name(*from.begin()),
                              structure_.leaf_name(*to.begin()));
    name_by_members(part, *from.begin(), "a trunk from the leaf of");
  } else {
    part.device = from.size() == 1 ? fmt::format("a trunk up from {}", structure_.leaf_name(*from.begin()))
                                   : fmt::format("a trunk down to {}", structure_.leaf_name(*to.begin()));
    name_by_members(part, from.size() == 1 ? *from.begin() : *to.begin(),
                    from.size() == 1 ? "a trunk up from the leaf of" : "a trunk down to the leaf of");
  }
  // What else it explains, though not proven one by one.
  for (const Crossing& c : all) {
    const bool its = part.type == ScopeType::spine || (from.size() == 1 && from.count(c.from)) ||
                     (to.size() == 1 && to.count(c.to));
    const std::pair pair(c.source, c.destination);
    if (c.slow && its && std::find(part.pairs.begin(), part.pairs.end(), pair) == part.pairs.end())
      part.pairs.push_back(pair);
  }
  fabric_.push_back(std::move(part));
}

}  // namespace ringtrue::diagnosis
