// The health check: screens every hop at once, measures suspects again with changing partners, names the slow
// wire or says that it could not tell.
//
//   probe    a short ring over all nodes: the rough rate of every hop, hence the size of what follows
//   ring     a longer one: busbw as it is now
//   ports    where asked for: an omnireduce of dense data, whose aggregators' ports take in what many send at
//            once, as no ring shows. That shares out ports unevenly, so that a slow port supports
//            what the pairs find and never a reason by itself
//   pairs    pairwise shifts, each port with one flow in and one out: every ordered pair; where the ring
//            showed a hop below 60 % of the typical one, short ones over all nodes first, then full ones
//            without the nodes that cause it
//   confirm  suspects again, at least twice, in orders that give them known-good partners and new ones
//   one-way  where both sides of a node look slow: each direction by itself, because acknowledgements that
//            queue behind a slow port's data slow the other direction too; of two nodes alone, always
//
// Of more than 16 nodes, or where leaves are known (large_fleet.cc): the probe is an exchange between
// neighbours, pairs are two rounds of such, so that no trunk is shared; suspects meet other neighbours until
// they are proven or ruled out, most often in two more; pairs across leaves, until each spine was met; the
// ring comes last, if at all. What is slow may then be a NIC, a rail, a leaf, a trunk or a spine
// (attribute.h).
//   cover    where asked for: shifts over all nodes that together hold every ordered pair
//
// Where nothing was slow and no routes are told, all ports are measured again, for a shorter time each, until
// 3 s of 16 are used: what comes and goes may have been away.
//
// Of eight nodes and more of which nobody told which leaves they hang below, short messages are tried after
// the probe (infer/leaf_guess.h): where round trips tell it, the check goes on as if leaves were known. What
// is slow now and then is told by infer/unsteady.h.
//
// How a reading is judged is in inference.h. Limits: the reference without a link rate is the fleet's
// majority, so it is wrong when half of all sides or more are slow alike; with two nodes sender, receiver and
// path cannot be told apart; a path fault milder than 7 % is not looked for; beyond 16 nodes, only paths that
// were measured (coverage) are rated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/units.h"
#include "diagnosis/findings/report.h"
#include "diagnosis/measurer.h"
#include "ideal/rates.h"

namespace ringtrue::diagnosis {

// Which paths a check of a large fleet is to measure, beside every port.
enum class PathCoverage {
  ports,   // those that rating every port takes
  trunks,  // as many between leaves, where these are known, as meet each spine most likely
  pairs    // all ordered pairs, by shifts that together hold each of them once, as far as the budget goes
};

// What is suspected while a check goes on.
struct Candidate {
  Scope scope;
  double confidence = 0;   // 0..1; where not confirmed: prominence() in inference.h
  bool confirmed = false;  // it would be a finding if the check ended now
};

// Of a check for which nobody said how long it may take.
inline constexpr Seconds usual_budget_at_most{60};

struct Options {
  std::optional<BytesPerSecond>
      link_rate;  // nominal, one way; unknown: the fleet's majority is the reference
  // What a program can reach of link_rate; Ethernet with TCP at an MTU of 1500 if not given.
  std::optional<ideal::Efficiency> efficiency;
  double segment = 1448;  // bytes that TCP carries in a packet, for shares of what was sent again
  double warning = 0.95;  // of the expected rate
  double critical = 0.85;
  Seconds budget{16};  // for all experiments; the whole command has 20 s for leases and release as well
  // Where readings take long at the rates that are found, it becomes as much as they need, up to this; and
  // where it is spent, nothing is proven and something is open that more readings may settle, twice as much.
  Seconds budget_at_most{0};
  Bytes max_bytes{256u << 20};  // of one call, for the nodes' memory; longer runs take more iterations
  // Of an omnireduce: the first nodes are its workers, all others aggregate; where all are workers, each
  // aggregates as well. 0: none is played.
  int workers = 0;
  // Nodes that are not measured, because they do not reach all others (findings/reach.h).
  std::vector<int> left_out;
  PathCoverage path_coverage = PathCoverage::trunks;
  std::uint64_t seed = 1;          // of the orders in which partners change
  std::function<Seconds()> clock;  // monotonic; the machine's if not given
  // Before each experiment: the stage, what it does in a few words, and how much of the budget is used, 0..1.
  std::function<void(Stage stage, const std::string& what, double used)> on_progress;
  // Once the rates are roughly known: the time that experiments may take, and what a reading may take of it.
  // Again, without the latter, each time that they may take longer because something is open.
  std::function<void(Seconds budget, std::optional<Seconds> reading)> on_budget;
  // After each round: what is confirmed by then, most severe first, and then what else is suspected.
  std::function<void(const std::vector<Candidate>& suspects)> on_suspects;
  // True ends the check before the next experiment, as an error with Cause::cancelled.
  std::function<bool()> cancelled;
};

struct Standards;
// What readings are held against: diagnose.h.
Standards standards_of(const Options& options);

// A loop of the planner (plan/planner.h) and `measurer`, and diagnose() of what it has seen.
// Never fails as a whole: an experiment that fails ends the check, with what was proven until then.
Diagnosis run_check(Measurer& measurer, const Options& options);

}  // namespace ringtrue::diagnosis
