// What to measure next: the stages of check.h, and the time they may take. Each stage is a coroutine, which
// stops at every experiment that it wants; next() hands that out, and what came of it goes to answer() or
// failed(). In six files: planner.cc sizes and files what is measured, small_fleet.cc and large_fleet.cc have
// the stages, routed.cc those where routes are known, few_at_once.cc those of a fleet of which nobody told
// how it hangs together, one_way.cc what tells a node's two directions apart.
#pragma once

#include <coroutine>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/task.h"
#include "diagnosis/check.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/evidence.h"
#include "diagnosis/infer/attribute.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/plan/neighbours.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {

class Planner {
 public:
  // `told`: what is known of the fabric. `ranks_a_node`: Measurer::ranks_a_node(). Files what is measured in
  // `evidence`, which outlives it.
  Planner(Evidence& evidence, Structure told, const Options& options, int ranks_a_node);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The next experiment, the same until it is answered; nullptr: enough was seen, or the check ends with an
  // error (Evidence::error).
  const Step* next();
  void answer(Observation observation);
  // `can_go_on`: Measurer::outlives_failures().
  void failed(const Error& error, bool can_go_on);

  // How the nodes hang together, as far as it was told or round trips have shown.
  const Structure& fabric() const { return fabric_; }
  // After all experiments: what these hops have read says nothing of trunks (Measurer::changed_ways()).
  void forget(const std::vector<std::pair<int, int>>& changed_ways);

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

  using Task = collective::Task;
  using NodePairs = std::vector<std::pair<int, int>>;

  // --- small_fleet.cc
  Task small();
  Task short_ring();
  Task long_ring();
  Task ports();  // of a large fleet, too
  Task pairs();
  Task confirm();
  Bytes long_enough(const std::vector<int>& order, Bytes hop) const;
  Task watch();
  Task pairs_again();
  Task rings_again();
  Task shifts_over(std::vector<int> nodes, int max_shifts, double share_of_budget, std::string_view what);
  Experiment exchange(const std::vector<int>& order, int shift, Bytes hop) const;
  void note_ring(const Observation& observation);
  // Nodes with a side below 60 % of the reference: they make every experiment long that they are part of.
  std::vector<int> very_slow(const Inference& inference) const;
  std::vector<int> nodes_without(const std::vector<int>& some) const;

  // --- large_fleet.cc
  Task large();
  Task between_them();  // what follows the first short exchange
  Task probe();
  Task guess_leaves();
  Task first_look();
  int screening_rounds() const;
  Task last_ring();
  Task look_again();
  Task settle();
  Task cover();
  bool may_go_across(const Inference& inference, const Parts& parts, bool open) const;
  // nullopt: there is no time for it
  std::optional<Experiment> next_across(const Inference& inference) const;
  Task all_across(const Experiment& round);
  bool is_open(const Inference& inference, const Parts& parts) const;
  Wanted wanted(const Inference& inference, const Parts& parts) const;
  bool slow_ends(Wanted& wanted) const;
  NodePairs among_slow_alike(const Inference& inference) const;
  NodePairs low_with_few(const Inference& inference) const;
  std::vector<Side> unseen_while_low(const Inference& inference) const;
  bool trunks_wanted(const Inference& inference, const Parts& parts) const;
  double crossings_measured() const;  // pairs between leaves, times their rails

  // --- routed.cc
  NodePairs pairs_to_repeat(const Inference& inference);
  Task routed();
  Task cover_trunks();
  Task cover_together();
  Task cover_alone();
  Task separate_trunks();
  Task play_round(Stage stage, std::string_view what, const std::vector<int>& order, bool screening);
  void note_crossings(const Observation& observation, bool confirming, bool screening);
  // Takes readings over trunks that are or may be slow out of those that judge nodes.
  void judge_trunks();

