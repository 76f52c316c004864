#include "diagnosis/infer/readings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int max_rails = 64;

// The best of several readings; of those that tell rails apart, of each rail. A hop is dealt to its rails
// evenly, and is as fast as the slowest of them.
class AtBest {
 public:
  // With what others had of it, at that end.
  void note(const Reading& r, Direction end) {
    if (r.held_back || r.brief) return;
    whole_ = std::max(whole_, r.carried_by(end));
    rails_.resize(std::max(rails_.size(), r.rails.size()), 0);
    for (std::size_t k = 0; k < r.rails.size(); ++k)
      rails_[k] = std::max(rails_[k], r.rail_carried_by(end, k));
  }
  double rate() const {
    if (rails_.empty()) return whole_;
    return std::max(whole_, double(rails_.size()) * *std::min_element(rails_.begin(), rails_.end()));
  }

 private:
  double whole_ = 0;
  std::vector<double> rails_;
};

double held_share(const HopReading& hop) {
  return hop.busy.value > 0 ? hop.receiver_limited.value / hop.busy.value : 0;
}

// What a hop lacks for what others carry: all of it, or, by rail, so much that none does less than its
// slowest with others. A hop is as fast as its slowest rail.
double lacking(const std::vector<double>& rails, double others, const std::vector<double>& by_rail) {
  if (by_rail.empty() || by_rail.size() != rails.size()) return others;
  double own = rails[0], with_others = rails[0] + by_rail[0];
  for (std::size_t k = 1; k < rails.size(); ++k)
    own = std::min(own, rails[k]), with_others = std::min(with_others, rails[k] + by_rail[k]);
  return double(rails.size()) * (with_others - own);
}

// Of a hop whose ends carry others' traffic on different rails neither end's alone is what it lacks: each
// counts for what it takes where the other's is gone.
void lack_together(Reading& r) {
  const auto &sent = r.others_sent_by_rail, &received = r.others_received_by_rail;
  if (sent.size() != r.rails.size() || received.size() != r.rails.size() || r.rails.empty()) return;
  std::vector<double> most(sent.size());
  for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(sent[k], received[k]);
  const double both = lacking(r.rails, 0, most), by_sent = r.others_sent, by_received = r.others_received;
  r.others_sent = std::max(by_sent, both - by_received);
  r.others_received = std::max(by_received, both - by_sent);
}

// What others' traffic and the experiment's own fill ports with.
class FilledByOthers {
 public:
  explicit FilledByOthers(const Observation& observation) : others_(observation.others) {
    // The directions of a one-way test follow one another.
    if (others_.empty() || observation.experiment.algorithm == collective::AlgorithmId::naive) return;
    for (const HopReading& hop : observation.hops) {
      const double rate = hop.rate().value_or(0);
      own_[hop.source].sends += rate, own_[hop.destination].receives += rate;
    }
  }
  // Into the sender's port, or out of the receiver's: the more.
  double behind(const HopReading& hop) const {
    return std::max(filled(hop.source, Direction::receives), filled(hop.destination, Direction::sends));
  }

 private:
  // 0 where others have no good part of it.
  double filled(int node, Direction way) const {
    constexpr double good_part = 0.2;
    const auto at = others_.find(node);
    if (at == others_.end()) return 0;
    const bool sends = way == Direction::sends;
    const double others = sends ? at->second.sends_at_most() : at->second.receives_at_most();
    const auto own = own_.find(node);
    const double all = others + (own == own_.end() ? 0 : sends ? own->second.sends : own->second.receives);
    return others > good_part * all ? all : 0;
  }

  const std::map<int, OthersTraffic>& others_;
  std::map<int, OthersTraffic> own_;
};

}  // namespace

