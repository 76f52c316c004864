#include "sim/recurrence.h"

#include <algorithm>

#include "collective/chunks.h"
#include "run/trace.h"
#include "sim/world.h"

namespace ringtrue::sim {

namespace {

using collective::Fault;
using collective::part;
using collective::Range;

constexpr std::uint64_t window = 64;  // transfers whose sends are at hand
// As in collective/ring.cc.
constexpr std::uint64_t max_ahead = 512, max_sends = 2 * collective::Slicing::max_slices;

// The last rows of a table of one value for every transfer (row) and rank (column).
class Window {
 public:
  Window(std::uint64_t rows, std::size_t columns) : rows_(rows), columns_(columns), values_(rows * columns) {}
  double* operator[](std::uint64_t row) { return &values_[row % rows_ * columns_]; }

 private:
  std::uint64_t rows_;
  std::size_t columns_;
  std::vector<double> values_;
};

struct Send {
  std::uint64_t number = 0;
  double left = 0;
};

// A hop's connection over one rail.
struct Way {
  double rate = 0, latency = 0;
  double last = 0;  // when its last message left
};

class RingRecurrence {
 public:
  RingRecurrence(const collective::Call& call, const Fabric& fabric, const SimOptions& options)
      : call_(call), fabric_(fabric), options_(options), network_(fabric, options.seed, options.run_noise) {
    ranks_ = std::size_t(network_.layout().ranks());
    slicing_ = collective::Slicing(call, part(collective::whole(call), ranks_, 0).size());
  }

  bool lay_ways();
  void play();
  SimReport report() const;

 private:
  std::size_t after(std::size_t rank) const { return rank + 1 < ranks_ ? rank + 1 : 0; }
  bool held_up_elsewhere();
  std::uint64_t bytes(std::size_t chunk, std::uint64_t slice) const {
    return slicing_.of(part(collective::whole(call_), ranks_, chunk), slice).size() * size_of(call_.type);
  }

