#include "diagnosis/readings.h"

#include <algorithm>
#include <cmath>

namespace ringtrue::diagnosis {
namespace {

std::optional<double> rate_of(const HopReading& hop) {
  if (hop.bytes.value == 0 || !(hop.busy.value > 0)) return std::nullopt;
  const double rate = (hop.bytes / hop.busy).value;
  if (!std::isfinite(rate)) return std::nullopt;
  return rate;
}

double held_share(const HopReading& hop) {
  return hop.busy.value > 0 ? hop.receiver_limited.value / hop.busy.value : 0;
}

}  // namespace

double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> hop_rates(const Observation& observation) {
  std::vector<double> rates;
  for (const HopReading& hop : observation.hops) {
    if (const auto rate = rate_of(hop)) rates.push_back(*rate);
  }
  return rates;
}

std::vector<PortReading> port_readings(const Observation& observation) {
  const Experiment& e = observation.experiment;
  std::vector<PortReading> out;
  for (const bool receives : {true, false}) {
    std::vector<PortReading> ports;
    std::vector<double> rates;
    for (std::size_t rank = std::size_t(e.workers); rank < e.order.size(); ++rank) {
      const int node = e.order[rank];
      double bytes = 0, busy = 0;
      for (const HopReading& hop : observation.hops) {
        if ((receives ? hop.destination : hop.source) != node || hop.source == hop.destination) continue;
        bytes += double(hop.bytes.value);
        busy = std::max(busy, hop.busy.value);
      }
      if (!(bytes > 0) || !(busy > 0)) continue;
      ports.push_back({node, int(rank) - e.workers, receives, bytes / busy, 0});
      rates.push_back(bytes / busy);
    }
    for (PortReading& port : ports) port.typical = upper_median(rates);
    out.insert(out.end(), ports.begin(), ports.end());
  }
  return out;
}

Readings::Readings(int nodes) : nodes_(nodes), pairs_(std::size_t(nodes) * std::size_t(nodes)) {}

void Readings::add(const Observation& observation, int run, bool confirming) {
  std::vector<double> shares;
  for (const HopReading& hop : observation.hops) shares.push_back(held_share(hop));
  const double usual = upper_median(shares);
  for (const HopReading& hop : observation.hops) {
    const auto rate = rate_of(hop);
    const bool known =
        hop.source >= 0 && hop.source < nodes_ && hop.destination >= 0 && hop.destination < nodes_;
    if (!rate || !known || hop.source == hop.destination) continue;
    Reading reading;
    reading.source = hop.source;
    reading.destination = hop.destination;
    reading.rate = *rate;
    reading.run = run;
    reading.confirming = confirming;
    reading.held_back = held_share(hop) > 0.5 && held_share(hop) > usual + 0.3;
    reading.bytes = hop.bytes.value;
    reading.busy = hop.busy.value;
    reading.momentary = reading.busy < momentary_below;
    reading.brief = reading.momentary || double(hop.bytes.value) < brief_below;
    reading.cpu_busy = observation.cpu_busy;
    pairs_[at(hop.source, hop.destination)].push_back(reading);
  }
}

std::span<const Reading> Readings::of(int source, int destination) const {
  return pairs_[at(source, destination)];
}

bool Readings::only_brief(int source, int destination) const {
  const auto list = of(source, destination);
  return std::all_of(list.begin(), list.end(), [](const Reading& r) { return r.brief; });
}

bool Readings::only_momentary(int source, int destination) const {
  const auto list = of(source, destination);
  return std::all_of(list.begin(), list.end(), [](const Reading& r) { return r.momentary; });
}

std::vector<Reading> Readings::counting(int source, int destination) const {
  std::vector<Reading> out;
  for (const Reading& r : of(source, destination)) {
    if (!r.held_back && !r.momentary) out.push_back(r);
  }
  return out;
}

std::optional<double> Readings::best(int source, int destination) const {
  std::optional<double> best;
  bool accuses = false;
  const bool brief = only_brief(source, destination);
  for (const Reading& r : of(source, destination)) {
    if (r.brief && !brief) continue;
    if (!best || r.rate > *best) best = r.rate;
    accuses |= !r.held_back;
  }
  return accuses ? best : std::nullopt;
}

double Readings::share_as_low(double rate, bool better, const std::function<bool(int, int)>& mine) const {
  constexpr int fewest = 8;
  int all = 0, low = 0;
  for (int x = 0; x < nodes_; ++x) {
    for (int y = 0; y < nodes_; ++y) {
      if (mine(x, y) || (better && best(x, y).value_or(0) < 1.03 * rate)) continue;
      for (const Reading& r : counting(x, y)) ++all, low += r.rate <= rate;
    }
  }
  return all < fewest ? 0 : double(low) / all;
}

double Readings::least() const {
  double least = 0;
  for (int x = 0; x < nodes_; ++x)
    for (int y = 0; y < nodes_; ++y)
      for (const Reading& r : counting(x, y)) least = least > 0 ? std::min(least, r.rate) : r.rate;
  return least;
}

int Readings::pairs_measured() const {
  return int(std::count_if(pairs_.begin(), pairs_.end(), [](const auto& list) { return !list.empty(); }));
}

}  // namespace ringtrue::diagnosis
