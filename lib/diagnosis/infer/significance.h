// What the readings of a suspect prove, and what they lack.
//
// - A suspect is confirmed by readings of which every one is below `warning`: 4 where the best is below 70 %
//   of the reference, 5 below 85 %, 8 below 90 %, else 12; from three experiments, two of them made for
//   confirmation, with two known-good partners (a path has only its own two ends); and the best agree: two
//   within 15 %, 3 %, 3 %, three within 1.5 % (half below 50 %). At a true limit readings pile up, in mere
//   disturbance they do not; twice as many of a large fleet's side need not agree. And what is missing must
//   be more than the readings scatter by (their median below their best), or better ones may still come.
// - Where pairs that can do better read as low in more than a quarter of their readings, the machine is
//   disturbed that deeply and there is no suspect; and a suspect is confirmed only if so many low readings in
//   a row are no chance: share^readings, times the sides and paths that there are, below 0.1 %.
// - A fleet that is measured between neighbours (plan.h) tells its own noise: the median deviation of all its
//   readings. A suspect that is 10 % and five times the noise below is confirmed by three readings, two of
//   them repeats; a path across leaves, on whose trunks others may send, by four. Most of its pairs are
//   measured once, so that how common low readings are is told by pairs below one leaf; across leaves, where
//   a way has twice the links and more traffic on them, it is taken three times. There chance is to be below
//   0.001 %, 0.0001 % for a path that is not known to cross leaves. That a side's readings lie near together
//   counts: a slow link's do, disturbances are of all depths. Of a node both of whose sides are slow, what
//   counts is how often both sides of others read as low in one run; that is to be below 0.001 %.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

// The probability that as many readings are as low by chance.
double chance_of(double share_as_low, int readings);
// The same, and that they lie as near together: a slow link's do, those of disturbances only where all are of
// one kind. `between`: for each reading but the best, the share of all that lie between the two; rising.
double chance_of(double share_as_low, const std::vector<double>& between);
// Whether what has this chance on one side or path may be chance, with so many of them: see above.
bool may_be_chance(double chance, double candidates);
inline constexpr double common_share = 0.25;
// A path across leaves is proven by so many readings of runs of so few hops.
inline constexpr int lone_readings = 2, most_lone_hops = 6;
// Of the reference: certainly slow, where ticks may have made the reference or the reading wrong by half.
inline constexpr double gross_share = 0.4;

// How many of a hop's rails never did what is due.
std::size_t slow_rails(const std::vector<Reading>& readings, double reference);

class Significance {
 public:
  // All must outlive it. Of `inference`: the reference, and what every side showed.
  Significance(const Readings& readings, const Thresholds& thresholds, const Structure& structure,
               const Inference& inference);

  // The suspect with its readings, and whether they suffice. nullopt: they suspect nothing.
  // `limit`: what they would show if the suspect were healthy, in bytes per second. `partners_needed`: how
  // many different ones, known to be good.
  std::optional<Suspect> test(Suspect suspect, std::vector<Reading> readings, double limit,
                              int partners_needed) const;
  // Confirms both sides of a node where only chance stood against each.
  void join_sides(std::vector<Suspect>& suspects) const;

 private:
  std::optional<Suspect> test_untold(Suspect suspect, std::vector<Reading> readings, double limit,
                                     int partners_needed) const;
  double chance_of_screening(const Suspect& side, double low) const;
  std::string lacks_partners_beside_others(const Suspect& s, int partners, double limit) const;
  std::string lacks(const std::vector<Reading>& readings, double ratio, int partners, int partners_needed,
                    bool crosses) const;
  std::vector<double> shares_between(const Suspect& suspect, const std::vector<Reading>& list) const;
  double share_of_both(const Suspect& send, const Suspect& receive) const;
  std::string lacks_solitude(const Suspect& path) const;
  bool has_companion(const Suspect& path) const;
  bool others_cross_well(const Suspect& side) const;
  double share_as_low_across(const Suspect& path) const;
  bool others_carry_more_across(const Suspect& path) const;
  bool may_be_like_others_across(const Suspect& path) const;

  const Readings& readings_;
  const Thresholds& t_;
  const Structure& structure_;
  const Inference& inference_;
  const int n_;
  const bool sparse_;          // measured between neighbours
  const bool untold_;          // nobody told how the nodes hang together, and they are many
  const bool lasting_;         // some node carries others' traffic most of the time
  const bool lasting_others_;  // nor what others' traffic crosses
  const BaseRate common_;
};

}  // namespace ringtrue::diagnosis
