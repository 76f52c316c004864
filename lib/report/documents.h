// What the commands have to say, before it becomes text or JSON. Plain values in SI units; unknown is
// nullopt, never 0. Field names are those of the JSON keys, where there is one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "campaign/what_if.h"
#include "diagnosis/gpu_limits.h"
#include "diagnosis/inspect/inspect.h"
#include "diagnosis/report.h"
#include "ideal/facts.h"
#include "ideal/ideal.h"
#include "report/simulated.h"
#include "topology/model.h"
#include "trace/trace.h"

namespace ringtrue::report {

using Maybe = std::optional<double>;

std::string_view name(Cause cause);  // "bad_input"

// One node's part in a failed phase.
struct Failure {
  std::string node;
  std::string phase;
  Error error;
  bool culprit = true;
};

// Why a command could not do what it was asked.
struct Trouble {
  Error error;
  std::vector<Failure> failures;  // empty where no node is concerned
};

// How long the phases of a run on daemons may take at most.
struct Deadlines {
  double phase_s = 0, run_s = 0;
};

struct Spread {
  double min = 0, median = 0, max = 0;
};

// What an omnireduce is about, beside the columns that it shares with all collectives.
struct OmniStream {
  std::uint64_t rounds = 0;
  std::vector<std::uint64_t> order;  // blocks, in the order of the results
};

// What an aggregator received of its workers.
struct OmniReceive {
  int rank = 0;  // among all ranks: workers first
  std::string node;
  std::uint64_t bytes = 0;
  Maybe rate_Bps;  // from the first packet of a call to its last, over all calls
};

struct OmniModel {
  double time_s = 0;  // of the placement that ran
  Maybe speedup;      // of the model's ring over time_s
  Maybe dedicated_s, colocated_s;
  Maybe on_wire_s{};  // time_s with headers, first blocks, both hops and the packets that fill them
};

// Our ring over the same workers' nodes, on the same data.
struct OmniRing {
  std::string transport;
  double time_s = 0;
  Maybe algbw_Bps;
  Maybe speedup;  // its time over the omnireduce's
  std::optional<std::uint64_t> wrong;
};

struct OmniResult {
  int workers = 0, aggregators = 0;
  std::string placement;  // "dedicated" or "colocated"; in one process too, where no wires are between them
  std::uint64_t block = 0, streams = 0, fusion = 0;  // elements, slots, blocks in a packet
  bool acked = false;
  Maybe density, density_union;  // shares of blocks: of the densest worker, of all workers together
  std::uint64_t resent = 0, dropped = 0;
  std::uint64_t bytes_sent = 0;   // by all workers in one call, as the hops count them
  std::uint64_t bytes_dense = 0;  // what they would have to send were no block zero
  std::vector<std::uint64_t> worker_packets, worker_blocks;  // of one call, by worker
  std::uint64_t multicasts = 0, aggregator_packets = 0;      // workers x multicasts
  std::vector<OmniStream> order;                             // by stream; simulated runs
  std::optional<OmniModel> model;                            // unknown without a link rate
  std::optional<OmniRing> ring;
  Maybe share;  // the speed-up over the ring that was reached, over the model's
  std::vector<OmniReceive> receive;
};

struct RunResult {
  std::string algorithm, transport, congestion;
  int ranks = 0;
  std::uint64_t bytes = 0, count = 0;
  std::string type, op;
  int iterations = 0, batch = 1;
  std::optional<Spread> time_s;
  Maybe algbw_Bps, busbw_Bps;  // unknown for no bytes or one rank
  Maybe ideal_busbw_Bps;       // of the algorithm that ran
  Maybe attainable_busbw_Bps;  // ideal times the link's efficiency
  Maybe bound_busbw_Bps;       // of any algorithm
  Maybe ratio;                 // busbw over the algorithm's ideal
  std::string ideal_origin;    // of the rates behind the ideals: "declared", "probed"; empty: unknown
  std::optional<ideal::AboveIdeal> above;  // why it lies above its ideal, where it does
  Maybe cpu_s;
  std::optional<std::uint64_t> wrong;  // elements; unknown where nothing was compared
  std::vector<std::uint64_t> wrong_by_rank;
  std::uint64_t strangers = 0;                        // data connections that were dropped
  std::optional<std::uint64_t> messages, bytes_sent;  // simulated runs
  std::optional<OmniResult> omni;                     // of an omnireduce
};

// A hop of the last result, as its sender saw it.
struct HopRow {
  int source = 0, destination = 0;  // ranks
  std::string source_node, destination_node;
  std::uint64_t bytes = 0;
  Maybe busy_s;
  Maybe rate_Bps;
  std::optional<std::uint64_t> retransmits;
  std::string source_role{},
      destination_role{};  // "worker", "aggregator"; empty for collectives without roles
  struct Rdma {
    struct Rail {
      std::string port;  // of the sender
      std::uint64_t bytes = 0;
      double busy_s = 0;
    };
    std::uint64_t writes = 0;
    double credit_limited_s = 0, queue_limited_s = 0;
    std::vector<Rail> rails{};  // where there are several
  };
  std::optional<Rdma> rdma{};  // where it went over queue pairs
};

// A GPU of the last run.
struct GpuRow {
  std::string node;
  int index = 0;
  std::string name, uuid;
  std::vector<int> ranks;
  std::string play;  // "kernel", "copy-engines", "mirror", "direct"
  std::vector<std::string> ways;
};

// Another library's allreduce on the same buffers.
struct ReferenceRow {
  std::string library, how;  // "NCCL 2.28.9"; "RING, LL128", empty: it does not tell
  std::uint64_t bytes = 0;
  std::optional<Spread> time_s;
  Maybe algbw_Bps, busbw_Bps;
  std::optional<std::uint64_t> wrong;
  std::string why_not;  // why it did not run; empty: it did
};

// How a node's RDMA went in the last run.
struct RdmaRow {
  std::string node;
  std::vector<std::string> ports;  // "mlx5_0:1"
  std::string gid;                 // of the first one; empty: InfiniBand
  int mtu = 0;                     // path MTU, bytes; 0: unknown
  std::string memory;              // "host", "dmabuf", "nvidia_peermem", "staged"
  bool operator==(const RdmaRow&) const = default;
};

// Why "auto" took what it took.
struct Choice {
  std::uint64_t bytes = 0;
  std::string algorithm, reason;
  std::vector<std::pair<std::string, double>> predictions;  // seconds by algorithm
};

struct RunDocument {
  bool simulated = false;
  Simulated model;    // where it is
  std::string where;  // "8 ranks on this machine", "node[0-7]"
  std::vector<std::string> nodes;
  std::vector<std::string> notes;  // what was chosen differently from what was asked for, and why
  std::vector<Choice> choices;
  std::vector<RunResult> results;
  std::vector<RunResult> rings;  // beside omnireduces, in the order of `results`; for the table
  std::vector<HopRow> hops;
  std::vector<ReferenceRow> references;  // by result, where one was asked for
  std::vector<GpuRow> gpus;              // of data on GPUs
  std::vector<RdmaRow> rdma;             // by node; empty where nothing went over queue pairs
  std::vector<trace::Event> events;
  std::map<std::string, topology::CounterWindow> counters;  // by node, over all runs
  std::optional<Deadlines> deadlines;                       // where daemons are concerned
  std::optional<Trouble> error;
};

struct SweepEnd {
  std::string node;
  std::string port;  // "mlx5_0:1"; empty: whatever the transport takes
  bool operator==(const SweepEnd&) const = default;
};

struct SweepPair {
  SweepEnd source, destination;
  Maybe rate_Bps;   // a port to itself: of both of its flows together
  Maybe latency_s;  // as SweepDocument::latency_origin has it
  Maybe ratio;      // of rate_Bps: over what it is held against
  // By node: what was no traffic, of its port or its rails, while the pair was measured.
  std::map<std::string, topology::CounterWindow> counters;
  std::string error{};  // why it has no numbers; empty: it has
};

struct SweepDocument {
  std::vector<std::string> nodes;
  std::uint64_t bytes = 0;
  std::string transport;
  Maybe expected_Bps;  // what a healthy link is held against: declared, or the median
  std::string expected_origin;
  std::vector<std::vector<Maybe>> rate_Bps;   // row sends to column; unknown on the diagonal
  std::vector<std::vector<Maybe>> latency_s;  // see latency_origin
  std::string latency_origin;                 // "smallest round trip (the kernel's)"
  std::vector<SweepEnd> ports;                // those that were measured by themselves
  std::vector<SweepPair> pairs;               // in the order of measurement
  long port_pairs = 0;                        // ordered pairs of these ports, of different nodes
  std::vector<std::string> notes;
  double warning = 0.95, critical = 0.85;
  std::optional<Trouble> error;
};

// What GPUs and the ways to them carry.
struct GpuSweepDocument {
  std::vector<std::string> nodes;
  std::uint64_t bytes = 0;  // of a copy
  diagnosis::GpuLimits limits;
  std::vector<std::string> notes;
  double warning = 0.95, critical = 0.85;
  std::optional<Trouble> error;
};

// The inspection that a check began with, or was all of it.
struct Inspected {
  std::vector<std::string> rules;  // that applied
  double seconds = 0;
};

struct CheckDocument {
  diagnosis::Diagnosis diagnosis;
  std::optional<Inspected> inspection;
  std::string transport;
  std::vector<std::string> notes;  // why it was not RDMA
  double warning = 0.95, critical = 0.85;
  std::optional<Deadlines> deadlines;  // where daemons are concerned
  std::optional<Trouble> error;
  std::vector<campaign::Plan> plans{};  // until the findings are mended
};

struct TopoDocument {
  topology::Cluster cluster;
  diagnosis::Inspection inspection;
  std::optional<Trouble> error;  // nodes that could not be read
};

// One recording, on disk.
struct BundleRow {
  std::string node, file;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;           // read of the node's
  std::vector<std::string> answers;  // libraries that answered
  std::uint64_t errors = 0;          // what could not be read
  double window_s = 0;               // between two readings of the counters; 0: one
  bool redacted = false;
};

struct GatherDocument {
  std::vector<BundleRow> bundles;
  std::optional<Trouble> error;  // nodes without
};

struct TreeNode {
  int rank = 0;
  std::optional<int> parent;
  std::vector<int> children;
};

struct StepRow {
  int rank = 0;
  std::uint32_t step = 0;
  std::string_view kind;
  int peer = 0, lane = 0;
  bool scratch = false;
  std::uint64_t offset = 0, length = 0;
};

struct ScheduleDocument {
  std::string algorithm;
  int ranks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::vector<TreeNode>> trees;  // double-tree: two
  bool steps_omitted = false;
  // Calls its argument for every step, rank by rank. There may be millions: they are never held at once.
  std::function<void(const std::function<void(const StepRow&)>&)> each_step;
};

struct IdealDocument {
  ideal::Inputs inputs;
  ideal::Ideal ideal;
  std::optional<ideal::Facts> facts;  // where anything was probed
};

struct NodeRow {
  std::string node;
  bool reachable = false;
  std::string version, lease, cause;
};

struct NodesDocument {
  std::vector<NodeRow> nodes;
  std::optional<Trouble> error;
};

struct SettingRow {
  std::string key, value, origin;
};

struct ConfigDocument {
  std::vector<SettingRow> settings;
};

struct CertificateRow {
  std::string name, folder, until;
};

struct PkiDocument {
  std::vector<CertificateRow> certificates;
};

}  // namespace ringtrue::report
