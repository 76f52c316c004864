#include "diagnosis/evidence.h"

#include <algorithm>

#include "base/statistics.h"

namespace ringtrue::diagnosis {

Evidence::Evidence(std::vector<std::string> nodes, double tcp_segment)
    : names(std::move(nodes)),
      segment(tcp_segment),
      readings(int(names.size())),
      alone(int(names.size())),
      across(int(names.size())),
      losses(tcp_segment) {}

void Evidence::add(const Step& step, const Observation& observation) {
  for (const HopReading& hop : observation.hops) cost.bytes += hop.bytes;
  latencies.add(observation, cost.runs);
  diagnosis::add(observation.counters, counters);
  for (const auto& [node, ports_of_it] : observation.rails) rails.try_emplace(node, ports_of_it);
  if (step.losses_tell) losses.add(observation, names, cost.runs);
  note_others(observation);
  const Experiment& experiment = step.experiment;
  RunRecord record{step.stage, experiment, observation.time, std::nullopt, {}};
  const bool omnireduce = experiment.algorithm == collective::AlgorithmId::omnireduce;
  if ((experiment.algorithm == collective::AlgorithmId::ring || omnireduce) && observation.time.value > 0) {
    const double n = omnireduce ? experiment.workers : double(experiment.order.size());
    record.busbw = BytesPerSecond(2 * (n - 1) / n * (experiment.bytes / observation.time).value);
  }
  if (omnireduce) record.ports = port_readings(observation);
  runs.push_back(std::move(record));
}

// Of each node the most that it carried for others, where that is so much that a reading says less.
void Evidence::note_others(const Observation& observation) {
  for (const HopReading& hop : observation.hops) {
    Reading r;
    r.rate = hop.rate().value_or(0);
    for (const bool sends : {true, false}) {
      const int node = sends ? hop.source : hop.destination;
      const OthersTraffic traffic = observation.others_of(node);
      const double rate = sends ? traffic.sends : traffic.receives;
      if (!r.is_beside(rate)) continue;
      double& most = sends ? others[node].sends : others[node].receives;
      most = std::max(most, rate);
    }
  }
}

void Evidence::note_ring(const Observation& observation) {
  SlowestHop slowest;
  slowest.typical = upper_median(hop_rates(observation));
  for (const HopReading& hop : observation.hops) {
    const auto rate = hop.rate();
    if (rate && (slowest.source < 0 || *rate < slowest.rate))
      slowest.source = hop.source, slowest.destination = hop.destination, slowest.rate = *rate;
  }
  if (slowest.source >= 0) slowest_hop = slowest;
  const RunRecord& run = runs.back();
  // A burst flatters a short one; the later is the longer.
  if (run.busbw && (run.stage != Stage::probe || observation.time.value >= settled_from))
    ring_busbw = run.busbw;
}

bool Evidence::is_dead(int node) const {
  return std::ranges::any_of(dead, [&](const DeadNode& d) { return d.node == node; });
}

}  // namespace ringtrue::diagnosis
