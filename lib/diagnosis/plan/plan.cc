#include "diagnosis/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace ringtrue::diagnosis {
namespace {

// Whole multiples of 8 bytes, so that every type divides them.
Bytes rounded(double bytes) {
  return Bytes(std::max<std::uint64_t>(8, std::uint64_t(bytes) / 8 * 8));
}

void size_call(Experiment& experiment, double call, Bytes max_bytes) {
  const double limit = double(std::max<std::uint64_t>(max_bytes.value, 8));
  experiment.iterations = std::max(1, int(std::min(1000.0, (call + limit - 1) / limit)));
  experiment.bytes = rounded(std::min(call / experiment.iterations, limit));
}

double score(const std::vector<int>& order, const std::vector<const Suspect*>& suspects,
             const Inference& inference, const PairCounts& counts) {
  const auto slower = [&](int a, int b) { return inference.generation(a) < inference.generation(b); };
  double sum = 0;
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int x = order[i], y = order[(i + 1) % n];
    const auto met = counts.find({x, y});
    const double fresh = 1.0 / (1 + (met == counts.end() ? 0 : met->second));
    if (suspects.empty()) sum += fresh;
    for (const Suspect* s : suspects) {
      if (s->type == ScopeType::path && s->node == x && s->peer == y) sum += 3;
      if (s->type == ScopeType::sender && s->node == x) {
        sum += inference.find(ScopeType::receiver, y) || slower(y, x) ? -1 : 1 + fresh;
      }
      if ((s->type == ScopeType::receiver || s->type == ScopeType::node) && s->node == y) {
        sum += inference.find(ScopeType::sender, x) || slower(x, y) ? -1 : 1 + fresh;
      }
    }
    for (const Suspect& s : inference.suspects) {  // a path that is known to be slow only costs time
      if (s.type == ScopeType::path && s.confirmed && s.node == x && s.peer == y) sum -= 2;
    }
  }
  return sum;
}

}  // namespace

bool between_neighbours(const Structure& structure, int nodes) {
  const auto [low, high] = std::minmax_element(structure.leaf.begin(), structure.leaf.end());
  return nodes > all_pairs_up_to || (nodes > 4 && !structure.leaf.empty() && *low != *high);
}

std::vector<int> shifts(int n, int max) {
  std::vector<int> out;
  if (n < 2) return out;
  if (n - 1 <= max || max < 2) {
    out.resize(std::size_t(n - 1));
    std::iota(out.begin(), out.end(), 1);
    return out;
  }
  for (int i = 0; i < max; ++i) out.push_back(1 + int(std::int64_t(i) * (n - 2) / (max - 1)));
  return out;
}

std::vector<int> changed_partners(const std::vector<int>& nodes, const std::vector<const Suspect*>& suspects,
                                  const Inference& inference, const PairCounts& counts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> order = nodes, best = nodes;
  double highest = -1e300;
  for (int attempt = 0; attempt < 64; ++attempt) {
    // Not std::shuffle: its draws differ between standard libraries.
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    const double s = score(order, suspects, inference, counts);
    if (s > highest) highest = s, best = order;
  }
  return best;
}

Experiment pairwise_over(std::vector<int> order, int shift, Bytes hop, Bytes max_bytes) {
  Experiment e;
  e.algorithm = collective::AlgorithmId::pairwise;
  e.order = std::move(order);
  e.shift = shift;
  size_call(e, double(hop.value), max_bytes);
  return e;
}

Experiment between_pairs(const std::vector<std::pair<int, int>>& pairs, Bytes hop, Bytes max_bytes) {
  std::vector<int> order;
  for (const auto& pair : pairs) order.push_back(pair.first);
  for (const auto& pair : pairs) order.push_back(pair.second);
  return pairwise_over(std::move(order), int(pairs.size()), hop, max_bytes);
}

Experiment ring_over(std::vector<int> order, Bytes hop, Bytes max_bytes) {
  Experiment e;
  e.algorithm = collective::AlgorithmId::ring;
  const double n = double(order.size());
  e.order = std::move(order);
  size_call(e, double(hop.value) * n / (2 * (n - 1)), max_bytes);
  return e;
}

Experiment omnireduce_over(const std::vector<int>& nodes, int workers, Bytes port, Bytes max_bytes) {
  Experiment e;
  e.algorithm = collective::AlgorithmId::omnireduce;
  e.order = nodes;
  e.workers = workers;
  const bool beside = std::size_t(workers) == nodes.size();
  if (beside) e.order.insert(e.order.end(), nodes.begin(), nodes.end());
  const double aggregators = double(e.order.size()) - workers;
  // Each aggregator takes in its share of every worker's call.
  size_call(e, double(port.value) * aggregators / workers, max_bytes);
  return e;
}

Experiment one_way_test(int a, int b, Bytes hop, Bytes max_bytes) {
  Experiment e;
  e.algorithm = collective::AlgorithmId::naive;
  e.order = {a, b};
  size_call(e, double(hop.value), max_bytes);
  e.slice = e.bytes;
  return e;
}

}  // namespace ringtrue::diagnosis
