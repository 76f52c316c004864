#include "campaign/flows.h"

#include <algorithm>
#include <cmath>

#include "campaign/draw.h"
#include "sim/network.h"
#include "sim/sharing.h"

namespace ringtrue::campaign {
namespace {

constexpr std::uint64_t slice_bytes = 128 * 1024;  // as the collectives cut what they send
constexpr std::uint64_t max_slices = 64;  // of a flow, that noise is drawn for: longer flows have longer ones
constexpr double held_share =
    0.9;  // of a hop's time, that a receiver which is the limit keeps its window shut

// A flow's part on one rail.
struct Part {
  std::size_t flow = 0;
  int rail = 0;
  sim::Route route;
  double load = 0;  // bytes, with noise
  double end = 0;   // seconds after the beginning
};

class Run {
 public:
  Run(const sim::Fabric& fabric, std::span<const Flow> flows, const Noise& noise, std::uint64_t seed)
      : fabric_(fabric), flows_(flows), noise_(noise), draw_(seed), network_(fabric, seed, noise.run) {}

  Played operator()(double begin) {
    lay_parts();
    share_links(begin);
    Played played;
    auto& out = played.hops;
    out.resize(flows_.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].source = flows_[i].source;
      out[i].destination = flows_[i].destination;
      out[i].bytes = flows_[i].bytes;
      out[i].latency = round_trip(flows_[i]);
    }
    for (const Part& part : parts_) note(part, out[part.flow]);
    for (diagnosis::HopReading& reading : out) note_receiver(reading);
    played.others = std::move(others_);
    return played;
  }

 private:
  Bytes bytes_of(std::size_t flow, int rail) const {
    const std::uint64_t all = flows_[flow].bytes.value, rails = std::uint64_t(fabric_.rails);
    return Bytes(all / rails + (std::uint64_t(rail) < all % rails ? 1 : 0));
  }

  // 0: it takes in what its links carry.
  double intake(int node) const {
    const double rate = network_.reduce_rate(node);
    return rate < fabric_.inter.rate.value * fabric_.rails ? rate : 0;
  }

  void lay_parts() {
    std::vector<std::uint32_t> processor(std::size_t(fabric_.nodes));  // its link + 1
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      const int to = flows_[f].destination;
      for (int rail = 0; rail < fabric_.rails; ++rail) {
        Part part{f, rail, network_.route(flows_[f].source, to, 0, rail), 0, 0};
        const std::uint64_t bytes = bytes_of(f, rail).value;
        if (bytes == 0) continue;
        const std::uint64_t slices = std::clamp<std::uint64_t>(bytes / slice_bytes, 1, max_slices);
        double sum = 0;
        for (std::uint64_t i = 0; noise_.slice > 0 && i < slices; ++i) sum += draw_.share();
        part.load = double(bytes) * (1 + noise_.slice * sum / double(slices));
        if (noise_.tail > 0) part.load *= 1 + noise_.tail * heavy_tail();
        if (intake(to) > 0) {
          std::uint32_t& link = processor[std::size_t(to)];
          if (link == 0) link = network_.add_private(intake(to)) + 1;
          part.route.link[part.route.links++] = link - 1;
        }
        parts_.push_back(part);
      }
    }
  }

  // Of a Pareto distribution with exponent 2, from 0.
  double heavy_tail() {
    const double share = 1 - draw_.share();
    return std::min(5.0, 0.5 * (1 / std::sqrt(share) - 1));
  }

  // Sets the ends of all parts.
  void share_links(double begin) {
    const auto others = network_.background();
    std::vector<std::uint32_t> users(network_.links());
    for (const Part& part : parts_)
      for (const std::uint32_t link : part.route.crossed()) ++users[link];
    for (const auto& traffic : others)
      for (const std::uint32_t link : traffic.links) ++users[link];

    sim::Sharing sharing;
    for (std::uint32_t i = 0; i < network_.links(); ++i)
      sharing.add_link(network_.link(i).up(begin) ? network_.link(i).rate : 0);
    std::uint32_t tag = std::uint32_t(parts_.size());
    for (const auto& traffic : others) sharing.start(traffic.links, sim::Sharing::never, tag++, begin);
    std::vector<std::uint32_t> flapping;
    std::size_t left = 0;
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      Part& part = parts_[p];
      const bool packet = part.load <= double(fabric_.mtu);  // shares no link for long enough to matter
      bool alone = true;
      double rate = sim::Sharing::never;
      for (const std::uint32_t link : part.route.crossed()) {
        const bool flaps = network_.link(link).flaps();
        if (flaps) flapping.push_back(link);
        alone = alone && users[link] == 1 && !flaps;
        rate = std::min(rate, network_.link(link).rate);
      }
      if (alone || (packet && std::isfinite(rate))) {
        part.end = part.load / rate;
      } else {
        sharing.start(part.route.crossed(), part.load, p, begin);
        ++left;
      }
    }
    note_others(others, sharing, begin);
    std::sort(flapping.begin(), flapping.end());
    flapping.erase(std::unique(flapping.begin(), flapping.end()), flapping.end());

