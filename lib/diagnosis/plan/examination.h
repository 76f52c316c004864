// One check as it goes: the stages of check.h, the time they may take, and what they have seen so far. In
// six files: examination.cc measures, sizes and concludes, small_fleet.cc and large_fleet.cc have the
// stages, routed.cc those where routes are known, few_at_once.cc those of a fleet of which nobody told how it
// hangs together, one_way.cc what tells a node's two directions apart.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/check.h"
#include "diagnosis/findings/findings.h"
#include "diagnosis/infer/attribute.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/late.h"
#include "diagnosis/infer/loss.h"
#include "diagnosis/infer/readings.h"
#include "diagnosis/infer/time_to_detect.h"
#include "diagnosis/infer/trunks.h"
#include "diagnosis/plan/neighbours.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {

class Examination {
 public:
  Examination(Measurer& measurer, const Options& options);
  Diagnosis run();

 private:
  // Calls of up to 256 KiB are played several times in a row, so that shorter ones take longer.
  static constexpr double min_call_bytes = 272 * 1024;  // a call
  static constexpr double min_hop_bytes = 8e6;          // a hop; a shaper's burst of 128 KiB is then 1.6 %
  // Of a hop at full speed: the more readings the better, but for a slow link longer ones, of so many bytes,
  // of which that burst is less than 1 %.
  static constexpr double target_seconds = 0.15, longest_target_seconds = 0.25, target_bytes = 15e6;
  static constexpr double watch_seconds = 0.1;  // of a hop, where nothing is slow so far
  static constexpr double very_slow_share = 0.6;
  static constexpr int rounds_of_a_look = 3;  // at every port again, where a ring was slow

  using NodePairs = std::vector<std::pair<int, int>>;

  // --- small_fleet.cc; stages: false ends the check
  bool small();
  bool short_ring();
  bool long_ring();
  bool ports();  // of a large fleet, too
  bool pairs();
  bool confirm();
  Bytes long_enough(const std::vector<int>& order, Bytes hop) const;
  bool watch();
  bool pairs_again();
  bool rings_again();
  bool shifts_over(std::vector<int> nodes, int max_shifts, double share_of_budget, const std::string& what);
  Experiment exchange(const std::vector<int>& order, int shift, Bytes hop) const;
  void note_ring(const Observation& observation);
  // Nodes with a side below 60 % of the reference: they make every experiment long that they are part of.
  std::vector<int> very_slow(const Inference& inference) const;
  std::vector<int> nodes_without(const std::vector<int>& some) const;

  // --- large_fleet.cc
  bool large();
  bool between_them();  // what follows the first short exchange
  bool probe();
  bool guess_leaves();
  bool first_look();
  int screening_rounds() const;
  bool last_ring();
  bool look_again();
  bool settle();
  bool cover();
  bool may_go_across(const Inference& inference, const Parts& parts, bool open) const;
  // nullopt: there is no time for it
  std::optional<Experiment> next_across(const Inference& inference) const;
  bool all_across(const Experiment& round);
  bool is_open(const Inference& inference, const Parts& parts) const;
  Wanted wanted(const Inference& inference, const Parts& parts) const;
  bool slow_ends(Wanted& wanted) const;
  NodePairs low_with_few(const Inference& inference) const;
  std::vector<Side> unseen_while_low(const Inference& inference) const;
  bool trunks_wanted(const Inference& inference, const Parts& parts) const;
  double crossings_measured() const;  // pairs between leaves, times their rails

  // --- routed.cc
  NodePairs pairs_to_repeat(const Inference& inference);
  bool routed();
  bool cover_trunks();
  bool cover_together();
  bool cover_alone();
  bool separate_trunks();
  bool play_round(Stage stage, const std::string& what, const std::vector<int>& order, bool screening);
  void note_crossings(const Observation& observation, bool confirming, bool screening);
  // Takes readings over trunks that are or may be slow out of those that judge nodes.
  void judge_trunks();
  void forget_changed_ways();
  void add_trunks(const Inference& inference, Diagnosis& to) const;

  // --- few_at_once.cc
  bool settle_untold();
  bool settle_few();
  NodePairs lone_paths(const Inference& inference, const Parts& parts) const;
  bool few_at_once(const NodePairs& pairs, const std::string& what, double seconds);
  void fit_room(const NodePairs& pairs, const Inference& inference);
  NodePairs next_pairs(const Inference& inference, bool more);
  std::vector<char> taken_by_the_dead() const;
  int partner_of(int x, int turn, const std::vector<int>& fine, const std::vector<int>& open,
                 const std::vector<char>& used, const Inference& inference);
  NodePairs low_paths(const Inference& inference);  // of a small fleet, to be ruled out

  // --- one_way.cc
  struct OneWayTest {
    int node = 0;
    int partner = 0;
  };
  // What a one-way test should tell next; nullopt: nothing, or none is possible.
  std::optional<OneWayTest> node_for_one_way(const Inference& inference) const;
  std::optional<OneWayTest> path_for_one_way(const Inference& inference) const;
  bool undecided_alone(int node, const Inference& inference) const;
  bool unsteady_alone(int node, const Inference& inference) const;
  bool play_one_way(const OneWayTest& pair, Bytes hop);

