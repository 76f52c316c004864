// What every participant of a run agrees on, and what each of them reports afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "collective/packets.h"
#include "collective/sparse.h"
#include "collective/types.h"
#include "topology/counter_window.h"
#include "trace/gpu_limit.h"
#include "trace/trace.h"
#include "transport/verbs/settings.h"

namespace ringtrue::engine {

// Where a rank lives. The pair (node, local) names the same buffers and connections in every run of a lease,
// whatever rank order a run uses.
struct Seat {
  int node = 0;     // index into Job::nodes
  int process = 0;  // worker process on that node
  int local = 0;    // the rank's place on its node, 0-based, over all of its processes

  auto operator<=>(const Seat&) const = default;
};

// Data from a file. Either one row for all workers or one row a worker.
struct Input {
  collective::Type type = collective::Type::float32;
  std::uint64_t elements = 0;                // of a row
  std::vector<std::vector<std::byte>> rows;  // 1, or as many as there are workers

  const std::vector<std::byte>& row(collective::Rank worker) const {
    return rows.size() == 1 ? rows[0] : rows[std::size_t(worker)];
  }
};

// Where the ranks' data lives.
enum class Memory : std::uint8_t { host, device };

struct Job {
  std::string algorithm = "ring";  // a name of collective::algorithms(); never "auto"
  std::vector<std::string> nodes;  // names, the same list in every run of a lease
  std::vector<Seat> seats;         // by rank
  collective::Call call;
  // auto: shared memory inside a node; between nodes verbs where both ends have them, else tcp. shm; tcp;
  // udp; verbs: RDMA for every hop, those inside a node as well. cuda: between the GPUs of one node, which
  // auto takes for device memory wherever it can; all others stage device memory through the host.
  std::string transport = "auto";
  int iterations = 5;  // samples; small calls are batched, see RankReport::batch
  int warmup = 1;
  bool check = true;    // compare every iteration's result on every rank with the expected one
  bool events = false;  // keep every message in the trace
  std::string fault;    // collective::parse_faults
  std::uint64_t seed = 1;
  collective::Sparsity sparsity;       // of the generated data
  std::shared_ptr<const Input> input;  // the operator's own data instead; null: generated
  int mtu = 1500;                      // udp: bytes of an IP packet
  transport::verbs::Settings verbs;
  // By rank: the ports that its RDMA goes through, instead of verbs.ports; empty, or a rank's is: those.
  std::vector<std::vector<transport::verbs::PortName>> ports;
  Memory memory = Memory::host;
  std::vector<int> gpus;    // device: dealt to each node's ranks in turn, as CUDA counts them; empty: all
  bool share_gpus = false;  // device: those that other processes compute on, too
  // device: instead of the collective, what GPUs and the ways to them carry, with copies of call.bytes(),
  // `iterations` times; a rank for each node.
  bool gpu_limits = false;
  std::string reference;  // device: "nccl": its allreduce as well, on the same buffers; empty: none

  collective::Rank ranks() const { return collective::Rank(seats.size()); }
  // Those that hold data; the others are aggregators.
  collective::Rank workers() const { return call.omni.workers > 0 ? call.omni.workers : ranks(); }
  collective::Layout layout() const;
  // Bytes that one node's processes have to hold for this job.
  std::uint64_t bytes_on_node(int node) const;
};

struct RankReport {
  collective::Rank rank = 0;
  int batch = 1;               // calls per sample
  std::vector<double> time_s;  // of one call, by sample: on this rank, from after a barrier until it was done
  std::uint64_t wrong = 0;     // elements that differ from the expected result, over all samples
  std::uint64_t first_wrong = 0;  // index of the first of them
  // Of packets, in one call (the last); all 0 for algorithms without them.
  collective::PacketCounts counts;
};

// How a process's RDMA went.
struct RdmaUse {
  std::string node;
  std::vector<std::string> ports;  // the rails, "mlx5_0:1"
  std::string gid;                 // of the first one on Ethernet, "10.1.0.7"; empty: InfiniBand
  int mtu = 0;                     // path MTU in bytes, the smallest; 0: unknown
  std::string memory;              // transport::verbs::to_text(Way): "host", "dmabuf", "staged"...
};

// A GPU of a run on device memory.
struct GpuUse {
  std::string node;
  int index = 0;
  std::string name, uuid;               // "NVIDIA H100 80GB HBM3", "GPU-8d1c..."
  std::vector<collective::Rank> ranks;  // on it
  // How calls were played: "kernel", "copy-engines"; by the host's transports "mirror", on
  // pinned memory, or "direct", by RDMA in the GPU's own.
  std::string play;
  std::vector<std::string> ways;  // to other ranks: "same-gpu", "peer", "ipc", "staged"
};

// Another library's allreduce on the buffers of a run.
struct Reference {
  std::string library{};         // "NCCL 2.27.3"
  std::string how{};             // "RING, LL128", as far as it tells; empty: it does not
  std::vector<double> time_s{};  // of one call, by sample, on the slowest GPU
  std::uint64_t wrong = 0;       // elements, over all samples and ranks
  std::string why_not{};         // why it did not run; empty: it did
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

struct RunReport {
  std::string transport;   // what ran: "cuda", "shm", "tcp", "shm+tcp", "shm+verbs"
  std::string congestion;  // tcp's congestion control; empty where no tcp ran
  std::vector<RankReport> ranks;
  double cpu_s = 0;                         // user and system time of one call, summed over these ranks
  std::uint64_t strangers = 0;              // data connections that were dropped since the session began
  trace::Trace trace;                       // hops over all timed samples
  std::vector<RdmaUse> rdma;                // of each process that used verbs
  std::vector<GpuUse> gpus;                 // of each process that used GPUs
  std::vector<trace::GpuLimit> gpu_limits;  // where they were asked for
  std::optional<Reference> reference;       // where one was asked for
  std::vector<Remark> remarks;              // each once
  // For the operator, a line each, none twice: why hops between nodes went over tcp, why memory was staged.
  // Made of the remarks by merge().
  std::vector<std::string> notes;
  // By name of the node: how its devices' counters changed from before the run to after it. Only nodes whose
  // counters could be read.
  std::map<std::string, topology::CounterWindow> counters;
};

// The reports of all processes as one: ranks in order, hops together, cpu summed.
RunReport merge(std::vector<RunReport> parts);

// Time of a call by sample, on its slowest rank.
std::vector<double> slowest(const RunReport& report);

}  // namespace ringtrue::engine
