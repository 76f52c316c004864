// Everything that a screen may show, at one moment: plain values in SI units, times in seconds since 1970.
// What is not known is nullopt, never 0. It is made once and never changed; its large parts are shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/keys.h"

namespace ringtrue::tui {

using Maybe = std::optional<double>;

// The worst last.
enum class Level : std::uint8_t { good, info, unknown, silent, warning, critical };

struct NodeRow {
  std::string name;
  std::string place{};  // the leaf or rack; empty: unknown
  Level level = Level::unknown;
  Maybe send{}, receive{}, expected{};  // bytes per second
  std::vector<Maybe> days{};            // shares of what is expected, a day each, the last is today
  Maybe errors_per_hour{};
  std::string held_by{};
  std::string finding{};  // the worst, in a few words
  bool answers = true;
  std::string silence{};  // why it does not answer
  Maybe seen{};           // when it was heard last
};

struct FindingRow {
  Level level = Level::info;
  std::string kind{}, where{};  // "slow-sender", "node5's sending side"
  std::string node{};
  Maybe measured{}, expected{}, ratio{};
  double confidence = 0;
  std::vector<std::string> evidence{};
  std::string impact{}, next{}, command{};
  Maybe since{};
  std::string acknowledged{};          // by whom; empty: by nobody
  std::vector<std::string> members{};  // of a group, the worst first, which is `node`

  bool is_about(const std::string& name) const {
    return node == name || std::find(members.begin(), members.end(), name) != members.end();
  }
};

struct Matrix {
  struct Layer {
    std::string name;         // "all", "mlx5_0"
    std::vector<float> rate;  // bytes per second, row sends to column; NaN: unknown
  };
  std::vector<std::string> names{};
  std::vector<std::string> groups{};  // leaves; empty: unknown
  std::vector<int> group{};           // by name
  std::vector<Layer> layers{};
  std::vector<float> baseline{};  // as a layer's rates; empty: unknown
  Maybe expected{};
  double warning = 0.95, critical = 0.85;

  Maybe rate(std::size_t layer, std::size_t from, std::size_t to) const {
    if (layer >= layers.size() || from * names.size() + to >= layers[layer].rate.size()) return {};
    const float value = layers[layer].rate[from * names.size() + to];
    return value == value ? Maybe(double(value)) : Maybe();
  }
  Maybe usual(std::size_t from, std::size_t to) const {
    if (from * names.size() + to >= baseline.size()) return {};
    const float value = baseline[from * names.size() + to];
    return value == value ? Maybe(double(value)) : Maybe();
  }
};

struct Line {
  std::string text;
  Level level = Level::good;
};

struct Topology {
  struct Node {
    std::string name;
    std::vector<Line> lines;  // tree and affinity
  };
  std::vector<Node> nodes{};
  std::vector<Line> fabric{};
};

struct CounterRow {
  std::string node, device, counter;
  double window = 0;  // by how much it rose in the last window
  double seconds = 0;
  Maybe hour{};
  bool flaps = false;  // a carrier that went away
  Level level = Level::info;
};

struct Suspect {
  std::string where;
  double confidence = 0;
  bool confirmed = false;
};

struct SizeRow {
  double bytes = 0;
  Maybe time_s{}, busbw{}, ideal{};
};

struct Run {
  enum class State : std::uint8_t { none, running, done, cancelled, failed };
  State state = State::none;
  std::string what{}, phase{}, step{};
  int answered = 0, of = 0;
  std::shared_ptr<const Matrix> matrix{};
  std::vector<Suspect> suspects{};
  std::vector<SizeRow> sizes{};
  std::vector<std::string> log{};  // the last steps
  double bytes = 0;
  int runs = 0;
  Maybe budget_s{}, used_s{};
  std::string verdict{}, error{};
  std::string recorded{};  // the history that has it
  Level level = Level::unknown;
};

// What may be started from here, as it is typed; what is empty is as the command has it.
struct Task {
  enum class Kind : std::uint8_t { check, run, sweep };
  Kind kind = Kind::check;
  std::string algorithm{};  // of check and run
  std::string nodes{};      // a hostlist of names; empty: all
  std::string amount{};  // of a check its budget, "16s"; of a run its largest size; of a sweep bytes a pair
};
inline constexpr int task_kinds = 3;

// Whether something may be started from here, and what a check of all would cost.
struct Offer {
  bool allowed = false;
  std::string why_not{};                  // "read-only"
  std::string what{};                     // "check of 8 nodes"
  std::string cost{};                     // "18 runs, 9 s, 2.3 GiB on 8 nodes, held by nobody"
  std::vector<std::string> algorithms{};  // of run
};

struct History {
  struct Session {
    double when = 0;
    std::string verdict, text;
    Level level = Level::unknown;
  };
  struct Series {
    std::string name;  // "node05 sends"
    std::vector<double> when;
    std::vector<Maybe> value;  // bytes per second
    Maybe low{}, high{};       // the baseline's band
  };
  struct Mark {
    double when = 0;
    std::string text;
    Level level = Level::info;
  };
  std::vector<Session> sessions{};
  std::vector<Series> series{};
  std::vector<Mark> marks{};
};

// A task and what it costs, before it is confirmed.
struct Price {
  Task task{};
  std::string what{}, cost{};  // as an offer's
};

struct Snapshot {
  std::string source{};  // "demo", "check.json", "node[01-16]"
  bool production = false;
  double now = 0;
  long utc_offset = 0;  // seconds that local time is ahead
  Maybe as_of{};        // another moment than now is shown
  int session = -1;     // of the history's; -1: none
  std::string verdict{};
  Level level = Level::unknown;
  Maybe checked{};  // when
  std::vector<NodeRow> nodes{};
  std::vector<FindingRow> findings{};
  std::vector<CounterRow> counters{};
  std::shared_ptr<const Matrix> matrix{};
  std::shared_ptr<const Topology> topology{};
  std::shared_ptr<const History> history{};
  Run run{};
  Offer offer{};
  std::string message{};   // what the source has to say
  std::string revision{};  // changes with what is shown; for tests and scripts
};

}  // namespace ringtrue::tui

namespace ringtrue {

template <>
inline constexpr const char* keys_of<tui::Task::Kind>[] = {"check", "run", "sweep"};

}  // namespace ringtrue
