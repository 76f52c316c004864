#include "collective/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/plural.h"
#include "collective/chunks.h"
#include "collective/fold.h"
#include "collective/places.h"

namespace ringtrue::collective {

namespace {

// What a hop costs for one message of some bytes, alone.
double alone(const HopCost& cost, double bytes) {
  return cost.latency.value + cost.overhead.value + bytes / cost.rate.value;
}

// What a port is kept busy by `bytes` in messages of `slice` bytes.
double carried(const HopCost& cost, double bytes, double slice) {
  return bytes <= 0 ? 0 : bytes / cost.rate.value + std::ceil(bytes / slice) * cost.overhead.value;
}

class Model {
 public:
  Model(const Layout& layout, const Call& call, const Costs& costs)
      : layout_(layout), call_(call), costs_(costs), places_(places_of(layout, 0)) {
    n_ = double(layout.ranks());
    q_ = double(places_.nodes.size());
    for (const auto& node : places_.nodes) p_ = std::max(p_, double(node.size()));
  }

  double bytes() const { return double(call_.bytes()); }
  std::size_t nodes() const { return places_.nodes.size(); }
  bool grouped() const { return q_ > 1 && p_ > 1; }

  // 2 (n-1) steps; a slice is passed on when it is complete, and the slowest hop bounds the rest.
  double ring(double bytes, double ranks, double inter_hops, double node_share, double passes) const {
    if (ranks < 2) return 0;
    const double chunk = bytes / ranks, slice = slice_of(chunk), steps = passes * (ranks - 1);
    const double crossing = inter_hops > 0 ? std::min(steps, passes * (inter_hops - 1)) : 0;
    const HopCost shared = share(costs_.inter, node_share);
    const double path = (steps - crossing) * alone(costs_.intra, slice) + crossing * alone(shared, slice);
    double slowest = steps > crossing ? carried(costs_.intra, steps * chunk, slice) : 0;
    if (inter_hops > 0) slowest = std::max(slowest, carried(shared, steps * chunk, slice));
    return std::max(path, slowest);
  }

  double flat_ring() const {
    double hops = 0, most = 1;
    std::vector<double> out(places_.nodes.size());
    for (Rank r = 0; r < layout_.ranks(); ++r) {
      if (same_node(r, wrap(r + 1, layout_.ranks()))) continue;
      ++hops;
      const auto node = node_index(r);
      most = std::max(most, ++out[node]);
    }
    // Every hop of the ring is one between nodes where each node has one rank.
    if (p_ == 1 && q_ > 1) return ring(bytes(), n_, n_ + 1, 1, 2);
    return ring(bytes(), n_, hops, most, 2);
  }

  double double_tree() const {
    const double half = bytes() / 2;
    const double slice = std::max(1.0, std::min({half, slice_of(half), std::max(16384.0, half / 32)}));
    const double depth = q_ > 1 ? double(std::bit_width(std::uint32_t(q_) - 1)) : 0;
    const double path = 2 * (depth * alone(costs_.inter, slice) + (p_ - 1) * alone(costs_.intra, slice));
    const double over = q_ < 2 ? 0 : q_ < 3 ? 1 : q_ < 4 ? 1.5 : 2;
    const double inside = p_ < 2 ? 0 : p_ < 3 ? 1 : 2;
    return path + std::max(carried(costs_.inter, over * bytes() - slice, slice),
                           carried(costs_.intra, inside * bytes() - slice, slice));
  }

  // One exchange of `bytes` between partners `distance` apart.
  double exchange(const Fold& fold, Rank distance, double bytes) const {
    std::vector<double> out(places_.nodes.size());
    double most = 0;
    for (Rank v = 0; v < fold.power; ++v) {
      const Rank me = fold.rank_of(v), partner = fold.rank_of(v ^ distance);
      if (!same_node(me, partner)) most = std::max(most, ++out[node_index(me)]);
    }
    return most > 0 ? alone(share(costs_.inter, most), bytes) : alone(costs_.intra, bytes);
  }
  double folding(const Fold& fold) const {
    if (fold.extra == 0) return 0;
    bool inter = false;
    for (Rank e = 0; e < fold.extra; ++e) inter = inter || !same_node(2 * e, 2 * e + 1);
    return 2 * alone(inter ? costs_.inter : costs_.intra, bytes());
  }
  double recursive_doubling() const {
    const Fold fold(layout_.ranks());
    double time = folding(fold);
    for (Rank distance = 1; distance < fold.power; distance *= 2) time += exchange(fold, distance, bytes());
    return time;
  }
  double halving_doubling() const {
    const Fold fold(layout_.ranks());
    double time = folding(fold), part = bytes();
    for (Rank distance = 1; distance < fold.power; distance *= 2) {
      part /= 2;
      time += 2 * exchange(fold, distance, part);
    }
    return time;
  }

  // The three stages follow one another on one segment and overlap on the rest.
  double hierarchical() const {
    const double segments = std::clamp(std::floor(bytes() / (n_ * 65536)), 1.0, 16.0);
    const double segment = bytes() / segments;
    const bool even = places_.uniform();
    const double inside = even ? ring(segment, p_, 0, 1, 1)
                               : alone(costs_.intra, slice_of(segment)) +
                                     carried(costs_.intra, (p_ - 1) * segment, slice_of(segment));
    const double between = even ? ring(segment / p_, q_, q_ + 1, p_, 2) : ring(segment, q_, q_ + 1, 1, 2);
    return 2 * inside + between + (segments - 1) * std::max(inside, between);
  }

