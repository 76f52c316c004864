// What every participant of a run agrees on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/sparse.h"
#include "collective/types.h"
#include "run/rdma.h"
#include "run/transport.h"

namespace ringtrue::run {

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
  collective::AlgorithmId algorithm = collective::AlgorithmId::ring;
  std::vector<std::string> nodes;  // names, the same list in every run of a lease
  std::vector<Seat> seats;         // by rank
  collective::Call call;
  Transport transport = Transport::automatic;
  int iterations = 5;  // samples; small calls are batched, see RankReport::batch
  int warmup = 1;
  bool check = true;    // compare every iteration's result on every rank with the expected one
  bool events = false;  // keep every message in the trace
  std::string fault;    // collective::parse_faults
  std::uint64_t seed = 1;
  collective::Sparsity sparsity;       // of the generated data
  std::shared_ptr<const Input> input;  // the operator's own data instead; null: generated
  int mtu = 1500;                      // udp: bytes of an IP packet
  run::RdmaSettings verbs;
  // By rank: the ports that its RDMA goes through, instead of verbs.ports; empty, or a rank's is: those.
  std::vector<std::vector<run::RdmaPort>> ports;
  Memory memory = Memory::host;
  std::vector<int> gpus;  // device: distributed to each node's ranks in turn, as CUDA counts them; empty: all
  bool share_gpus = false;  // device: those that other processes compute on, too
  // device: instead of the collective, what GPUs and the ways to them carry, with copies of call.bytes(),
  // `iterations` times; a rank for each node.
  bool gpu_limits = false;
  std::uint64_t run = 0;  // counts the runs of a lease: datagrams of one are signed for no other
  // The ways of hops: over TCP on connections that are made anew for that, over RoCE from source ports that
  // are then kept.
  bool trace = false;
  // Instead of a run: whether those that its data would go between reach each other, over TCP.
  bool reach = false;
  std::string reference;  // device: "nccl": its allreduce as well, on the same buffers; empty: none

  collective::Rank ranks() const { return collective::Rank(seats.size()); }
  // Those that hold data; the others are aggregators.
  collective::Rank workers() const { return call.omni.workers > 0 ? call.omni.workers : ranks(); }
  collective::Layout layout() const;
  bool operator==(const Job&) const = default;
};

// Whether the parts fit each other, so that they are safe to index with: seats within the nodes and taken
// once, roles that add up, the operator's data of the call's size. The fields' own limits: run/fields.h.
Result<void> check(const Job& job);

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::Memory>[] = {"host", "device"};

}  // namespace ringtrue
