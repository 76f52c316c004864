// What run and simulate have to say: times and rates by size, with the ideals beside them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/choose.h"
#include "ideal/facts.h"
#include "ideal/ideal.h"
#include "operator/documents/trouble.h"
#include "run/counter_window.h"
#include "run/reach.h"
#include "run/report.h"
#include "run/trace.h"

namespace ringtrue::ops {

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
  std::vector<run::Transport> transports;  // empty: the model
  double time_s = 0;
  Maybe algbw_Bps;
  Maybe speedup;  // its time over the omnireduce's
  std::optional<std::uint64_t> wrong;
};

// What the protocol did in one call.
struct OmniCounts {
  std::vector<std::uint64_t> worker_packets, worker_blocks, worker_pairs;  // by worker
  std::uint64_t multicasts = 0;                                            // a packet to each worker
  std::uint64_t resent = 0, dropped = 0;

  void add(const collective::PacketCounts& of_rank, bool worker);
  std::uint64_t aggregator_packets() const { return multicasts * worker_packets.size(); }
};

struct OmniResult {
  collective::Omni shape;
  std::string placement;  // "dedicated" or "colocated"; in one process too, where no wires are between them
  Maybe density, density_union;  // shares of blocks: of the densest worker, of all workers together
  Maybe value_density, value_density_union;  // shares of values likewise, where pairs were weighed
  std::string format_why;                    // why blocks or pairs were taken; empty: as asked for
  OmniCounts counts;
  std::uint64_t bytes_sent = 0;    // by all workers in one call, as the hops count them
  std::uint64_t bytes_dense = 0;   // what they would have to send were no block zero
  std::vector<OmniStream> order;   // by stream; simulated runs
  std::optional<OmniModel> model;  // unknown without a link rate
  std::optional<OmniRing> ring;
  Maybe share;  // the speed-up over the ring that was reached, over the model's
  std::vector<OmniReceive> receive;
};

struct RunResult {
  collective::AlgorithmId algorithm{};
  std::string congestion;
  std::vector<run::Transport> transports;  // empty: the model
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
  std::uint64_t rejected_connections = 0;             // data connections that were dropped
  std::optional<std::uint64_t> messages, bytes_sent;  // simulated runs
  std::optional<OmniResult> omni;                     // of an omnireduce
};

// Another library's allreduce on the same buffers.
struct ReferenceResult {
  run::Reference reference;
  RunResult result;  // as a row beside ours
};

// Why "auto" took what it took.
struct Choice {
  std::uint64_t bytes = 0;
  collective::Choice made;
};

// The last size by another algorithm.
struct Comparison {
  std::string algorithm;
  double time_s = 0;
  double ratio = 0;                 // of the result's time over it
  std::optional<double> published;  // the largest that NCCL's makers saw between a ring and a double tree
};

// The last size without the faults at a place.
struct Fix {
  std::string place;
  std::vector<std::string> faults;             // that were there
  std::optional<double> time_s, fixed_time_s;  // unknown where it does not end
  std::optional<double> gain;                  // time over fixed time, less 1
};

// What the fabric's cost was taken from.
struct Calibrated {
  std::string file;
  bool of_model = false;      // simulate printed the file: nothing was measured
  Seconds latency, overhead;  // of a hop, of a slice
  BytesPerSecond rate;
  Bytes bucket;      // of the NICs' shapers; 0: none
  double worst = 0;  // largest deviation of a sample, as a share of what was measured
  struct Sample {
    std::string algorithm;
    std::uint64_t bytes = 0;
    Seconds measured, simulated;
    double deviation() const { return simulated / measured - 1; }
  };
  std::vector<Sample> samples;
};

struct Simulated {
  std::string method, sharing;      // how it was played, and how messages shared links; empty: not at all
  std::vector<std::string> faults;  // as their script
  std::optional<Comparison> comparison;
  std::optional<Fix> fix;
  std::optional<Calibrated> calibration;
};

struct RunDocument {
  bool simulated = false;
  Simulated model;    // where it is
  std::string where;  // "8 ranks on this machine", "node[0-7]"
  std::vector<std::string> nodes;
  std::vector<std::string> notes;  // what was chosen differently from what was asked for, and why
  std::vector<Choice> choices;
  std::vector<RunResult> results;
  std::vector<RunResult> rings;             // beside omnireduces, in the order of `results`; for the table
  std::vector<run::Hop> hops;               // of the last result, as their senders saw them
  std::vector<std::string> rank_nodes;      // by their ranks; empty where all are on one node
  std::vector<ReferenceResult> references;  // by result, where one was asked for
  std::vector<run::Network> networks;       // that TCP's data goes over; empty where all is on one node
  std::vector<run::GpuUse> gpus;            // of data on GPUs, in the last run
  std::vector<run::RdmaUse> rdma;  // by node, in the last run; empty where nothing went over queue pairs
  std::vector<run::Event> events;
  std::map<std::string, run::CounterWindow> counters;  // by node, over all runs
  std::optional<Deadlines> deadlines;                  // where daemons are concerned
  std::optional<Trouble> error;
  bool corrupted = false;  // simulated: a value was damaged on its way

  bool wrong() const;    // whether a result was
  int workers() const {  // of the last omnireduce, whose ranks from there on aggregate; 0: all are alike
    return results.empty() || !results.back().omni ? 0 : results.back().omni->shape.workers;
  }
};

}  // namespace ringtrue::ops
