// From readings to suspects: which sides and paths, as few as possible, explain every slow pair.
//
// Model: a reading of X -> Y shows min(what X can send, what the path carries, what Y can receive), lowered
// by disturbances and never raised by them. So a pair is as good as its best reading; what X can send is at
// least the best of X -> *, what Y can receive at least the best of * -> Y.
//
// - A pair is slow when its best reading is below `warning` of the reference.
// - A side may be suspected only if all of its measured pairs (two or more) are slow. The suspected are the
//   smallest set of sides and single paths that covers all slow pairs, a side before a path.
// - A path is suspected when its best reading is 7 % below what both of its ends can do (25 % where an end is
//   suspected itself).
// - Data that waits in a slow port delays the acknowledgements that pass it the same way, and with them the
//   node's other direction. So where both sides of a node look slow, and for paths at a node whose side in
//   the other direction is slow, what they carry alone decides.
// What the readings of a suspect must be to confirm it is in significance.h.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/report.h"
#include "diagnosis/infer/others_beside.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

struct Thresholds {
  double warning = 0.95;
  double critical = 0.85;
  double path = 0.93;               // of what both ends can do, where neither is suspected
  double path_of_suspected = 0.75;  // of what both ends can do, where one is
  double gross = 0.7;               // below: acknowledgements queue so long that the other direction suffers
};

// So few that there is hardly anybody to compare with.
inline constexpr int few_nodes = 4;

struct Reference {
  double rate = 0;              // bytes per second; 0: nothing is known
  bool majority = false;        // of the fleet, not the declared rate
  bool fleet_slow = false;      // the declared rate is known, and nobody comes near it
  bool few_alike = false;       // the same of few nodes, by so little that the declaration may be wrong
  bool above_declared = false;  // readings well above the declared rate: the declaration is wrong
  bool momentary = false;       // most sides were measured for a few ticks only: good for gross faults
  bool kept_short = false;      // most sides may do better: what was far slower kept their readings short
  bool shown_by_few = false;    // most sides do not reach it, whatever keeps them from it
  double share = 0;             // the majority over what is attainable at the declared rate; 0: none declared
  double scatter = 0;           // of what healthy sides do at their best: its standard deviation, as a share
};

struct Side {
  int node = 0;
  Direction direction = Direction::sends;
  bool operator==(const Side&) const = default;
};

// The pairs, source first, of which this side is an end.
std::vector<std::pair<int, int>> pairs_of(const Readings& readings, Side side);

// Of what is not slow for good, as far as one check tells.
enum class Course { at_times, began, ended };

struct Suspect {
  // sender, receiver or path; node: the program that receives there holds back what is sent to it
  ScopeType type = ScopeType::path;
  int node = 0;
  int peer = -1;  // path only
  double best = 0;
  double ratio = 0;               // best / reference
  std::vector<Reading> readings;  // that count, fastest first
  int partners = 0;               // different ones in `readings`
  bool alone = false;       // only one direction at a time says more, and `readings` are of such experiments
  bool chance = false;      // so many readings are as low that these may be chance
  bool ends_alike = false;  // a path whose ends nobody else can show better: they are suspects as well
  bool beside_others = false;  // a path that others' lasting traffic may share links with
  // At times: whose lasting traffic for others may be what it lacks then, until both have met; -1: nobody's.
  int busy = -1;
  bool else_sure = false;   // nothing but that, if that, is missing
  bool in_company = false;  // else sure, but for others that may share a trunk with it
  bool confirmed = false;
  bool alternative = false;  // another explanation with as few causes exists
  bool unsteady = false;  // now and then: `best` is what it does then, and `readings` are those that are low
  Course course = Course::at_times;
  int low_runs = 0, all_runs = 0;  // of that: experiments
  double low_share = 0;            // of them, or of their time
  double chance_of_it = 0;         // and how likely it is by chance, over all sides
  std::string missing;             // why not confirmed; empty when confirmed

  // Whether it would slow what `source` sends to `destination`.
  bool explains(int source, int destination) const;
};

// Nodes that are slow alike with all others and not among themselves; see groups.h.
struct SlowGroup {
  std::vector<int> members;  // rising
  bool sends = false, receives = false;
  std::vector<std::pair<int, int>> pairs;  // between it and the others, in the slow direction
  std::vector<Reading> readings;           // of these, alone or in runs of few hops; fastest first
  bool halves = false;     // the others are one group too: nobody can say which of the two it is
  bool confirmed = false;  // so many low readings of several members and partners are no chance

  // Whether it slows what `source` sends to `destination`.
  bool explains(int source, int destination) const;
};

