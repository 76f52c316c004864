#include "diagnosis/meetings.h"

#include <algorithm>

namespace ringtrue::diagnosis {

std::vector<Round> meet_nodes(int nodes) {
  // The circle method: one stays, the others move on by one place a round; an odd one out rests.
  const int places = nodes + nodes % 2;
  std::vector<Round> rounds;
  for (int turn = 0; turn + 1 < places; ++turn) {
    Round round;
    const auto at = [&](int place) { return place == 0 ? 0 : 1 + (place - 1 + turn) % (places - 1); };
    for (int place = 0; place < places / 2; ++place) {
      const int a = at(place), b = at(places - 1 - place);
      if (a < nodes && b < nodes) round.push_back({std::min(a, b), std::max(a, b)});
    }
    if (!round.empty()) rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> meet_ports(const Ports& ports, bool all) {
  std::vector<Round> rounds;
  for (const Round& nodes : meet_nodes(int(ports.size()))) {
    for (std::size_t k = 0, met = 1; met > 0; ++k) {
      Round round;
      for (const Meeting& m : nodes) {
        const auto &a = ports[std::size_t(m.node)], &b = ports[std::size_t(m.peer)];
        if (all ? k >= a.size() * b.size() : k >= std::min(a.size(), b.size())) continue;
        // Aligned ones first.
        const auto pair = all ? std::pair(a[k % a.size()], b[(k % a.size() + k / a.size()) % b.size()])
                              : std::pair(a[k], b[k]);
        round.push_back({m.node, m.peer, pair});
      }
      met = round.size();
      if (met > 0) rounds.push_back(std::move(round));
    }
  }
  return rounds;
}

std::vector<Round> meet_at_home(const Ports& ports) {
  std::vector<Round> rounds;
  std::size_t most = 0;
  for (const auto& list : ports) most = std::max(most, list.size());
  for (std::size_t apart = 0; apart < most; ++apart) {
    for (std::size_t k = 0; k + apart < most; ++k) {
      Round round;
      for (std::size_t node = 0; node < ports.size(); ++node) {
        if (k + apart >= ports[node].size()) continue;
        round.push_back({int(node), int(node), std::pair(ports[node][k], ports[node][k + apart])});
      }
      rounds.push_back(std::move(round));
    }
  }
  return rounds;
}

long port_pairs(const Ports& ports) {
  long all = 0, same_node = 0;
  for (const auto& list : ports) {
    all += long(list.size());
    same_node += long(list.size()) * long(list.size());
  }
  return all * all - same_node;
}

Experiment experiment_of(const Round& round, Bytes bytes, int iterations) {
  Experiment e;
  e.algorithm = "pairwise";
  e.bytes = bytes;
  e.iterations = iterations;
  e.shift = int(round.size());
  for (const bool first : {true, false}) {
    for (const Meeting& m : round) {
      e.order.push_back(first ? m.node : m.peer);
      if (m.ports) e.ports.push_back(first ? m.ports->first : m.ports->second);
    }
  }
  return e;
}

std::optional<Seconds> one_way(const Observation& observation, std::size_t meeting) {
  const std::size_t other = meeting + observation.experiment.order.size() / 2;
  if (other >= observation.times.size()) return std::nullopt;
  const auto &a = observation.times[meeting], &b = observation.times[other];
  std::optional<Seconds> least;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const Seconds half((a[i] + b[i]) / 2);
    if (half.value > 0 && (!least || half < *least)) least = half;
  }
  return least;
}

}  // namespace ringtrue::diagnosis
