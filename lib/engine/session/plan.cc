#include "engine/session/plan.h"

#include <algorithm>
#include <set>

#include "engine/packets/endpoint.h"

namespace ringtrue::engine {

using collective::Rank;

namespace {

bool same_node(const run::Job& job, Rank a, Rank b) {
  return job.seats[std::size_t(a)].node == job.seats[std::size_t(b)].node;
}

// An algorithm's edges and the barrier's.
std::vector<collective::Edge> all_edges(const collective::Algorithm& algorithm,
                                        const collective::Layout& layout, Rank rank,
                                        const collective::Call& call) {
  auto edges = collective::edges_of(algorithm, layout, rank, call);
  const std::int64_t n = layout.ranks();
  for (std::int64_t distance = 1; distance < n; distance *= 2)
    for (const std::int64_t peer : {(rank + distance) % n, (rank - distance + n) % n})
      edges.push_back({Rank(peer), collective::barrier_lane});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace

bool over_datagrams(const run::Job& job, const collective::Edge& edge) {
  return job.transport == run::Transport::udp && edge.lane == collective::packet_lane;
}

bool over_shared_memory(const run::Job& job, Rank rank, const collective::Edge& edge) {
  return job.transport != run::Transport::tcp && job.transport != run::Transport::verbs &&
         same_node(job, rank, edge.peer) && !over_datagrams(job, edge);
}

bool may_be_verbs(const run::Job& job, Rank rank, const collective::Edge& edge) {
  return (job.transport == run::Transport::automatic || job.transport == run::Transport::verbs) &&
         edge.lane != collective::barrier_lane && !over_shared_memory(job, rank, edge);
}

transport::shm::Plan plan_of(const run::Job& job, const collective::Algorithm& algorithm, int node,
                             const Edges& edges, int threads_per_process) {
  transport::shm::Plan plan;
  const collective::Layout layout = job.layout();
  std::map<int, std::vector<std::size_t>> of_process;
  for (Rank rank = 0; rank < job.ranks(); ++rank) {
    const run::Seat& seat = job.seats[std::size_t(rank)];
    if (seat.node != node) continue;
    of_process[seat.process].push_back(plan.ranks.size());
    plan.ranks.push_back(rank);
    plan.data_bytes.push_back(rank < job.workers() ? job.call.bytes() : 0);
    plan.scratch_bytes.push_back(scratch_before_packets(algorithm, layout, rank, job.call) +
                                 packet_room(algorithm, layout, rank, job.call));
  }
  plan.thread_of.resize(plan.ranks.size());
  int processes = 0;
  for (const auto& [process, places] : of_process) {
    // Workers from the first thread on, aggregators from the last one back, so that each thread has as many
    // of both, and a worker and an aggregator alone do not share one.
    const auto aggregators = std::find_if(
        places.begin(), places.end(), [&](std::size_t place) { return plan.ranks[place] >= job.workers(); });
    const auto workers = std::size_t(aggregators - places.begin());
    const auto threads = std::size_t(threads_per_process);
    for (std::size_t i = 0; i < places.size(); ++i)
      plan.thread_of[places[i]] =
          process * threads_per_process +
          (i < workers ? int(i * threads / workers)
                       : int(threads - 1 - (i - workers) * threads / (places.size() - workers)));
    processes = std::max(processes, process + 1);
  }
  plan.threads = processes * threads_per_process;
  for (const auto& [rank, list] : edges)
    for (const collective::Edge& edge : list)
      if (over_shared_memory(job, rank, edge)) {
        plan.directions.push_back({rank, edge.peer, edge.lane});
        plan.directions.push_back({edge.peer, rank, edge.lane});
      }
  std::sort(plan.directions.begin(), plan.directions.end());
  plan.directions.erase(std::unique(plan.directions.begin(), plan.directions.end()), plan.directions.end());
  return plan;
}

std::uint64_t scratch_before_packets(const collective::Algorithm& algorithm, const collective::Layout& layout,
                                     Rank rank, const collective::Call& call) {
  return (algorithm.scratch_bytes(layout, rank, call) + 63) / 64 * 64;
}

Edges edges_on_node(const run::Job& job, const collective::Algorithm& algorithm, int node) {
  Edges edges;
  const collective::Layout layout = job.layout();
  for (Rank rank = 0; rank < job.ranks(); ++rank)
    if (job.seats[std::size_t(rank)].node == node) edges[rank] = all_edges(algorithm, layout, rank, job.call);
  return edges;
}

std::uint64_t bytes_on_node(const run::Job& job, int node) {
  const collective::Algorithm& algorithm = collective::algorithm_of(job.algorithm);
  const collective::Layout layout = job.layout();
  if (job.gpu_limits) return 3 * job.call.bytes();  // two copies on a GPU, one in the host's memory
  std::uint64_t bytes = 0;
  std::set<int> processes;
  for (Rank rank = 0; rank < job.ranks(); ++rank)
    if (job.seats[std::size_t(rank)].node == node && job.events)
      processes.insert(job.seats[std::size_t(rank)].process);
  bytes += processes.size() * max_events * event_bytes;
  for (Rank rank = 0; rank < job.ranks(); ++rank)
    if (job.seats[std::size_t(rank)].node == node)
      bytes += (rank < job.workers() ? job.call.bytes() : 0) +
               algorithm.scratch_bytes(layout, rank, job.call) +
               packet_room(algorithm, layout, rank, job.call);
  return bytes;
}

}  // namespace ringtrue::engine
