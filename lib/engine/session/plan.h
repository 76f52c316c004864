// Who is connected to whom in a job, and how a node's shared memory is laid out for it: worked out alike by
// every process of the node.
#pragma once

#include <map>
#include <vector>

#include "collective/algorithm.h"
#include "run/job.h"
#include "transport/shm/layout.h"

namespace ringtrue::engine {

using Edges = std::map<collective::Rank, std::vector<collective::Edge>>;  // of the ranks on one node

// What an edge of `rank` goes over. In a udp job packets go in datagrams, and all else as in an auto one.
bool over_datagrams(const run::Job& job, const collective::Edge& edge);
bool over_shared_memory(const run::Job& job, collective::Rank rank, const collective::Edge& edge);
// Where both ends have RDMA. Barriers never do: their messages are empty, and queue pairs are expensive.
bool may_be_verbs(const run::Job& job, collective::Rank rank, const collective::Edge& edge);

// A rank's scratch, after which the room for its packets' headers begins.
std::uint64_t scratch_before_packets(const collective::Algorithm& algorithm, const collective::Layout& layout,
                                     collective::Rank rank, const collective::Call& call);

// The algorithm's edges and the barrier's.
Edges edges_on_node(const run::Job& job, const collective::Algorithm& algorithm, int node);

transport::shm::Plan plan_of(const run::Job& job, const collective::Algorithm& algorithm, int node,
                             const Edges& edges, int threads_per_process);

// Messages of which a process keeps a record with Job::events, and what a record takes until it has been
// sent: itself in a vector that grows, its text, that text in messages, and what the daemon reads from it.
inline constexpr std::uint64_t max_events = 1 << 18;
inline constexpr std::uint64_t event_bytes = 512;

// Bytes that one node's processes have to hold for this job, the records of its messages included.
std::uint64_t bytes_on_node(const run::Job& job, int node);

}  // namespace ringtrue::engine