  // Each rank reads and writes S bytes in all: one copy's worth. See predict() for the others.
  double two_shot() const {
    const double messages = 2 * (n_ - 1) * std::ceil(bytes() / n_ / slice_of(bytes() / n_));
    return 2 * costs_.intra.latency.value + messages * costs_.intra.overhead.value +
           bytes() / costs_.intra.rate.value;
  }

  // Everybody's data into rank 0 and, a slice later, out of it.
  double naive() const {
    const double slice = slice_of(bytes()), near = double(places_.nodes[0].size()) - 1;
    const double inside = near > 0 ? carried(costs_.intra, near * bytes(), slice) : 0;
    const double outside = carried(costs_.inter, (n_ - 1 - near) * bytes(), slice);
    const double latency = q_ > 1 ? costs_.inter.latency.value : costs_.intra.latency.value;
    const double slices = std::max(1.0, std::ceil(bytes() / slice));
    return 2 * latency + (1 + 1 / slices) * std::max(inside, outside);
  }

  // Messages of all ranks of one node together, where each message is one slice.
  double messages(AlgorithmId algorithm) const {
    const Fold fold(layout_.ranks());
    const double rounds = double(std::bit_width(std::uint32_t(fold.power)) - 1), folded = 2.0 * fold.extra;
    if (algorithm == AlgorithmId::recursive_doubling) return fold.power * rounds + folded;
    if (algorithm == AlgorithmId::halving_doubling) return 2 * fold.power * rounds + folded;
    if (algorithm == AlgorithmId::double_tree) return 4 * (n_ - 1);
    if (algorithm == AlgorithmId::naive) return 2 * (n_ - 1);
    return 2 * n_ * (n_ - 1);  // ring, two-shot
  }

 private:
  double slice_of(double chunk) const { return std::max(1.0, std::min(chunk, double(call_.slice_bytes))); }
  static HopCost share(HopCost cost, double sharers) {
    cost.rate = BytesPerSecond(cost.rate.value / sharers);
    cost.overhead = cost.overhead * sharers;
    return cost;
  }
  bool same_node(Rank a, Rank b) const {
    return layout_.node_of_rank[std::size_t(a)] == layout_.node_of_rank[std::size_t(b)];
  }
  std::size_t node_index(Rank rank) const {
    if (index_.empty()) {
      index_.resize(std::size_t(layout_.ranks()));
      for (std::size_t node = 0; node < places_.nodes.size(); ++node) {
        for (const Rank r : places_.nodes[node]) index_[std::size_t(r)] = node;
      }
    }
    return index_[std::size_t(rank)];
  }

  const Layout& layout_;
  const Call& call_;
  const Costs& costs_;
  const Places places_;
  mutable std::vector<std::size_t> index_;
  double n_ = 1, q_ = 1, p_ = 1;
};

std::vector<Prediction> predict(const Layout& layout, const Call& call, const Costs& costs) {
  // In shared memory a hop's rate is that of a copy, one read and one write. Half of what the others receive
  // is reduced, which is two reads and a write; two-shot keeps the sum in cache and needs no such allowance.
  Costs allowed = costs;
  if (costs.shared_memory) allowed.intra.rate = costs.intra.rate / 1.25;
  const Model model(layout, call, allowed);
  std::vector<Prediction> all;
  const auto add = [&](AlgorithmId algorithm, double time) { all.push_back({algorithm, Seconds(time)}); };
  add(AlgorithmId::ring, model.flat_ring());
  add(AlgorithmId::double_tree, model.double_tree());
  add(AlgorithmId::recursive_doubling, model.recursive_doubling());
  add(AlgorithmId::halving_doubling, model.halving_doubling());
  if (model.grouped()) add(AlgorithmId::hierarchical, model.hierarchical());
  if (costs.shared_memory && model.nodes() == 1)
    add(AlgorithmId::two_shot, Model(layout, call, costs).two_shot());
  add(AlgorithmId::naive, model.naive());
  if (costs.players > 0 && model.nodes() == 1)
    for (Prediction& p : all) {
      const double work = model.messages(p.algorithm) * costs.intra.overhead.value / costs.players;
      p.time = Seconds(std::max(p.time.value, work));
    }
  return all;
}

}  // namespace

Choice choose(const Layout& layout, const Call& call, const Costs& costs) {
  Choice choice;
  if (layout.ranks() < 2) {
    choice.algorithm = &algorithm_of(AlgorithmId::ring);
    choice.predictions = {{AlgorithmId::ring, Seconds(0)}};
    choice.reason = "ring: one rank has nobody to exchange with";
    return choice;
  }
  choice.predictions = predict(layout, call, costs);
  std::stable_sort(choice.predictions.begin(), choice.predictions.end(),
                   [](const Prediction& a, const Prediction& b) { return a.time < b.time; });
  const Prediction &best = choice.predictions[0], &next = choice.predictions[1];
  choice.algorithm = &algorithm_of(best.algorithm);

  Call empty = call;
  empty.elements = 0;
  double latency = 0;
  for (const Prediction& p : predict(layout, empty, costs)) {
    if (p.algorithm == best.algorithm) latency = p.time.value;
  }
  const std::size_t nodes = places_of(layout, 0).nodes.size();
  choice.reason = fmt::format(
      "{}: {} over {} on {} should take {} ({} decides), {} {}", key_of(best.algorithm),
      to_text(Bytes(call.bytes())), plural(layout.ranks(), "rank"), plural(nodes, "node"), to_text(best.time),
      2 * latency > best.time.value ? "latency" : "bandwidth", key_of(next.algorithm), to_text(next.time));
  return choice;
}

}  // namespace ringtrue::collective