struct Inference {
  Reference reference;    // of the fastest generation
  Thresholds thresholds;  // no closer than the fleet scatters
  // By node, where there are several generations: its share of what the fastest does. All rates below are
  // then as if it were the fastest.
  std::vector<double> generations;
  std::vector<double> held_to;               // the same as far as partners let it show (generations.h)
  std::shared_ptr<const Readings> evened;    // as the rates below are; none: as they were measured
  std::vector<std::optional<double>> sends;  // by node: best of its pairs
  std::vector<std::optional<double>> receives;
  std::vector<OthersTraffic> lasting;  // Readings::lasting_others()
  double lasting_others = 0;           // the most of these, of one node and direction
  // By node: who may be what its sides lack.
  std::vector<OthersBeside> beside_sends, beside_receives;
  std::vector<Suspect> suspects;  // slowest first
  // Pairs that read low now and then though both of their ends do well, where nobody told how the nodes hang
  // together; and whether they are so many that hops seem to share links, as the company has it. Then a path
  // is decided by what it carries alone.
  int low_pairs = 0;
  bool crowded = false;
  std::vector<SlowGroup> groups;  // where nobody told how the nodes hang together
  // Sides whose readings mean nothing beside their node's other side, which is slow: alone they did better,
  // or, where that is not known, the other side is below Thresholds::gross.
  std::vector<Side> overshadowed;
  struct FineAlone {
    Side side;
    double rate = 0;
  };
  // Sides that were slow only while their acknowledgements waited behind others' traffic: one direction at a
  // time these have more room, and what the side carries then decides.
  std::vector<Side> waiting;
  std::vector<FineAlone> fine_alone;  // of both: alone, they did well

  const OthersBeside& beside_of(const Suspect& side) const {
    return side.type == ScopeType::sender
               ? beside_sends[std::size_t(side.node)]
               : beside_receives[std::size_t(side.peer < 0 ? side.node : side.peer)];
  }
  static constexpr double others_at_most = 1.2;  // times what was seen of them
  // Whether a side lacks no more than others send all the time, who may share its links: `lack` of what is
  // due, as the rates above are. While it was alone they may have sent more than was seen.
  bool lacks_what_others_send(const Suspect& side, double lack) const {
    if (side.type == ScopeType::node) return false;  // its program says so itself
    const OthersBeside& beside = beside_of(side);
    return side.alone ? beside.rate > 0 : lack * generation(side) <= others_at_most * beside.rate;
  }
  // What a hop is to carry by what both ends have shown; 0: one has shown nothing.
  double due(int source, int destination) const {
    return std::min({reference.rate, sends[std::size_t(source)].value_or(0),
                     receives[std::size_t(destination)].value_or(0)});
  }
  const Readings& rated(const Readings& measured) const { return evened ? *evened : measured; }
  double generation(int node) const { return held_to.empty() ? 1 : held_to[std::size_t(node)]; }
  double slowest_generation() const {
    return held_to.empty() ? 1 : *std::min_element(held_to.begin(), held_to.end());
  }
  double fastest_generation() const {
    return held_to.empty() ? 1 : *std::max_element(held_to.begin(), held_to.end());
  }
  // Of a hop: its slower end's.
  double generation(int source, int destination) const {
    return std::min(generation(source), generation(destination));
  }
  // What a rate of the suspect is in truth over what stands here.
  double generation(const Suspect& s) const {
    return s.peer < 0 ? generation(s.node) : generation(s.node, s.peer);
  }
  const Suspect* find(ScopeType type, int node) const;  // sender or receiver
  bool is_overshadowed(Side side) const;
  bool is_waiting(int node) const;                       // a side of it
  std::optional<double> fine_alone_at(Side side) const;  // the rate, or nullopt
  bool explains(int source, int destination) const;      // whether any suspect does
  // Whether a path is low as a side of its ends is that may be slow at times.
  bool may_be_at_times(const Suspect& path) const;
  // Whether a side of its ends reads as low at times, maybe by chance.
  bool end_may_be_as_slow(const Suspect& path) const;
};

// `attainable`: of the declared link rate; nullopt: unknown. `alone`: readings of single directions (one-way
// tests), which decide where both sides of a node look slow.
Inference infer(const Readings& readings, const Readings& alone, std::optional<double> attainable,
                std::optional<double> nominal, const Thresholds& thresholds, const Structure& structure = {});

// Pairs that read below `critical` so far, though others are not often as low that share no node with them,
// or of few nodes no port: no pass, whether they are suspects or not.
std::vector<std::pair<int, int>> inconclusive_pairs(const Readings& readings, const Inference& inference,
                                                    const Thresholds& thresholds);

// How far a suspect that is not proven stands out, 0..1: of k readings within 5 % of the best, with the gap
// g = 1 - ratio and the spread s = 1 - median / best, (1 - 2^-k) g / (g + s + 0.02).
double prominence(const Suspect& suspect);
// 1 - median / best of its readings; 0 of none.
double spread(const Suspect& suspect);

}  // namespace ringtrue::diagnosis