std::vector<double> hop_rates(const Observation& observation) {
  std::vector<double> rates;
  for (const HopReading& hop : observation.hops) {
    if (const auto rate = hop.rate()) rates.push_back(*rate);
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

Readings::Readings(int nodes) : rows_(std::size_t(nodes)), columns_(std::size_t(nodes)) {}

Readings Readings::evened(const std::vector<double>& generations, std::vector<double> held_to) const {
  Readings out = *this;
  for (std::size_t x = 0; x < out.rows_.size(); ++x) {
    for (Cell& cell : out.rows_[x]) {
      const auto y = std::size_t(cell.destination);
      const double level = std::min(held_to[x], held_to[y]);
      // Of a port that its partners hold back, others may have what these leave.
      const auto others_of = [&](std::size_t node, double others, double own) {
        if (held_to[node] == generations[node]) return others / level;
        return std::max(0.0, (own + others) / generations[node] - own / level);
      };
      for (Reading& r : cell.list) {
        r.others_sent = others_of(x, r.others_sent, r.rate);
        r.others_received = others_of(y, r.others_received, r.rate);
        r.rate /= level, r.behind_others /= level;
        for (auto* by_rail : {&r.rails, &r.others_sent_by_rail, &r.others_received_by_rail})
          for (double& rail : *by_rail) rail /= level;
      }
    }
  }
  out.held_to_ = std::move(held_to);
  return out;
}

const Readings::Cell* Readings::find(int source, int destination) const {
  const auto& row = rows_[std::size_t(source)];
  const auto at = std::lower_bound(row.begin(), row.end(), destination,
                                   [](const Cell& cell, int d) { return cell.destination < d; });
  return at == row.end() || at->destination != destination ? nullptr : &*at;
}

Readings::Cell& Readings::cell(int source, int destination) {
  auto& row = rows_[std::size_t(source)];
  const auto at = std::lower_bound(row.begin(), row.end(), destination,
                                   [](const Cell& cell, int d) { return cell.destination < d; });
  if (at != row.end() && at->destination == destination) return *at;
  auto& column = columns_[std::size_t(destination)];
  column.insert(std::lower_bound(column.begin(), column.end(), source), source);
  ++pairs_;
  return *row.insert(at, {destination});
}

void Readings::add(const Observation& observation, int run, bool confirming, const IsShared& shared) {
  std::vector<double> shares;
  for (const HopReading& hop : observation.hops) shares.push_back(held_share(hop));
  const double usual = lower_median(std::move(shares));
  const FilledByOthers filled(observation);
  for (const HopReading& hop : observation.hops) {
    const auto rate = hop.rate();
    const bool known =
        hop.source >= 0 && hop.source < nodes() && hop.destination >= 0 && hop.destination < nodes();
    if (!rate || !known || hop.source == hop.destination) continue;
    Reading reading;
    reading.source = hop.source;
    reading.destination = hop.destination;
    reading.rate = *rate;
    reading.run = run;
    reading.confirming = confirming;
    reading.held_back = held_share(hop) > 0.5 && held_share(hop) > usual + 0.3;
    reading.window_limited = std::min(1.0, held_share(hop));
    if (hop.busy.value > 0)
      reading.send_buffer_limited = std::min(1.0, hop.sender_limited.value / hop.busy.value);
    reading.bytes = hop.bytes.value;
    reading.busy = hop.busy.value;
    reading.momentary = reading.busy < momentary_below;
    reading.brief = reading.momentary || double(hop.bytes.value) < brief_below;
    reading.cpu_busy = observation.cpu_busy;
    reading.shared = shared && shared(hop);
    reading.company = int(observation.hops.size());
    reading.retransmits = hop.retransmits;
    reading.behind_others = filled.behind(hop);
    for (const RailReading& rail : hop.rails) {
      if (rail.rail < 0 || rail.rail >= max_rails || !(rail.busy.value > 0)) continue;
      reading.rails.resize(std::max(reading.rails.size(), std::size_t(rail.rail) + 1));
      reading.rails[std::size_t(rail.rail)] = (rail.bytes / rail.busy).value;
    }
    const OthersTraffic at_source = observation.others_of(hop.source),
                        at_destination = observation.others_of(hop.destination);
    reading.others_sent = lacking(reading.rails, at_source.sends, at_source.sends_by_rail);
    reading.others_received =
        lacking(reading.rails, at_destination.receives, at_destination.receives_by_rail);
    reading.others_sent_by_rail = at_source.sends_by_rail;
    reading.others_received_by_rail = at_destination.receives_by_rail;
    lack_together(reading);
    cell(hop.source, hop.destination).list.push_back(std::move(reading));
  }
}

std::span<const Reading> Readings::of(int source, int destination) const {
  const Cell* cell = find(source, destination);
  return cell ? std::span<const Reading>(cell->list) : std::span<const Reading>();
}

std::vector<int> Readings::receivers_of(int source) const {
  std::vector<int> out;
  for (const Cell& cell : rows_[std::size_t(source)]) out.push_back(cell.destination);
  return out;
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
    if (r.counts()) out.push_back(r);
  }
  return out;
}

std::vector<Reading> Readings::counting_and_better(int source, int destination) const {
  std::vector<Reading> out = counting(source, destination);
  if (out.empty()) return out;
  const double best = std::ranges::max_element(out, {}, &Reading::rate)->rate;
  for (const Reading& r : of(source, destination))
    if (!r.counts() && !r.momentary && r.rate > best) out.push_back(r);
  return out;
}

std::vector<Reading> Readings::usable(int source, int destination) const {
  std::vector<Reading> out;
  for (const Reading& r : of(source, destination))
    if (!r.held_back && !r.momentary) out.push_back(r);
  return out;
}

std::vector<double> best_by_rail(const std::vector<Reading>& readings) {
  std::vector<double> best;
  for (const Reading& r : readings) {
    best.resize(std::max(best.size(), r.rails.size()), 0);
    for (std::size_t k = 0; k < r.rails.size(); ++k) best[k] = std::max(best[k], r.rails[k]);
  }
  return best;
}

std::vector<double> usual_by_rail(const std::vector<Reading>& readings) {
  std::vector<std::vector<double>> by_rail;
  for (const Reading& r : readings) {
    by_rail.resize(std::max(by_rail.size(), r.rails.size()));
    for (std::size_t k = 0; k < r.rails.size(); ++k) by_rail[k].push_back(r.rails[k]);
  }
  std::vector<double> usual;
  for (auto& rates : by_rail) usual.push_back(upper_median(std::move(rates)));
  return usual;
}

namespace {

template <class Rate>  // double(const Reading&)
std::optional<double> best_of_list(std::span<const Reading> list, bool brief, const Rate& rate) {
  std::optional<double> best;
  bool counts = false;
  for (const Reading& r : list) {
    if (r.brief && !brief) continue;
    if (!best || rate(r) > *best) best = rate(r);
    counts |= !r.held_back && !r.shared;
  }
  return counts ? best : std::nullopt;
}

}  // namespace

std::optional<double> Readings::best(int source, int destination) const {
  return best_of_list(of(source, destination), only_brief(source, destination),
                      [](const Reading& r) { return r.carried(); });
}

std::optional<double> Readings::best_of(Direction end, int source, int destination) const {
  if (held_by_partner(end, source, destination)) return std::nullopt;
  return best_of_list(of(source, destination), only_brief(source, destination),
                      [&](const Reading& r) { return r.carried_by(end); });
}

std::vector<Reading> Readings::counting_for(Direction end, int source, int destination) const {
  std::vector<Reading> out;
  if (held_by_partner(end, source, destination)) return out;
  for (const Reading& r : of(source, destination)) {
    if (!r.counts_for(end)) continue;
    Reading& own = out.emplace_back(r);
    own.rate = r.carried_by(end);
    for (std::size_t k = 0; k < own.rails.size(); ++k) own.rails[k] = r.rail_carried_by(end, k);
  }
  return out;
}

std::optional<double> Readings::shown(int source, int destination) const {
  AtBest best;
  for (const Reading& r : of(source, destination))
    for (const Direction end : {Direction::sends, Direction::receives}) best.note(r, end);
  return best.rate() > 0 ? std::optional(best.rate()) : std::nullopt;
}

Shown::Shown(const Readings& readings) : sends(std::size_t(readings.nodes())), receives(sends) {
  std::vector<AtBest> sending(sends.size()), receiving(sends.size());
  readings.each_pair([&](int x, int y) {
    const bool sends = !readings.held_by_partner(Direction::sends, x, y),
               receives = !readings.held_by_partner(Direction::receives, x, y);
    for (const Reading& r : readings.of(x, y)) {
      if (sends) sending[std::size_t(x)].note(r, Direction::sends);
      if (receives) receiving[std::size_t(y)].note(r, Direction::receives);
    }
  });
  for (std::size_t i = 0; i < sends.size(); ++i)
    sends[i] = sending[i].rate(), receives[i] = receiving[i].rate();
}

std::vector<OthersTraffic> Readings::lasting_others() const {
  constexpr int fewest = 4;
  struct Seen {
    int all = 0, busy = 0;
    OthersTraffic most;
  };
  std::vector<Seen> seen(rows_.size());
  const auto note = [&](int node, double others, double& most, const Reading& r, double level) {
    Seen& s = seen[std::size_t(node)];
    ++s.all;
    if (!r.is_beside(others)) return;
    ++s.busy, most = std::max(most, others * level);
  };
  each_pair([&](int x, int y) {
    const double level = held_to_.empty() ? 1 : std::min(held_to_[std::size_t(x)], held_to_[std::size_t(y)]);
    for (const Reading& r : of(x, y)) {
      note(x, r.others_sent, seen[std::size_t(x)].most.sends, r, level);
      note(y, r.others_received, seen[std::size_t(y)].most.receives, r, level);
    }
  });
  // A node sends and receives; others may do only one of them.
  const auto lasts = [](const Seen& s) { return s.busy > 0 && 3 * s.busy >= s.all; };
  std::vector<OthersTraffic> out(rows_.size());
  // Where some have it, those that were measured less often may as well.
  if (std::ranges::none_of(seen, [&](const Seen& s) { return s.all >= fewest && lasts(s); })) return out;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (lasts(seen[i])) out[i] = seen[i].most;
  return out;
}

double Readings::least() const {
  double least = 0;
  each_pair([&](int x, int y) {
    for (const Reading& r : usable(x, y)) least = least > 0 ? std::min(least, r.rate) : r.rate;
  });
  return least;
}

BaseRate::BaseRate(const Readings& readings, const std::function<double(int, int)>& limit) {
  std::vector<double> shares;
  readings.each_pair([&](int x, int y) {
    const double most = limit(x, y);
    if (most < 0) return;
    for (const Reading& r : readings.of(x, y)) {
      if (!r.counts_if_longer()) continue;
      items_.push_back({r.rate, most, x, y, &r});
      if (most > 0 && !r.brief) shares.push_back(r.rate / most);
    }
  });
  const double middle = upper_median(shares);
  for (double& share : shares) share = std::abs(share - middle);
  noise_ = 1.4826 * upper_median(std::move(shares));
}

}  // namespace ringtrue::diagnosis
