// From suspects to findings, what could not be told, and the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/late.h"

namespace ringtrue::diagnosis {

// The slowest hop of a ring over all nodes, as a first hint: not enough for a finding.
struct SlowestHop {
  int source = -1;
  int destination = -1;
  double rate = 0;     // bytes per second
  double typical = 0;  // upper median of the ring's hops
};

// A node without which the others go on.
struct DeadNode {
  int node = 0;
  Error error;
  std::optional<Stage> last_run{};  // that it took part in, of the check's; nullopt: none
  bool blocked = false;  // it lives, but was left out (Options::left_out), for a finding of its own
};

// What findings are drawn from.
struct Measured {
  const Readings& readings;  // as those of `inference` are
  const Readings& measured;
  const Readings& across;  // of experiments in which all nodes sent to other leaves
  const Inference& inference;
  const Thresholds& thresholds;
  std::optional<SlowestHop> slowest_hop;
  std::vector<PortReading> ports;  // of an omnireduce's aggregators; hints likewise
  int fleet_repeats = 0;           // experiments made to confirm that the whole fleet is slow
  Structure structure{};
  std::vector<Late> late{};
  double round_trip = 0;  // seconds: what is usual; 0: unknown
  std::vector<DeadNode> dead{};
  std::map<int, OthersTraffic> others{};  // by node: the most of it that mattered in any experiment
  double segment = 1448;                  // Options::segment
};

// Adds findings, not_checked and rates to `diagnosis`, whose nodes, expected and ring_busbw are filled in,
// and sets its verdict.
void conclude(const Measured& m, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
