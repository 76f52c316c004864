// What the history holds, as values. Unknown is nullopt, never 0. Numbers of sessions rise in the order in
// which they were recorded, whatever the wall clock did; times are microseconds since 1970, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/keys.h"

namespace ringtrue::history {

// What a number is about: a node, a side of it, a path from `node` to `peer`, a device of `node`, all of the
// fleet.
enum class SubjectType : std::uint8_t {
  fleet,
  node,
  sender,
  receiver,
  path,
  rail,
  nic,
  gpu,
  leaf,
  link,
  counter
};

struct SubjectKey {
  SubjectType type = SubjectType::fleet;
  std::string node, peer, device;

  // "node5's sending side", "the path node1 -> node2", "the fleet"
  std::string text() const;
  auto operator<=>(const SubjectKey&) const = default;
};

// Stored as numbers: never give one another meaning.
enum class Metric : std::uint8_t {
  rate,   // bytes per second; of a side: the mean of the middle half of its partners
  busbw,  // bytes per second, of the fleet's longest ring
  level,  // of the fleet: the median of all sides' rates over their baselines
};

struct Reading {
  SubjectKey subject;
  Metric metric = Metric::rate;
  std::optional<double> value;
  int n = 0;  // of how many partners, or readings
};

enum class Kind : std::uint8_t { check, run, sweep, inspect };

struct Session {
  std::int64_t id = 0;
  std::string uuid, fleet;
  Kind kind = Kind::check;
  std::int64_t started_us = 0, ended_us = 0;
  std::optional<std::string> verdict;  // healthy, degraded, faulty, unknown
  std::string version;                 // of ringtrue
  std::string fingerprint;             // of how it was measured: like is held against like (rule.h)
  int nodes = 0;
  std::int64_t runs = 0, bytes = 0;
  double seconds = 0;
  std::optional<double> expected;  // of a hop, bytes per second
  std::optional<double> level;     // of the fleet, where there were baselines
  bool accepted = true;            // fit for baselines
  std::string why_not;             // where it is not
  bool clock_went_back = false;    // it began before the one that was recorded before it
};

// A finding, as far as one looks for it again.
struct Found {
  SubjectKey subject;
  std::string severity, kind;  // "critical", "slow-sender"
  std::optional<double> ratio;
  double confidence = 0;
};

// Something of a node that changes seldom: {"node5", "mlx5_0", "firmware", "20.35.1012"}.
struct Fact {
  std::string node, device, name, value;
  auto operator<=>(const Fact&) const = default;
};

// All of a session, to be stored. Its id, level and clock_went_back are worked out then.
struct Record {
  Session session;  // without a uuid one is drawn
  std::vector<Reading> readings;
  std::vector<Found> findings;
  std::vector<Fact> facts;
  std::string document;  // gzip of its JSON; empty: none
  bool judged = false;   // held against baselines, though not fit to set any
  // A document of earlier: it says nothing of the clock, and, where a later one is there, nothing of what is
  // open now.
  bool imported = false;
};

// One reading over time.
struct Point {
  std::int64_t session = 0, started_us = 0;
  std::optional<double> value;
  int n = 0;
  std::optional<double> level;  // the fleet's, then
  bool accepted = true;
};

// All accepted readings of a day.
struct Day {
  std::int64_t day = 0;  // days since 1970, UTC
  int n = 0;
  double least = 0, median = 0, most = 0;
};

// What is normal, set once and then held against: never moved by later readings.
struct Baseline {
  std::int64_t id = 0;
  SubjectKey subject;
  Metric metric = Metric::rate;
  std::string fingerprint;
  double median = 0;  // at the fleet's usual level
  double mad = 0;     // 1.4826 times the median deviation from it
  int n = 0;          // accepted sessions
  std::int64_t first_session = 0, last_session = 0;
  std::int64_t set_us = 0;
  std::string set_by, reason;
  std::optional<std::int64_t> retired_us;
};

// Why there is none: too few sessions, or readings that scatter.
struct Refused {
  int n = 0;           // sessions there were
  double scatter = 0;  // share of the median; 0: there were too few
};

struct SetBaseline {
  SubjectKey subject;
  std::optional<Baseline> baseline;  // or why not:
  Refused refused;
  std::optional<double> before;  // the median of the one that was retired for it
};

enum class State : std::uint8_t { suspected, confirmed, acknowledged, recovered, withdrawn };

struct Regression {
  std::int64_t id = 0, baseline = 0;
  SubjectKey subject;
  Metric metric = Metric::rate;
  std::string fleet, fingerprint;
  State state = State::suspected;
  std::int64_t first_session = 0, first_us = 0;
  std::optional<std::int64_t> confirmed_session, confirmed_us, ended_session, ended_us;
  double ratio = 1;  // of the latest low reading to what is normal
  int low = 1;       // checks that read low
  int good = 0;      // good ones since the last low one
  std::string note;

  bool open() const { return state <= State::acknowledged; }
};

enum class EventKind : std::uint8_t { repair, firmware, cabling, topology, acknowledge, baseline, note };

// What a person did or saw.
struct Event {
  std::int64_t id = 0;
  std::string fleet;
  std::optional<SubjectKey> subject;
  std::int64_t at_us = 0;
  EventKind kind = EventKind::note;
  std::string who, text;
};

// Since when a side is low. "59.9 MB/s until 2026-11-18 14:02, 41 checks; since then 3 checks low".
struct Since {
  double usual = 0;  // before, or at all
  std::optional<std::int64_t> last_good_us, first_low_us;
  int good = 0, low = 0;  // checks before, and since
  int falls = 0;          // how often it has fallen in all
};

// What is kept for how long.
struct Keep {
  double readings_days = 90;  // single readings and findings; what days had in sum is kept for ever
  double documents_days = 30;
  std::uint64_t max_bytes = 512 << 20;  // of the file
};

struct Pruned {
  std::int64_t documents = 0, sessions = 0, readings = 0;  // dropped; sessions: those whose readings were
  std::int64_t days = 0;                                   // summed up
  std::uint64_t bytes_before = 0, bytes_after = 0;
  // Because of the size: what is younger than asked for and was dropped nevertheless. Never silent.
  std::int64_t documents_for_size = 0, sessions_for_size = 0;
  bool too_large = false;  // nothing is left that may be dropped
};

}  // namespace ringtrue::history

namespace ringtrue {

template <>
inline constexpr const char* keys_of<history::SubjectType>[] = {
    "fleet", "node", "sender", "receiver", "path", "rail", "nic", "gpu", "leaf", "link", "counter"};
template <>
inline constexpr const char* keys_of<history::Metric>[] = {"rate_Bps", "busbw_Bps", "level"};
template <>
inline constexpr const char* keys_of<history::Kind>[] = {"check", "run", "sweep", "inspect"};
template <>
inline constexpr const char* keys_of<history::State>[] = {"suspected", "confirmed", "acknowledged",
                                                          "recovered", "withdrawn"};
template <>
inline constexpr const char* keys_of<history::EventKind>[] = {
    "repair", "firmware", "cabling", "topology", "acknowledge", "baseline", "note"};

}  // namespace ringtrue
