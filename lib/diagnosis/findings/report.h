// What a check found: the document that commands print. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/subject.h"
#include "base/units.h"
#include "diagnosis/findings/advice.h"
#include "diagnosis/findings/kinds.h"
#include "diagnosis/findings/statement.h"
#include "diagnosis/infer/readings.h"
#include "diagnosis/measurer.h"
#include "ideal/facts.h"
#include "ideal/rates.h"
#include "run/counter_window.h"

namespace ringtrue::diagnosis {

enum class Verdict { healthy, degraded, faulty, unknown };
constexpr int exit_code(Verdict verdict) {
  return int(verdict);
}

enum class Severity { info, warning, critical };

// rail, leaf, trunk and spine are parts of the fabric that `device` names, as it does those of inspection,
// the last six. nic is of both.
enum class ScopeType {
  path,
  sender,
  receiver,
  node,
  fleet,
  rail,
  leaf,
  trunk,
  spine,
  gpu,
  nic,
  port,
  link,
  fabric_switch,
  counter
};

constexpr FindingKind slow_kind(ScopeType scope) {
  return FindingKind(scope);
}
constexpr FindingKind lossy_kind(ScopeType scope) {
  return FindingKind(int(FindingKind::lossy_path) + int(scope));
}

struct Scope {
  ScopeType type = ScopeType::path;
  int node = -1;    // path: the sending end; -1 for the fleet
  int peer = -1;    // path: the receiving end; -1 otherwise
  Subject subject;  // its node and device, by name; empty: of the fleet, unknown
  std::string peer_name;

  // "node3's sending side", "the path node1 -> node2"
  std::string text() const;
};

struct Finding {
  Severity severity = Severity::info;
  FindingKind kind{};
  Scope scope;
  std::optional<BytesPerSecond> measured;  // best of all readings: disturbances only ever lower them
  std::optional<BytesPerSecond> expected;
  std::optional<double> ratio;
  double confidence = 0;  // 0..1, see confidence.h
  std::vector<Statement> evidence;
  Statement impact;
  Statement next;                  // what to do
  std::string command{};           // what shows it again, for a shell; empty: none
  int proven_after = 0;            // collective runs, since when it stands; 0: no matter of runs
  std::vector<Finding> members{};  // of a group, see groups.h
};

// Something that could not be told. Never changes the verdict by itself.
using NotChecked = Statement;

struct Expected {
  std::optional<BytesPerSecond> value;            // of a hop; nullopt where nothing could be measured
  ideal::Origin origin = ideal::Origin::unknown;  // declared: link rate x efficiency; or fleet majority
  std::string source;                             // the arithmetic, a sentence
  // What findings about a node or a path are held against instead: what most of the fleet reach.
  std::optional<BytesPerSecond> of_most{};

  // What a hop is held against.
  std::optional<BytesPerSecond> held_against() const { return of_most ? of_most : value; }
};

// One experiment, in the order in which they ran.
// Of a check: what an experiment is for.
enum class Stage : std::uint8_t {
  probe,    // how fast it goes at all
  ring,     // over all nodes
  ports,    // an omnireduce, for its aggregators' ports
  pairs,    // by which each node is judged
  confirm,  // what was slow, again
  one_way,  // a pair, one direction at a time
  cover,    // every trunk
};

struct RunRecord {
  Stage stage = Stage::probe;
  Experiment experiment;
  Seconds time;                         // of one iteration
  std::optional<BytesPerSecond> busbw;  // ring and omnireduce only
  std::vector<PortReading> ports;       // omnireduce only
  // The longest ring's, where the rates of the wires are known; see above.h.
  std::optional<BytesPerSecond> ideal{};
  ideal::Origin ideal_origin = ideal::Origin::unknown;
  std::optional<ideal::AboveIdeal> above{};
};

struct Coverage {
  int pairs_measured = 0;
  int pairs = 0;  // N (N-1), ordered
};

// What a node's two sides carried: of what its partners had at their best, the mean of the middle half. No
// partner: unknown.
struct SideRates {
  struct Rail {
    std::optional<BytesPerSecond> sends, receives;
  };
  std::optional<BytesPerSecond> sends, receives;
  int sends_to = 0, receives_from = 0;  // partners
  std::vector<Rail> rails{};            // the same by rail; empty: nobody told them apart
};

struct Cost {
  int runs = 0;
  Seconds seconds;
  Bytes bytes;       // sent by all nodes together
  Seconds budget{};  // that there was for it
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::vector<Finding> findings;  // worst first
  std::vector<Plan> plans;        // until findings are repaired, the best first
  std::vector<NotChecked> not_checked;
  std::vector<std::string> nodes;
  Expected expected;
  std::vector<std::vector<std::optional<BytesPerSecond>>>
      rates;  // row sends to column; nullopt: not measured. Of more than 256 nodes: no rows
  std::vector<SideRates> sides;              // by node; none where nothing was measured
  std::optional<BytesPerSecond> ring_busbw;  // longest ring over all nodes in the order given
  std::vector<RunRecord> runs;
  Coverage coverage;
  Cost cost;
  std::map<std::string, run::CounterWindow> counters;  // by node, over all experiments
  std::map<std::string, std::vector<RdmaPort>> rails;  // by node: what its RDMA went through
  std::optional<Error> error;  // why the check ended early; what is above was proven before

  // How many of the nodes were there for it: not those whose daemon was being stopped or upgraded.
  std::size_t present() const {
    std::size_t count = nodes.size();
    for (const NotChecked& n : not_checked)
      if (n.kind == StatementKind::daemon_stopping && count > 0) --count;
    return count;
  }
};

}  // namespace ringtrue::diagnosis

namespace ringtrue {

template <>
inline constexpr const char* keys_of<diagnosis::Verdict>[] = {"healthy", "degraded", "faulty", "unknown"};
template <>
inline constexpr const char* keys_of<diagnosis::Severity>[] = {"info", "warning", "critical"};
template <>
inline constexpr const char* keys_of<diagnosis::ScopeType>[] = {
    "path",  "sender", "receiver", "node", "fleet", "rail",   "leaf",   "trunk",
    "spine", "gpu",    "nic",      "port", "link",  "switch", "counter"};
template <>
inline constexpr const char* keys_of<diagnosis::Stage>[] = {"probe",   "ring",    "ports", "pairs",
                                                            "confirm", "one-way", "cover"};

}  // namespace ringtrue