  // --- few_at_once.cc
  Task settle_untold();
  Task settle_few();
  NodePairs lone_paths(const Inference& inference, const Parts& parts) const;
  Task few_at_once(const NodePairs& pairs, std::string_view what, double seconds);
  bool seldom_crowded(const Inference& inference) const;
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
  // Whether all nodes are to be measured again, as the fleet or a part of it seems slow alike.
  bool repeats_fleet(const Inference& inference) const;
  std::optional<OneWayTest> node_for_one_way(const Inference& inference) const;
  std::size_t one_way_tests(int x) const;  // made of it so far
  std::optional<int> partner_for_one_way(int x, const Inference& inference) const;
  std::optional<OneWayTest> path_for_one_way(const Inference& inference) const;
  bool many_both_ways(const Inference& inference) const;
  bool after_one_way() const;  // the last experiment was such a test
  bool undecided_alone(int node, const Inference& inference) const;
  bool waiting_alone(int node, const Inference& inference) const;
  bool unsteady_alone(int node, const Inference& inference) const;
  Task play_one_way(const OneWayTest& pair, Bytes hop);

  // --- planner.cc
  // A dead node, or a side that is slow.
  bool any_node_proven(const Inference& inference) const;
  // While nothing is proven, for a share of the budget: what comes and goes may have been away so far.
  bool watches(const Inference& inference) const;
  // Of such a round: more of them in that time see more of what is there for a moment.
  Bytes watched_bytes(Bytes hop) const;
  Task main();
  Task settle_losses();
  Task settle_dead();
  // Has one experiment made, and what all of them tell filed; the observation is `made_` then. One that fails
  // ends the check.
  Task measure(Stage stage, std::string_view what, const Experiment& experiment, bool losses_tell = true);
  // Whether the error names one of the experiment's nodes that the others can go on without.
  bool leave_out(const Error& error, Experiment& experiment);
  // Whose readings may only rule a suspect out: nobody's, of hops between leaves, all.
  enum class Shared { none, across, all };
  Task measure_pairs(Stage stage, std::string_view what, const Experiment& experiment,
                     Shared shared = Shared::none);
  bool beside_others_on_trunks(const HopReading& hop, const Observation& observation) const;
  void note_time(double transfer, double wall);
  void fit_budget();

  bool known(const SlowestHop& slowest) const;  // measured as a pair as well
  Inference infer_now() const { return infer(seen_, fabric_, standards_); }
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
  bool make_longer(double times = 2);  // false: it is as long as it may be
  // Beside those that are proven.
  bool another_is_slow(const Inference& inference) const;
  bool other_side_is_slow(const Inference& inference) const;

  // co_await Suspended{...}: until the experiment was made. co_await Ended{}: for ever.
  struct Suspended {
    std::coroutine_handle<>& waiting;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> self) const { waiting = self; }
    void await_resume() const {}
  };
  using Ended = std::suspend_always;

  Evidence& seen_;
  Structure fabric_;
  Options options_;
  const int n_;
  const int ranks_a_node_;
  Standards standards_;
  Task task_;  // what is under way: main(), and what follows it
  int tasks_begun_ = 0;
  std::coroutine_handle<> waiting_;  // for the step's answer
  std::optional<Step> step_;
  std::optional<Observation> made_;
  std::optional<Error> failure_;
  bool can_go_on_ = false;

  PairCounts counts_;
  std::vector<int> all_;
  std::vector<int> groups_;  // by node: leaves, or what stands for them
  double start_ = 0;
  double overhead_ = 0.05;  // seconds an experiment takes beside its transfer, as seen so far
  double stretch_ = 1.3;    // what it takes over its timed transfer: checking, a warm-up, as seen so far
  double typical_ = 0;      // bytes per second of most hops
  double slowest_ = 0;      // of the slowest hop seen in a ring
  bool gross_ = false;      // a hop is so slow that every experiment with it is expensive
  bool overlapped_one_way_ = false;  // the world cannot use one direction at a time
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
  int long_rounds_ = 0;  // without nodes that are far slower
  int across_rounds_ = 0;
  int across_run_ = -1;            // the last of them
  double across_slowest_ = 0;      // bytes per second, of the slowest hop of all of them
  std::map<int, int> port_times_;  // how often one that is slow was measured for its node's sake
  bool screening_ = true;          // the round that is made is not for what had been slow before
  std::size_t proven_dead_ = 0;    // of Evidence::dead, the first: others have completed a run without them
};

}  // namespace ringtrue::diagnosis
