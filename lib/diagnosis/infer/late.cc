#include "diagnosis/infer/late.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/statistics.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double late_share = 1.15, late_share_unknown = 3;  // of what is usual
constexpr double min_unknown = 100e-6;                       // seconds more
constexpr double noises = 6;                                 // and of what the fleet scatters by
constexpr int fewest_inside = 2, fewest_across = 3;          // pairs that tell of a node

double deviation(const std::vector<double>& values, double middle) {
  std::vector<double> off;
  for (const double v : values) off.push_back(std::abs(v - middle));
  return 1.4826 * upper_median(std::move(off));
}

}  // namespace

void Latencies::add(const Observation& observation, int run) {
  note_filled(observation);
  const auto tells = [](const HopReading& hop) {
    return hop.latency && hop.latency->value > 0 && hop.source != hop.destination;
  };
  std::vector<std::pair<int, int>> pairs;
  for (const HopReading& hop : observation.hops)
    if (tells(hop)) pairs.push_back(std::minmax(hop.source, hop.destination));
  pairs_.add(std::move(pairs));
  for (const HopReading& hop : observation.hops) {
    if (!tells(hop)) continue;
    Seen& seen = *pairs_.find(std::minmax(hop.source, hop.destination));
    seen.least = seen.runs == 0 ? hop.latency->value : std::min(seen.least, hop.latency->value);
    seen.runs += seen.last != run;
    seen.last = run;
  }
}

void Latencies::note_filled(const Observation& observation) {
  constexpr double most = 0.2;  // of a port: data waits, and where we pause they have all of it
  constexpr std::uint64_t least_bytes = 128 << 10;  // probes of round trips say nothing of ports
  std::map<int, bool> by_others;
  for (const HopReading& hop : observation.hops) {
    if (hop.bytes.value < least_bytes) continue;
    const double rate = hop.rate().value_or(0);
    for (const int node : {hop.source, hop.destination}) {
      const OthersTraffic traffic = observation.others_of(node);
      const double others = std::max(traffic.sends_at_most(), traffic.receives_at_most());
      by_others[node] |= others > most * (rate + others);
    }
  }
  for (const auto& [node, filled] : by_others) ++filled_[node].runs, filled_[node].by_others += filled;
}

bool Latencies::is_filled(int node) const {
  const auto at = filled_.find(node);
  return at != filled_.end() && at->second.by_others > 0 && 3 * at->second.by_others >= at->second.runs;
}

bool Latencies::in_whole_microseconds() const {
  return std::ranges::all_of(pairs_, [](const auto& pair) {
    const double microseconds = pair.second.least * 1e6;
    return std::abs(microseconds - std::round(microseconds)) < 1e-3;
  });
}

double Latencies::usual() const {
  std::vector<double> all;
  for (const auto& [pair, seen] : pairs_) all.push_back(seen.least);
  return upper_median(std::move(all));
}

std::set<int> Latencies::far_leaves(const Structure& structure) const {
  constexpr double far = 1.1;  // times what is usual
  const auto leaf = [&](int node) { return structure.leaf[std::size_t(node)]; };
  // By two leaves, the lower one first.
  std::vector<std::pair<std::pair<int, int>, double>> of;
  for (const auto& [pair, seen] : pairs_)
    if (structure.crosses(pair.first, pair.second))
      of.emplace_back(std::minmax(leaf(pair.first), leaf(pair.second)), seen.least);
  std::sort(of.begin(), of.end());
  std::map<int, double> nearest;
  for (std::size_t i = 0, end = 0; i < of.size(); i = end) {
    while (end < of.size() && of[end].first == of[i].first) ++end;
    const double middle = of[i + (end - i - 1) / 2].second;
    for (const int at : {of[i].first.first, of[i].first.second}) {
      const auto [known, fresh] = nearest.try_emplace(at, middle);
      if (!fresh) known->second = std::min(known->second, middle);
    }
  }
  std::vector<double> all;
  for (const auto& [at, trip] : nearest) all.push_back(trip);
  std::set<int> out;
  for (const auto& [at, trip] : nearest)
    if (trip > far * lower_median(all)) out.insert(at);
  return out;
}