  // --- examination.cc
  // A dead node, or a side that is slow.
  bool any_node_proven(const Inference& inference) const;
  // While nothing is proven, for a share of the budget: what comes and goes may have been away so far.
  bool watches(const Inference& inference) const;
  // Of such a round: more of them in that time see more of what is there for a moment.
  Bytes watched_bytes(Bytes hop) const;
  void settle_losses();
  Pace pace(const Scope& scope, const Inference& inference) const;
  // Plays one experiment; nullopt when it failed or the check was cancelled (error is set then).
  // `losses_tell`: else it crowds links itself, and packets that get lost there are nobody's.
  std::optional<Observation> measure(Stage stage, const std::string& what, const Experiment& experiment,
                                     bool losses_tell = true);
  void note_others(const Observation& observation);
  bool is_dead(int node) const;
  void settle_dead();
  std::optional<Observation> without_the_dead(const Error& error, Stage stage, const std::string& what,
                                              Experiment experiment);
  bool beside_others_on_trunks(const HopReading& hop, const Observation& observation) const;
  // Whose readings may only rule a suspect out: nobody's, of hops between leaves, all.
  enum class Shared { none, across, all };
  bool measure_pairs(Stage stage, const std::string& what, const Experiment& experiment,
                     Shared shared = Shared::none);
  void set_expected(const Inference& inference);
  void fit_budget();

  bool known(const SlowestHop& slowest) const;  // measured as a pair as well
  Inference infer_now() const;
  Measured measured(const Inference& inference) const;
  void note_confirmed(const Inference& inference);

  double elapsed() const;
  double left() const { return options_.budget.value - elapsed(); }
  double wanted_bytes() const;  // a hop
  // Bytes a hop so that the slowest hop of `order` at `shift` takes about `seconds` at most.
  Bytes hop_bytes(const std::vector<int>& order, int shift, double seconds) const;
  double slowest_of(const std::vector<int>& order, int shift) const;
  bool fits(const std::vector<int>& order, int shift, Bytes hop) const;
  // Makes the budget longer, where that may settle what is open: suspects, or leaves that may be slow at
  // times, of which so many are expected of chance.
  bool takes_longer(const Inference& inference,
                    double chance_of_leaves = std::numeric_limits<double>::infinity());

  Measurer& measurer_;
  Options options_;
  const int n_;
  Thresholds thresholds_;
  std::optional<double> attainable_;
  Readings readings_;
  Readings alone_;
  Readings across_;  // of experiments in which all nodes sent to other leaves
  PairCounts counts_;
  Diagnosis out_;
  std::vector<int> all_;
  double start_ = 0;
  double overhead_ = 0.05;  // seconds an experiment takes beside its transfer, as seen so far
  double stretch_ = 1.3;    // what it takes over its timed transfer: checking, a warm-up, as seen so far
  double typical_ = 0;      // bytes per second of most hops
  double slowest_ = 0;      // of the slowest hop seen in a ring
  bool gross_ = false;      // a hop is so slow that every experiment with it is expensive
  bool overlapped_one_way_ = false;  // the world cannot use one direction at a time
  int fleet_repeats_ = 0;
  int confirm_rounds_ = 0;
  int retries_ = 0;
  int looked_again_ = 0;
  int rounds_ = 0;       // of a large fleet
  int watched_ = 0;      // and such beside them, while nothing is slow
  int few_rounds_ = 0;   // with few pairs at once
  int lone_rounds_ = 0;  // of paths across leaves
  double room_ = 0;      // pairs of such a round; 0: not chosen yet
  bool many_open_ = false;
  std::vector<int> few_times_;  // by node: in so many of them
  PairCounts few_pairs_;        // and by pair
  int too_shorts_ = 0;
  int across_rounds_ = 0;
  int across_run_ = -1;        // the last of them
  double across_slowest_ = 0;  // bytes per second, of the slowest hop of all of them
  std::optional<SlowestHop> slowest_hop_;
  std::vector<PortReading> ports_;
  Structure structure_;
  std::vector<int> groups_;  // by node: leaves, or what stands for them
  Latencies latencies_;
  Losses losses_;
  // Where routes are known: what was seen, what crossed which trunks, and what that means.
  struct Seen {
    Observation observation;
    int run = 0;
    bool confirming = false, screening = false;
  };
  std::vector<Seen> seen_;
  std::optional<Crossings> crossings_;
  TrunkInference trunks_;
  std::vector<int> same_;          // by element, the one that stands for all that no hop tells from it
  std::map<int, int> port_times_;  // how often one that is slow was measured for its node's sake
  int unmet_ = 0;                  // trunks between these nodes that no hop has crossed
  bool screening_ = true;
  std::vector<DeadNode> dead_;
  std::size_t proven_dead_ = 0;          // of them, the first: others have completed a run without them
  std::map<int, OthersTraffic> others_;  // by node
  TimeToDetect time_to_detect_;
};

}  // namespace ringtrue::diagnosis