    std::vector<std::uint32_t> ended;
    for (double now = begin; left > 0;) {
      if (sharing.unsettled()) sharing.settle(now);
      double change = sim::Sharing::never;
      for (const std::uint32_t link : flapping)
        change = std::min(change, network_.link(link).next_change(now));
      now = std::min(sharing.next(), change);
      ended.clear();
      sharing.finish(now, ended);
      for (const std::uint32_t p : ended) parts_[p].end = now - begin;
      left -= ended.size();
      for (const std::uint32_t link : flapping)
        sharing.set_rate(link, network_.link(link).up(now) ? network_.link(link).rate : 0);
    }
  }

  // What others get while all flows are there.
  void note_others(const std::vector<sim::Network::Background>& others, sim::Sharing& sharing, double begin) {
    if (others.empty()) return;
    if (sharing.unsettled()) sharing.settle(begin);
    const std::vector<double> rates = sharing.rates(parts_.size() + others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double rate = rates[parts_.size() + i];
      diagnosis::OthersTraffic &source = others_[others[i].source],
                               &destination = others_[others[i].destination];
      source.sends += rate, destination.receives += rate;
      if (fabric_.rails < 2) continue;
      for (auto* by_rail : {&source.sends_by_rail, &destination.receives_by_rail})
        by_rail->resize(std::size_t(fabric_.rails));
      source.sends_by_rail[std::size_t(others[i].rail)] += rate;
      destination.receives_by_rail[std::size_t(others[i].rail)] += rate;
    }
  }

  // The smallest of a few, over all rails.
  Seconds round_trip(const Flow& flow) {
    double least = sim::Sharing::never;
    for (int rail = 0; rail < fabric_.rails; ++rail) {
      least = std::min(least, network_.route(flow.source, flow.destination, 0, rail).latency +
                                  network_.route(flow.destination, flow.source, 0, rail).latency);
    }
    double longer = 1;
    for (int i = 0; i < 8; ++i) longer = std::min(longer, draw_.share());
    if (noise_.latency > 0) least *= 1 + noise_.latency * draw_.share();
    return Seconds(least * (1 + noise_.slice * longer));
  }

  void note(const Part& part, diagnosis::HopReading& reading) {
    const Bytes bytes = bytes_of(part.flow, part.rail);
    double busy = part.end, lost = 0, patience = 0;
    for (const std::uint32_t link : part.route.crossed()) {
      lost = 1 - (1 - lost) * (1 - network_.link(link).lost);
      patience = std::max(patience, network_.link(link).patience);
    }
    if (lost > 0) {
      const double slices = std::ceil(double(bytes.value) / double(slice_bytes));
      const double packets = std::ceil(double(slice_bytes) / fabric_.mtu);  // of a slice
      // A slice with a lost packet waits once.
      busy += draw_.count(slices, 1 - power(1 - lost, std::uint64_t(packets))) * patience;
      reading.retransmits += std::uint64_t(draw_.count(slices * packets, lost));
    }
    if (noise_.retransmits > 0)
      reading.retransmits +=
          std::uint64_t(draw_.count(std::ceil(double(bytes.value) / fabric_.mtu), noise_.retransmits));
    if (fabric_.rails > 1) reading.rails.push_back({part.rail, bytes, Seconds(busy)});
    reading.busy = std::max(reading.busy, Seconds(busy));
  }

  void note_receiver(diagnosis::HopReading& reading) const {
    const double most = intake(reading.destination);
    if (most > 0 && (reading.bytes / reading.busy).value > 0.9 * most / (1 + noise_.slice))
      reading.receiver_limited = reading.busy * held_share;
  }

  const sim::Fabric& fabric_;
  std::span<const Flow> flows_;
  const Noise noise_;
  Draw draw_;
  sim::Network network_;
  std::vector<Part> parts_;
  std::map<int, diagnosis::OthersTraffic> others_;
};

}  // namespace

Played play_flows(const sim::Fabric& fabric, std::span<const Flow> flows, const Noise& noise,
                  std::uint64_t seed, Seconds begin) {
  return Run(fabric, flows, noise, seed)(begin.value);
}

}  // namespace ringtrue::campaign
