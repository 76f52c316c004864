#include "operator/others_traffic.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "diagnosis/counters.h"
#include "topology/counters.h"

namespace ringtrue::ops {
namespace {

// Where no run of several nodes has shown it: TCP's headers at an MTU of 1500.
constexpr double usual_overhead = 1.05;
constexpr double max_overhead = 1.2;    // more is not of headers
constexpr std::size_t several = 3;      // nodes, of which the middle one has no others' traffic
constexpr double exact_to = 0.03;       // of what the run sent
constexpr double resent_packet = 1500;  // bytes: what was sent again is counted in packets
constexpr double own_talk = 32 << 10;   // bytes a run: the lease's messages, connections
// Bytes a hop: of less, headers are more than what is sent, as where many small messages tell round trips.
constexpr double least_hop = 16 << 10;
constexpr double infiniband_word = 4;  // bytes: what port_xmit_data counts

struct Carried {
  double sent = 0, received = 0;  // bytes
  double resent = 0;              // at most, into either direction
  int hops = 0;
};

using Devices = std::map<std::string, Carried>;

Devices by_device(const run::CounterWindow& window) {
  Devices out;
  for (const run::CounterChange& change : window.changes) {
    const double rise = double(topology::rise(change));
    if (change.counter == "tx_bytes") out[change.device].sent += rise;
    if (change.counter == "rx_bytes") out[change.device].received += rise;
    if (change.counter == "port_xmit_data") out[change.device].sent += rise * infiniband_word;
    if (change.counter == "port_rcv_data") out[change.device].received += rise * infiniband_word;
  }
  return out;
}

using Rails = std::vector<diagnosis::RdmaPort>;

// What of a port's bytes is not the run's.
struct Beside {
  double overhead = 1;  // of the run's bytes: headers
  double talk = 0;      // bytes
  double seconds = 1;

  // Bytes per second; 0: none that is sure.
  double operator()(double all, double own) const {
    const double more = all - overhead * own;
    return more > talk + exact_to * own ? more / seconds : 0;
  }
};

// What each rail carried, of others: those that did so beside what is known to be of the run.
void add_by_rail(const Devices& devices, const Rails& rails, const std::vector<Carried>& ours,
                 const Beside& beside, diagnosis::OthersTraffic& traffic) {
  if (rails.size() < 2 || ours.size() > rails.size()) return;
  std::vector<double> sent(rails.size()), received(rails.size());
  for (std::size_t k = 0; k < rails.size(); ++k) {
    const auto device = devices.find(port_name(rails[k]));
    if (device == devices.end()) return;
    const Carried own = k < ours.size() ? ours[k] : Carried();
    sent[k] = beside(device->second.sent, own.sent);
    received[k] = beside(device->second.received, own.received);
  }
  // One rail's may be too little to show in the sum.
  const auto sum = [](const std::vector<double>& list) {
    return std::accumulate(list.begin(), list.end(), 0.0);
  };
  traffic.sends = std::max(traffic.sends, sum(sent));
  traffic.receives = std::max(traffic.receives, sum(received));
  if (traffic.sends > 0) traffic.sends_by_rail = std::move(sent);
  if (traffic.receives > 0) traffic.receives_by_rail = std::move(received);
}

// Of the ports that the run went through; nullopt: the counters do not tell.
std::optional<Carried> of_ports(const Devices& devices, const Rails& rails, const Carried& ours) {
  Carried sum;
  for (const auto& [device, carried] : devices)
    if (diagnosis::of_rails(device, rails)) sum.sent += carried.sent, sum.received += carried.received;
  if (!rails.empty())
    return sum.sent >= ours.sent && sum.received >= ours.received ? std::optional(sum) : std::nullopt;
  std::optional<Carried> least;
  for (const auto& [device, carried] : devices) {
    if (device == "lo" || device.find('/') != device.npos) continue;
    if (carried.sent < ours.sent || carried.received < ours.received) continue;
    if (!least || carried.sent + carried.received < least->sent + least->received) least = carried;
  }
  return least;
}

}  // namespace

std::map<int, diagnosis::OthersTraffic> OthersTrafficMeter::read(const diagnosis::Observation& observation,
                                                                 const run::Job& job,
                                                                 const run::RunReport& report) {
  const double calls = job.iterations > 0 ? 1 + double(job.warmup) / job.iterations : 1;
  std::map<int, Carried> ours;
  std::map<int, std::vector<Carried>> ours_by_rail;
  for (const diagnosis::HopReading& hop : observation.hops) {
    if (hop.source == hop.destination) continue;
    ours[hop.source].sent += double(hop.bytes.value) * calls;
    ours[hop.destination].received += double(hop.bytes.value) * calls;
    for (const diagnosis::RailReading& rail : hop.rails) {
      const auto k = std::size_t(rail.rail);
      for (const int node : {hop.source, hop.destination})
        ours_by_rail[node].resize(std::max(ours_by_rail[node].size(), k + 1));
      ours_by_rail[hop.source][k].sent += double(rail.bytes.value) * calls;
      ours_by_rail[hop.destination][k].received += double(rail.bytes.value) * calls;
    }
    for (const int node : {hop.source, hop.destination})
      ++ours[node].hops, ours[node].resent += double(hop.retransmits) * calls * resent_packet;
  }
  struct Seen {
    int node = 0;
    Carried ours, all;
    double seconds = 0;
    Devices devices;
    Rails rails;
  };
  std::vector<Seen> seen;
  std::vector<double> overheads;
  for (const auto& [node, carried] : ours) {
    if (std::size_t(node) >= job.nodes.size()) continue;  // ranks of one process
    if (carried.sent + carried.received < least_hop * carried.hops) continue;
    const std::string& name = job.nodes[std::size_t(node)];
    const auto window = report.counters.find(name);
    if (window == report.counters.end() || !(window->second.seconds > 0)) continue;
    const auto at = observation.rails.find(name);
    const Rails rails = at == observation.rails.end() ? Rails() : at->second;
    Devices devices = by_device(window->second);
    const auto all = of_ports(devices, rails, carried);
    if (!all) continue;
    seen.push_back({node, carried, *all, window->second.seconds, std::move(devices), rails});
    if (carried.sent > 0) overheads.push_back(all->sent / carried.sent);
    if (carried.received > 0) overheads.push_back(all->received / carried.received);
  }
  if (seen.size() >= several) {
    const double middle = lower_median(overheads);
    if (middle <= max_overhead) overhead_ = overhead_ > 0 ? std::min(overhead_, middle) : middle;
  }
  const double overhead = overhead_ > 0 ? overhead_ : usual_overhead;
  std::map<int, diagnosis::OthersTraffic> out;
  for (const Seen& s : seen) {
    const Beside beside{overhead, own_talk + s.ours.resent, s.seconds};
    diagnosis::OthersTraffic traffic;
    traffic.sends = beside(s.all.sent, s.ours.sent);
    traffic.receives = beside(s.all.received, s.ours.received);
    if (const auto own = ours_by_rail.find(s.node); own != ours_by_rail.end())
      add_by_rail(s.devices, s.rails, own->second, beside, traffic);
    if (traffic.sends > 0 || traffic.receives > 0) out[s.node] = traffic;
  }
  return out;
}

}  // namespace ringtrue::ops