std::vector<Late> Latencies::late(const Structure& structure, int nodes) const {
  const auto n = std::size_t(nodes);
  const bool known = structure.leaf.size() == n && std::all_of(structure.leaf.begin(), structure.leaf.end(),
                                                               [](int leaf) { return leaf >= 0; });
  const auto across = [&](const std::pair<int, int>& pair) {
    return known && structure.leaf[std::size_t(pair.first)] != structure.leaf[std::size_t(pair.second)];
  };
  // What is usual, of either kind: the majority of the nodes' best.
  double usual[2] = {0, 0}, noise = 0;
  for (const bool crossing : {false, true}) {
    std::vector<double> best(n, 0);
    for (const auto& [pair, seen] : pairs_) {
      if (across(pair) != crossing) continue;
      for (const int node : {pair.first, pair.second}) {
        double& b = best[std::size_t(node)];
        b = b > 0 ? std::min(b, seen.least) : seen.least;
      }
    }
    std::erase(best, 0.0);
    if (best.size() < 3) continue;
    usual[crossing] = lower_median(best);
    noise = std::max(noise, deviation(best, usual[crossing]) / usual[crossing]);
  }
  const double share = std::max(known ? late_share : late_share_unknown, 1 + noises * noise);
  // Ways across leaves are of several lengths, where there are more than two levels: as if nothing were
  // known.
  // Smallest round trips that a kernel tells, in microseconds, scatter by what the processors do.
  const bool over_tcp = (structure.routes && structure.routes->by_hop()) || in_whole_microseconds();
  const auto is_late = [&](const std::pair<int, int>& pair, const Seen& seen) {
    if (is_filled(pair.first) || is_filled(pair.second)) return false;
    const double due = usual[across(pair)];
    const bool alike = known && !across(pair);
    return due > 0 && seen.least > (alike ? share : std::max(share, late_share_unknown)) * due &&
           ((alike && !over_tcp) || seen.least > due + min_unknown);
  };
  // What tells of a node are its pairs below its own leaf. One that has none to speak of there, as leaves
  // were guessed, is told by its pairs across.
  std::vector<int> inside(n, 0);
  for (const auto& [pair, seen] : pairs_) {
    if (across(pair) || !(usual[0] > 0)) continue;
    for (const int x : {pair.first, pair.second}) ++inside[std::size_t(x)];
  }
  const auto is_apart = [&](int x) {
    return known && structure.guessed && inside[std::size_t(x)] < fewest_inside;
  };
  const auto tells = [&](const std::pair<int, int>& pair, int x) {
    return usual[across(pair)] > 0 && (!(known && across(pair)) || is_apart(x));
  };

  struct Node {
    int pairs = 0, late = 0, runs = 0;
    double least = 0, usual = 0;
  };
  std::vector<Node> of(n);
  for (const auto& [pair, seen] : pairs_) {
    for (const int x : {pair.first, pair.second}) {
      if (!tells(pair, x)) continue;
      Node& node = of[std::size_t(x)];
      ++node.pairs, node.late += is_late(pair, seen), node.runs += seen.runs;
      if (node.least > 0 && node.least - node.usual <= seen.least - usual[across(pair)]) continue;
      node.least = seen.least, node.usual = usual[across(pair)];
    }
  }
  std::vector<Late> out;
  // A pair with a late node says nothing of its other end; so the worst are taken first.
  std::vector<int> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = int(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return of[std::size_t(a)].late > of[std::size_t(b)].late; });
  std::vector<bool> named(n, false);
  for (const int x : order) {
    const Node& node = of[std::size_t(x)];
    const int fewest = is_apart(x) ? fewest_across : fewest_inside;
    if (node.pairs < fewest || node.late < node.pairs) continue;
    int own = 0;  // not explained by nodes that are named already
    for (const auto& [pair, seen] : pairs_) {
      if (pair.first != x && pair.second != x) continue;
      own += tells(pair, x) && is_late(pair, seen) &&
             !named[std::size_t(pair.first == x ? pair.second : pair.first)];
    }
    if (own < fewest) continue;
    named[std::size_t(x)] = true;
    out.push_back({x, -1, node.least, node.usual, node.runs});
  }
  for (const auto& [pair, seen] : pairs_) {
    if (!is_late(pair, seen) || named[std::size_t(pair.first)] || named[std::size_t(pair.second)]) continue;
    out.push_back({pair.first, pair.second, seen.least, usual[across(pair)], seen.runs});
  }
  return out;
}

}  // namespace ringtrue::diagnosis
