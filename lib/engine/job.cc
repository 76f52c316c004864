#include "engine/job.h"

#include <algorithm>

#include "collective/algorithm.h"
#include "engine/packet_endpoint.h"

namespace ringtrue::engine {

collective::Layout Job::layout() const {
  collective::Layout layout;
  for (const Seat& seat : seats) layout.node_of_rank.push_back(seat.node);
  return layout;
}

std::uint64_t Job::bytes_on_node(int node) const {
  const auto algorithm = collective::find_algorithm(this->algorithm);
  if (!algorithm) return 0;
  const collective::Layout l = layout();
  std::uint64_t bytes = 0;
  for (collective::Rank rank = 0; rank < ranks(); ++rank)
    if (seats[std::size_t(rank)].node == node)
      bytes += (rank < workers() ? call.bytes() : 0) + (*algorithm)->scratch_bytes(l, rank, call) +
               packet_room(**algorithm, l, rank, call);
  return bytes;
}

RunReport merge(std::vector<RunReport> parts) {
  RunReport whole;
  for (RunReport& part : parts) {
    if (whole.transport.empty()) {
      whole.transport = part.transport;
    } else if (!part.transport.empty() && whole.transport != part.transport) {
      whole.transport = "shm+tcp";
    }
    if (whole.congestion.empty()) whole.congestion = part.congestion;
    whole.cpu_s += part.cpu_s;
    whole.strangers += part.strangers;
    whole.counters.merge(part.counters);
    std::move(part.ranks.begin(), part.ranks.end(), std::back_inserter(whole.ranks));
    std::move(part.trace.hops.begin(), part.trace.hops.end(), std::back_inserter(whole.trace.hops));
    std::move(part.trace.events.begin(), part.trace.events.end(), std::back_inserter(whole.trace.events));
  }
  std::sort(whole.ranks.begin(), whole.ranks.end(),
            [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
  std::sort(whole.trace.hops.begin(), whole.trace.hops.end(), [](const trace::Hop& a, const trace::Hop& b) {
    return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
  });
  return whole;
}

std::vector<double> slowest(const RunReport& report) {
  std::vector<double> times;
  for (const RankReport& rank : report.ranks) {
    times.resize(std::max(times.size(), rank.time_s.size()));
    for (std::size_t i = 0; i < rank.time_s.size(); ++i) times[i] = std::max(times[i], rank.time_s[i]);
  }
  return times;
}

}  // namespace ringtrue::engine
