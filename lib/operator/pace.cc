#include "operator/pace.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace ringtrue::ops {

BytesPerSecond local_pace(int ranks) {
  return BytesPerSecond(std::clamp(400e6 / std::max(ranks, 1), 10e6, 100e6));
}

namespace {

// Every ordered pair of nodes that `experiment` has a hop between.
std::set<std::pair<int, int>> ordered_pairs(const diagnosis::Experiment& experiment) {
  std::set<std::pair<int, int>> hops;
  const auto& order = experiment.order;
  if (experiment.workers > 0) {
    for (std::size_t w = 0; w < std::size_t(experiment.workers); ++w) {
      for (std::size_t a = std::size_t(experiment.workers); a < order.size(); ++a) {
        if (order[w] == order[a]) continue;
        hops.emplace(order[w], order[a]);
        hops.emplace(order[a], order[w]);
      }
    }
    return hops;
  }
  const std::size_t shift =
      experiment.algorithm == collective::AlgorithmId::pairwise ? std::size_t(experiment.shift) : 1;
  for (std::size_t i = 0; i < order.size(); ++i) hops.emplace(order[i], order[(i + shift) % order.size()]);
  return hops;
}

}  // namespace

std::vector<collective::Fault> paced(const diagnosis::Experiment& experiment,
                                     const std::vector<collective::Fault>& by_node, BytesPerSecond pace) {
  std::vector<collective::Fault> out;
  for (const collective::Fault& fault : by_node) {
    if (fault.kind != collective::Fault::Kind::throttle) out.push_back(fault);
  }
  for (const auto& [source, destination] : ordered_pairs(experiment)) {
    collective::Fault hop;
    hop.kind = collective::Fault::Kind::throttle;
    hop.source = source;
    hop.destination = destination;
    hop.rate = pace;
    for (const collective::Fault& fault : by_node) {
      if (fault.kind == hop.kind && fault.concerns(*hop.source, *hop.destination) &&
          fault.rate.value < hop.rate.value)
        hop.rate = fault.rate;
    }
    out.push_back(hop);
  }
  return out;
}

std::string faults_by_rank(const std::vector<collective::Fault>& by_node, const std::vector<int>& order) {
  std::string out;
  // An end that is any node stays any rank.
  const auto ranks_of = [&](const std::optional<collective::Rank>& end) {
    std::vector<std::optional<collective::Rank>> ranks;
    if (!end) ranks.emplace_back();
    for (std::size_t rank = 0; end && rank < order.size(); ++rank) {
      if (order[rank] == *end) ranks.emplace_back(collective::Rank(rank));
    }
    return ranks;
  };
  for (const collective::Fault& fault : by_node) {
    for (const auto source : ranks_of(fault.source)) {
      for (const auto destination : ranks_of(fault.destination)) {
        collective::Fault of_ranks = fault;
        of_ranks.source = source;
        of_ranks.destination = destination;
        if (!out.empty()) out += ';';
        out += collective::to_text(of_ranks);
      }
    }
  }
  return out;
}

}  // namespace ringtrue::ops
