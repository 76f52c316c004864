#include "diagnosis/sweep/pair_schedule.h"

#include <algorithm>

namespace ringtrue::diagnosis {

std::vector<Round> pair_nodes(int nodes) {
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

namespace {

using PortPairs = std::vector<std::pair<RdmaPort, RdmaPort>>;

// As runs pair two nodes' rails: those of one name, then what is left, in order.
PortPairs pair_ports(std::vector<RdmaPort> a, std::vector<RdmaPort> b) {
  PortPairs pairs;
  std::erase_if(a, [&](const RdmaPort& port) {
    const bool both = std::erase(b, port) > 0;
    if (both) pairs.emplace_back(port, port);
    return both;
  });
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) pairs.emplace_back(a[k], b[k]);
  return pairs;
}

PortPairs all_pairs(const std::vector<RdmaPort>& a, const std::vector<RdmaPort>& b) {
  PortPairs pairs;
  for (std::size_t k = 0; k < a.size() * b.size(); ++k)  // aligned ones first
    pairs.emplace_back(a[k % a.size()], b[(k % a.size() + k / a.size()) % b.size()]);
  return pairs;
}

}  // namespace

std::vector<Round> pair_ports(const Ports& ports, bool all) {
  std::vector<Round> rounds;
  for (const Round& nodes : pair_nodes(int(ports.size()))) {
    std::vector<PortPairs> pairs;
    for (const PairTest& m : nodes) {
      const auto &a = ports[std::size_t(m.node)], &b = ports[std::size_t(m.peer)];
      pairs.push_back(all ? all_pairs(a, b) : pair_ports(a, b));
    }
    for (std::size_t k = 0, met = 1; met > 0; ++k) {
      Round round;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (k < pairs[i].size()) round.push_back({nodes[i].node, nodes[i].peer, pairs[i][k]});
      met = round.size();
      if (met > 0) rounds.push_back(std::move(round));
    }
  }
  return rounds;
}

std::vector<Round> loopback_pairs(const Ports& ports) {
  std::vector<Round> rounds;
  std::size_t max_ports = 0;
  for (const auto& list : ports) max_ports = std::max(max_ports, list.size());
  for (std::size_t apart = 0; apart < max_ports; ++apart) {
    for (std::size_t k = 0; k + apart < max_ports; ++k) {
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

std::array<PairSchedule::End, 2> PairSchedule::ends_of(const PairTest& m) {
  if (!m.ports) return {End{m.node, {}}, End{m.peer, {}}};
  return {End{m.node, m.ports->first}, End{m.peer, m.ports->second}};
}

bool PairSchedule::has_met(const End& end) const {
  const auto known = ends_.find(end);
  return known != ends_.end() && known->second.met;
}

const Error* PairSchedule::unreachable(const PairTest& test) const {
  for (const End& end : ends_of(test)) {
    const auto known = ends_.find(end);
    if (known == ends_.end() || known->second.met) continue;
    const auto& missed = known->second.missed;
    if (std::count_if(missed.begin(), missed.end(), [&](const End& e) { return has_met(e); }) >= 2)
      return &known->second.last;
  }
  return nullptr;
}

Result<void> PairSchedule::play(const Round& round) {
  Round left;
  for (const PairTest& m : round) {
    if (const Error* const why = unreachable(m))
      world_.failed(m, *why);
    else
      left.push_back(m);
  }
  if (left.empty()) return {};
  const auto played = world_.play(left);
  if (played) {
    for (const PairTest& m : left)
      for (const End& end : ends_of(m)) ends_[end].met = true;
    return {};
  }
  if (played.error().cause == Cause::cancelled) return played;
  if (const auto renewed = world_.renew(); !renewed) return renewed;
  if (left.size() > 1) {
    for (const PairTest& m : left)
      if (const auto alone = play({m}); !alone) return alone;
    return {};
  }
  const auto ends = ends_of(left[0]);
  for (const std::size_t e : {0, 1}) {
    Record& record = ends_[ends[e]];
    record.missed.insert(ends[1 - e]);
    record.last = played.error();
  }
  world_.failed(left[0], played.error());
  return {};
}

Experiment experiment_of(const Round& round, Bytes bytes, int iterations) {
  Experiment e;
  e.algorithm = collective::AlgorithmId::pairwise;
  e.bytes = bytes;
  e.iterations = iterations;
  e.shift = int(round.size());
  for (const bool first : {true, false}) {
    for (const PairTest& m : round) {
      e.order.push_back(first ? m.node : m.peer);
      if (m.ports) e.ports.push_back(first ? m.ports->first : m.ports->second);
    }
  }
  return e;
}

std::optional<Seconds> one_way(const Observation& observation, std::size_t test) {
  const std::size_t other = test + observation.experiment.order.size() / 2;
  if (other >= observation.times.size()) return std::nullopt;
  const auto &a = observation.times[test], &b = observation.times[other];
  std::optional<Seconds> smallest;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const Seconds half((a[i] + b[i]) / 2);
    if (half.value > 0 && (!smallest || half < *smallest)) smallest = half;
  }
  return smallest;
}

}  // namespace ringtrue::diagnosis
