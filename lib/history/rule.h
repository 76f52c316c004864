// What is a regression: pure functions over what sessions read, the same for a file and for a model.
//
// A side is held against its own baseline, which is set once and never moves by itself, divided by the level
// of the fleet: the median, over all sides, of what they read over their baselines. So a fleet that moved
// together accuses nobody, and what falls slowly is still found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "history/types.h"

namespace ringtrue::history {

// How a session measured. Readings of sessions that differ in it are never held against one another.
struct Conditions {
  std::string transport, algorithm, sizes;
  int nodes = 0;
  std::optional<double> link_rate;  // declared, bytes per second
};
// "tcp ring auto 5-8 nodes 62500000 B/s". Of nodes the class alone counts: a check of 7 rates sides as one of
// 8 does.
std::string fingerprint(const Conditions& conditions);

inline constexpr int fewest_sessions = 10;  // for a baseline
inline constexpr double most_mad = 0.03;    // of the median: what scatters more tells nothing
inline constexpr double least_mad = 0.004;  // readings are in steps
inline constexpr double least_fall = 0.05;  // what is less is nobody's business
inline constexpr double mads = 5;
inline constexpr int fewest_sides = 4;                         // for a level
inline constexpr std::int64_t confirm_after_us = 600'000'000;  // another check, not the same disturbance

struct Value {
  double value = 0;
  int n = 0;  // partners: what only one of them shows may be that one's
};
using Values = std::map<std::int64_t, Value>;  // by side; unknown is absent

struct Norm {
  double median = 0, mad = 0;  // mad: 1.4826 times the median deviation
  int n = 0;                   // sessions

  double threshold() const;  // the share that has to be missing
};
using Norms = std::map<std::int64_t, Norm>;

// Where the fleet stands; nullopt where too few sides are known.
std::optional<double> level_of(const Values& session, const Norms& norms);

struct NewNorms {
  Norms sides;
  std::map<std::int64_t, Refused> refused;
  std::optional<Norm> level;
  std::optional<Refused> level_refused;
};
// Of accepted sessions that are alike. `pinned`: baselines that stay, by which the fleet's level is told
// then.
NewNorms norms_of(const std::vector<Values>& sessions, const Norms& pinned = {});

enum class Reads : std::uint8_t { unknown, good, between, low };

struct SideReads {
  std::int64_t side = 0;
  Reads reads = Reads::unknown;
  double ratio = 1;
  bool high = false;   // so much better that the baseline is too low
  bool apart = false;  // low beside those, too, that fell together
};

struct Judged {
  std::optional<double> level;
  Reads fleet = Reads::unknown;
  double fleet_ratio = 1;
  std::vector<SideReads> sides;  // those with a baseline
  int low = 0;
  bool together = false;  // so many are low that it is told once, as the fleet's
};
// `level`: of the fleet, where it has a baseline.
Judged judge(const Values& session, const Norms& norms, const std::optional<Norm>& level = std::nullopt);

// A regression as it goes on. What confirms a suspicion agrees with it: disturbances differ in depth, faults
// seldom.
struct Track {
  State state = State::suspected;
  int low = 0, good = 0;
  std::int64_t first_us = 0;
  double ratio = 1;  // that the latest low reading had

  bool open() const { return state <= State::acknowledged; }
};
struct Look {
  std::int64_t at_us = 0;
  double ratio = 1;
  bool confirming = false;  // measured anew because of the suspicion
  bool fleet = false;       // busy days come in pairs: one check more
  bool together = false;  // a part of the fleet moved: a low reading of one side begins and confirms nothing
};
// After a further session: nullopt where there is nothing to be followed.
std::optional<Track> advance(std::optional<Track> before, Reads reads, const Look& look);

// `points` in their order, the last the one in question; `norm`: nullopt where there is no baseline. nullopt:
// too few to say anything.
std::optional<Since> since_when(const std::vector<Point>& points, const std::optional<Norm>& norm);

}  // namespace ringtrue::history
