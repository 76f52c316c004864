// What a check has seen so far, from wherever it comes: readings, round trips, losses, counters, dead nodes.
// Every experiment adds what all of them tell (add()); which of its readings say something of ports and
// paths is for the planner to know, who files them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnosis/counters.h"
#include "diagnosis/findings/report.h"
#include "diagnosis/infer/late.h"
#include "diagnosis/infer/loss.h"
#include "diagnosis/infer/readings.h"
#include "diagnosis/infer/time_to_detect.h"
#include "diagnosis/infer/trunks.h"

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

// An experiment to make.
struct Step {
  Stage stage = Stage::probe;
  std::string what;  // it is for, in a few words
  Experiment experiment;
  // Else it crowds links itself, and packets that get lost there are nobody's, or it carries hardly any.
  bool losses_tell = true;
};

struct Evidence {
  // `segment`: bytes that TCP carries in a packet.
  Evidence(std::vector<std::string> nodes, double segment);

  // What an experiment of any kind tells. `cost.runs` counts it already.
  void add(const Step& step, const Observation& observation);
  // Takes the slowest hop and the busbw of one over all nodes.
  void note_ring(const Observation& observation);
  bool is_dead(int node) const;

  std::vector<std::string> names;  // by node
  double segment = 1448;
  Readings readings;  // by which ports and paths are judged
  Readings alone;     // of single directions
  Readings across;    // of experiments in which all nodes sent to other leaves
  Latencies latencies;
  Losses losses;
  Windows counters;                     // of the nodes' devices, by node's name
  Rails rails;                          // that RDMA went through, by node's name
  std::map<int, OthersTraffic> others;  // by node: the most of it that mattered in any experiment
  std::vector<DeadNode> dead;
  std::optional<SlowestHop> slowest_hop;
  std::vector<PortReading> ports;  // of an omnireduce's aggregators; hints likewise
  std::optional<BytesPerSecond> ring_busbw;
  int fleet_repeats = 0;  // experiments made to confirm that the fleet is slow, or a part of it

  // Where routes are known: what was seen, what crossed which trunks, and what that means.
  struct OverTrunks {
    Observation observation;
    int run = 0;
    bool confirming = false, screening = false;
  };
  std::vector<OverTrunks> over_trunks;
  std::shared_ptr<const NodeRoutes> routes;  // of `crossings`
  std::optional<Crossings> crossings;
  TrunkInference trunks;
  std::vector<int> same;  // by element, the one that stands for all that no hop tells from it
  int unmet = 0;          // trunks between these nodes that no hop has crossed

  std::vector<RunRecord> runs;
  Cost cost;
  std::vector<NotChecked> not_checked;  // what was left out, and why
  std::optional<Error> error;           // why the check ended early
  TimeToDetect time_to_detect;

 private:
  void note_others(const Observation& observation);
};

}  // namespace ringtrue::diagnosis
