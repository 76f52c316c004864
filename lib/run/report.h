// What the participants of a run report afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/phase.h"
#include "base/result.h"
#include "collective/packets.h"
#include "collective/types.h"
#include "run/counter_window.h"
#include "run/gpu.h"
#include "run/reach.h"
#include "run/trace.h"
#include "run/transport.h"

namespace ringtrue::run {

struct RankReport {
  collective::Rank rank = 0;
  int batch = 1;               // calls per sample
  std::vector<double> time_s;  // of one call, by sample: on this rank, from after a barrier until it was done
  std::uint64_t wrong = 0;     // elements that differ from the expected result, over all samples
  std::uint64_t first_wrong = 0;  // index of the first of them
  // Of packets, in one call (the last); all 0 for algorithms without them.
  collective::PacketCounts counts;
  bool operator==(const RankReport&) const = default;
};

// How a process's RDMA went.
struct RdmaUse {
  std::string node;
  std::vector<RdmaPort> ports;  // the rails
  std::string gid;              // of the first one on Ethernet, "10.1.0.7"; empty: InfiniBand
  int mtu = 0;                  // path MTU in bytes, the smallest; 0: unknown
  std::string memory;           // transport::verbs::Way: "host", "dmabuf", "staged"...
  bool operator==(const RdmaUse&) const = default;
};

// Another library's allreduce on the buffers of a run.
struct Reference {
  std::string library{};         // "NCCL 2.27.3"
  std::string how{};             // "RING, LL128", as far as it tells; empty: it does not
  std::vector<double> time_s{};  // of one call, by sample, on the slowest GPU
  std::uint64_t wrong = 0;       // elements, over all samples and ranks
  std::string why_not{};         // why it did not run; empty: it did
  bool operator==(const Reference&) const = default;
};

// What an operator should know of a run that went well, and of which node.
struct Remark {
  enum class Kind : std::uint8_t {
    over_tcp,     // auto took tcp to and from `node`, or between it and `peer`, where that is set
    staged,       // data is copied through registered buffers on `node`
    copied,       // on `node`, copy engines driven by the host play what a kernel would
    mirrored,     // GPU memory of `node` is staged through pinned host memory
    unknown_use,  // whether others use `node`'s GPUs is not known
    left_out,     // ports of `node` that carry no RDMA although they look like the others
    other_ports,  // ports of `node` that are plainly of another kind than those that do
    unpaired,     // ports of other nodes that none of `node`'s fits
    no_effect,    // a setting that does nothing on `node`
  };
  Kind kind = Kind::over_tcp;
  std::string node, peer, why;
  auto operator<=>(const Remark&) const = default;
};

// One node's part in a failed phase of a run.
struct Failure {
  std::string node;
  Phase phase = Phase::none;
  Error error;
  bool culprit = true;  // false where this node only waited for a culprit
  // It does not answer any more, its worker ended, or its daemon is being stopped, by what itself says or
  // fails to say: never by what others say of it.
  bool dead = false;
};

// What a hop's packets passed when its connection was traced.
struct Way {
  std::int32_t source = 0, destination = 0;  // ranks
  bool known = false;                        // all of it
  std::vector<std::string> routers;          // addresses, nearest first, as far as they told
  bool operator==(const Way&) const = default;
};

struct RunReport {
  std::vector<Transport> transports;  // what ran, in the order of their values
  std::string congestion;             // tcp's congestion control; empty where no tcp ran
  std::vector<RankReport> ranks;
  double cpu_s = 0;                        // user and system time of one call, summed over these ranks
  std::uint64_t rejected_connections = 0;  // data connections that were dropped since the session began
  run::Trace trace;                        // hops over all timed samples
  std::vector<RdmaUse> rdma;               // of each process that used verbs
  std::vector<GpuUse> gpus;                // of each process that used GPUs
  std::vector<run::GpuLimit> gpu_limits;   // where they were asked for
  std::optional<Reference> reference;      // where one was asked for
  std::vector<Way> ways;                   // where they were asked for
  std::vector<Reach> reaches;              // where they were asked for: instead of a run
  std::vector<Network> networks;  // that data goes over, of each process; where reaches were asked for
  std::vector<Remark> remarks;    // each once
  // For the operator, a line each, none twice: why hops between nodes went over tcp, why memory was staged.
  // Made of the remarks by merge().
  std::vector<std::string> notes;
  // By name of the node: how its devices' counters changed from before the run to after it. Only nodes whose
  // counters could be read.
  std::map<std::string, CounterWindow> counters;
  bool operator==(const RunReport&) const = default;
};

// What the fields' own limits (run/fields.h) do not say.
Result<void> check(const RunReport& report);

// The reports of all processes as one: ranks in order, hops together, cpu summed.
RunReport merge(std::vector<RunReport> parts);

// Time of a call by sample, on its slowest rank.
std::vector<double> slowest(const RunReport& report);

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::Remark::Kind>[] = {"over_tcp",    "staged",      "copied",
                                                             "mirrored",    "unknown_use", "left_out",
                                                             "other_ports", "unpaired",    "no_effect"};

}  // namespace ringtrue