  const collective::Call& call_;
  const Fabric& fabric_;
  const SimOptions& options_;
  Network network_;
  std::size_t ranks_ = 0, rails_ = 1;
  collective::Slicing slicing_{{}, 0};
  std::vector<Route> routes_;
  std::vector<Way> ways_;      // by rank and rail
  std::vector<double> delay_;  // by rank
  std::vector<double> overhead_;
  std::vector<double> busy_, waited_;  // by rank and rail; by rank
  std::vector<std::uint64_t> messages_, sent_bytes_;
  double time_ = 0;
};

// False where more than one hop can keep a link busy.
bool RingRecurrence::held_up_elsewhere() {
  std::vector<double> wanted(network_.links());
  std::vector<std::uint32_t> users(network_.links());
  for (const Route& route : routes_) {
    for (const std::uint32_t link : route.crossed()) {
      wanted[link] += route.rate;
      ++users[link];
    }
  }
  for (std::uint32_t link = 0; link < users.size(); ++link) {
    if (users[link] > 1 && wanted[link] > network_.link(link).rate * (1 + 1e-12)) return true;
  }
  return false;
}

bool RingRecurrence::lay_ways() {
  rails_ = std::size_t(fabric_.rails);
  ways_.resize(ranks_ * rails_);
  delay_.resize(ranks_);
  overhead_.resize(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) {
    const Rank from = Rank(r), to = Rank(after(r));
    if (network_.dead(network_.node(from)) || network_.reduce_rate(from) > 0) return false;
    const std::uint64_t longest = bytes(0, 0);
    if (!network_.fits(from, to, longest)) return false;
    double throttle = 0;
    for (const Fault& fault : options_.faults) {
      if (!fault.concerns(from, to)) continue;
      if (fault.kind == Fault::Kind::delay) {
        delay_[r] += fault.time.value;
      } else if (fault.kind == Fault::Kind::throttle) {
        throttle = throttle > 0 ? std::min(throttle, fault.rate.value) : fault.rate.value;
      } else {
        return false;
      }
    }
    overhead_[r] = (network_.inter(from, to) ? fabric_.inter : fabric_.intra).overhead.value;
    const int rails = network_.rails(from, to);
    if (rails > 1 && (overhead_[r] > 0 || throttle > 0)) return false;
    for (int rail = 0; rail < rails; ++rail) {
      Route route = network_.route(from, to, 0, rail);
      if (throttle > 0) route.rate = std::min(route.rate, throttle);
      for (const std::uint32_t link : route.crossed()) {
        if (network_.link(link).flaps() || network_.link(link).lost > 0) return false;
      }
      ways_[r * rails_ + std::size_t(rail)] = {route.rate, route.latency, 0};
      routes_.push_back(route);
    }
  }
  return !held_up_elsewhere();
}

void RingRecurrence::play() {
  const std::uint64_t slices = slicing_.count(), transfers = 2 * (ranks_ - 1) * slices;
  const std::uint64_t turn = (ranks_ - 1) * slices;
  const std::uint64_t ahead = std::clamp<std::uint64_t>(turn * 3 / 4, 1, max_ahead);

  Window left(window, ranks_), send_posted(slices + 1, ranks_), receive_posted(ahead + 1, ranks_);
  std::vector<std::vector<Send>> late(ranks_);  // that left the window before the rank's program got there
  std::vector<double> cursor(ranks_);           // how far each rank's program is
  std::vector<std::uint64_t> count(ranks_);
  busy_.resize(ways_.size());
  waited_.resize(ranks_);
  sent_bytes_.resize(ranks_);
  const std::uint64_t longer = call_.elements % ranks_;
  const bool noisy = options_.noise > 0;

  const auto wait_for_send = [&](std::uint64_t i, std::uint64_t number, std::size_t r) {
    if (i - number < window) {
      cursor[r] = std::max(cursor[r], left[number][r]);
      return;
    }
    if (late[r].empty()) return;
    for (const Send& send : late[r]) {
      if (send.number == number) cursor[r] = std::max(cursor[r], send.left);
    }
    std::erase_if(late[r], [&](const Send& send) { return send.left <= cursor[r]; });
  };

  for (std::uint64_t i = 0; i < transfers; ++i) {
    const std::size_t step = i / slices;
    const std::uint64_t slice = i % slices;
    const std::uint64_t long_bytes = bytes(0, slice), short_bytes = bytes(ranks_ - 1, slice);
    double* left_now = left[i];
    const double *sends = send_posted[i], *receives = receive_posted[i];
    std::size_t chunk = (2 * ranks_ - step) % ranks_;  // of rank 0
    for (std::size_t r = 0; r < ranks_; ++r, chunk = after(chunk)) {
      const std::uint64_t size = chunk < longer ? long_bytes : short_bytes;
      if (left_now[r] > cursor[r]) late[r].push_back({i - window, left_now[r]});
      left_now[r] = 0;
      if (size == 0) continue;
      const std::size_t next = after(r);
      const std::size_t way_number =
          r * rails_ + (rails_ == 1 ? 0 : std::size_t(network_.rail(Rank(r), Rank(next), 0, count[r])));
      Way& way = ways_[way_number];
      const double posted = std::max(i < slices ? 0 : sends[r], i < ahead ? 0 : receives[next]);
      const double begin = std::max(posted, way.last);
      const double load =
          noisy ? double(size) * noise_of(options_.seed, Rank(r), Rank(next), 0, count[r], options_.noise)
                : double(size);
      const double end = begin + overhead_[r] + load / way.rate;
      const double service = overhead_[r] + load / way.rate;
      ++count[r];
      sent_bytes_[r] += size;
      busy_[way_number] += service;
      waited_[r] += std::max(0.0, end - begin - service);
      way.last = left_now[r] = end;
    }
    // The ranks' programs: receive i is awaited, send i + slices and receive i + ahead are posted.
    const bool more_sends = i + slices < transfers, more_receives = i + ahead < transfers;
    double *next_sends = send_posted[i + slices], *next_receives = receive_posted[i + ahead];
    for (std::size_t r = 0; r < ranks_; ++r) {
      const std::size_t before = r > 0 ? r - 1 : ranks_ - 1;
      if (left_now[before] > 0) {
        const Way& way =
            ways_[before * rails_ +
                  (rails_ == 1 ? 0
                               : std::size_t(network_.rail(Rank(before), Rank(r), 0, count[before] - 1)))];
        cursor[r] = std::max(cursor[r], left_now[before] + way.latency + delay_[before]);
      }
      if (more_sends) {
        if (i + slices >= max_sends) wait_for_send(i, i + slices - max_sends, r);
        next_sends[r] = cursor[r];
      }
      if (more_receives) {
        if (i + ahead >= turn) wait_for_send(i, i + ahead - turn, r);
        next_receives[r] = cursor[r];
      }
    }
  }
  for (const double done : cursor) time_ = std::max(time_, done);
  for (const Way& way : ways_) time_ = std::max(time_, way.last);
  messages_ = std::move(count);
}

SimReport RingRecurrence::report() const {
  SimReport out;
  out.method = Method::recurrence;
  out.time = Seconds(time_);
  const auto add = [&](std::size_t r) {
    if (messages_[r] == 0) return;
    run::Hop hop;
    hop.source = Rank(r);
    hop.destination = Rank(after(r));
    hop.messages = messages_[r];
    hop.bytes = Bytes(sent_bytes_[r]);
    for (std::size_t rail = 0; rail < rails_; ++rail)
      hop.busy = std::max(hop.busy, Seconds(busy_[r * rails_ + rail]));
    out.messages += hop.messages;
    out.bytes_sent += hop.bytes.value;
    out.trace.hops.push_back(hop);
    out.waited.push_back(Seconds(waited_[r]));
  };
  for (std::size_t r = 0; r < ranks_; ++r) add(r);
  return out;
}

}  // namespace

std::optional<SimReport> play_ring_by_recurrence(const collective::Algorithm& algorithm,
                                                 const collective::Call& call, const Fabric& fabric,
                                                 const SimOptions& options) {
  if (algorithm.id != collective::AlgorithmId::ring || call.lanes > 1 || options.events ||
      options.deadline.value > 0 || options.discipline == Discipline::fifo ||
      fabric.receive_overhead.value > 0 || fabric.bucket.value > 0)
    return std::nullopt;
  for (const FabricFault& fault : fabric.faults) {
    if (fault.kind == FabricFault::Kind::background) return std::nullopt;
  }
  RingRecurrence ring(call, fabric, options);
  if (fabric.layout().ranks() < 2 || call.elements == 0) return std::nullopt;
  if (!ring.lay_ways()) return std::nullopt;
  ring.play();
  return ring.report();
}

}  // namespace ringtrue::sim
