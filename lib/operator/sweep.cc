#include "operator/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "base/statistics.h"
#include "diagnosis/counters.h"
#include "diagnosis/sweep/pair_schedule.h"
#include "operator/measurer.h"
#include "operator/rdma_settings.h"
#include "operator/sweep_ports.h"
#include "run/counter_window.h"
#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::ops {
namespace {

constexpr int exchanges = 5;  // samples of a round trip; each is the mean of 100 in a row

// Of fewer than three, nothing is usual.
std::optional<double> usual(std::vector<double> values) {
  if (values.size() < 3) return std::nullopt;
  return upper_median(std::move(values));
}

// What of a window belongs beside a rate: errors of anything, and whatever else a port of `rails` counted
// that is no traffic.
run::CounterWindow beside(const run::CounterWindow& window, const std::vector<diagnosis::RdmaPort>& rails) {
  run::CounterWindow out{window.seconds, {}};
  for (const run::CounterChange& change : window.changes) {
    const auto kind = topology::counter_class(change.counter);
    const bool of_port = change.device.find('/') != std::string::npos;
    const bool ours = diagnosis::of_rails(change.device, rails);
    const bool says =
        kind == topology::CounterClass::error || (ours && kind == topology::CounterClass::congestion);
    if (topology::rise(change) > 0 && says && (ours || !of_port || rails.empty()))
      out.changes.push_back(change);
  }
  return out;
}

class Sweep {
 public:
  Sweep(const SweepRequest& request, const Control& control)
      : request_(request), setup_(request.setup), control_(control) {}

  Outcome<SweepDocument> operator()() {
    if (request_.size.value < 4)
      return trouble({Cause::bad_input, "--size is less than 4 bytes", "", "give --size 16M or so"});
    const auto settings = rdma_settings(setup_, short_timeouts());
    if (!settings) return trouble(settings.error());
    measuring_.verbs = *settings;
    measuring_.runner.spare_ranks =
        setup_.config.transport.value != run::Transport::tcp;  // a node may meet itself
    auto measurer = make_measurer(setup_, measuring_, control_);
    if (!measurer) return tl::unexpected(measurer.error());
    measurer_ = std::move(*measurer);
    n_ = measurer_->nodes();
    document_.bytes = request_.size.value / 4 * 4;
    document_.warning = setup_.config.warning.value;
    document_.critical = setup_.config.critical.value;
    for (int node = 0; node < n_; ++node) document_.nodes.push_back(measurer_->name(node));
    document_.rate_Bps.assign(std::size_t(n_), std::vector<Maybe>(std::size_t(n_)));
    document_.latency_s = document_.rate_Bps;
    if (settle()) rdma() ? over_rdma() : over_shifts();
    document_.transport = rdma() ? key_of(run::Transport::verbs) : measurer_->transport();
    measurer_.reset();  // releases the nodes before anything is printed
    expect();
    return std::move(document_);
  }

 private:
  bool rdma() const { return carrier_.transport == run::Transport::verbs; }

  // What is over TCP alone needs all; over RDMA, ports that are cut off cost themselves alone.
  bool reach() {
    if (setup_.config.transport.value == run::Transport::verbs) return true;
    auto reached = measurer_->reach();
    if (!reached) return give_up(reached.error());
    document_.networks = std::move(reached->networks);
    document_.error = trouble_of(*reached);
    return !document_.error;
  }

  bool settle() {
    if (!reach()) return false;
    auto carrier = measurer_->settle();
    const bool apart =
        !carrier && setup_.config.transport.value == run::Transport::verbs &&
        (carrier.error().cause == Cause::peer_lost || carrier.error().cause == Cause::deadline ||
         carrier.error().cause == Cause::unreachable);
    if (apart)
      carrier = settle_apart(
          carrier.error(), measurer_, [this] { return renew(); }, control_);
    if (document_.error) return false;
    if (!carrier) return give_up(carrier.error());
    carrier_ = std::move(*carrier);
    document_.notes = carrier_.notes;
    if (rdma()) document_.networks.clear();
    for (std::string& line : notes_on(document_.networks)) document_.notes.push_back(std::move(line));
    if (const std::string unused = unused_rdma(setup_); !rdma() && !unused.empty())
      document_.notes.push_back(unused);
    if (!rdma() && n_ < 2)
      return give_up({Cause::bad_input, "one node has no pairs to sweep", "", "give two or more"});
    if (rdma() || !request_.per_port) return true;
    return give_up({Cause::bad_input,
                    fmt::format("--per-port is about RDMA, and this is {}", key_of(carrier_.transport)), "",
                    carrier_.notes.empty() ? "use --transport verbs" : carrier_.notes.front()});
  }

  bool give_up(Error error) {
    document_.error = Trouble{std::move(error), measurer_ ? measurer_->failures() : std::vector<Failure>()};
    return false;
  }

  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) {
    if (control_.stopped()) return fail(Cause::cancelled, "the sweep was stopped");
    return measurer_->measure(experiment);
  }

  // --- whole nodes, all at once, one further on each time

  void over_shifts() {
    document_.latency_origin = "smallest round trip (the kernel's, of the connection)";
    diagnosis::Experiment experiment;
    experiment.algorithm = collective::AlgorithmId::pairwise;
    experiment.bytes = Bytes(document_.bytes);
    experiment.iterations = request_.iterations;
    for (int node = 0; node < n_; ++node) experiment.order.push_back(node);
    for (int shift = 1; shift < n_; ++shift) {
      control_.tell(progress::Part{"shift", std::size_t(shift), std::size_t(n_ - 1)});
      experiment.shift = shift;
      const auto observation = measure(experiment);
      if (!observation) {
        give_up(observation.error());
        return;
      }
      for (const diagnosis::HopReading& hop : observation->hops) {
        if (hop.source < 0 || hop.source >= n_ || hop.destination < 0 || hop.destination >= n_) continue;
        SweepPair pair{end(hop.source, nullptr), end(hop.destination, nullptr), hop.rate(), {}, {}, {}};
        if (hop.latency) pair.latency_s = hop.latency->value;
        add_counters(*observation, {hop.source, hop.destination}, pair);
        keep(hop.source, hop.destination, std::move(pair));
      }
    }
  }

  // --- RDMA: two and two, through all rails or one port each

  void over_rdma() {
    document_.latency_origin = "latency (half of the smallest round trip of 4 bytes)";
    const bool local = setup_.local.has_value();
    diagnosis::Ports ports(document_.nodes.size());
    if (local) {
      ports[0] = rails("local");
    } else {
      for (int node = 0; node < n_; ++node) ports[std::size_t(node)] = rails(measurer_->name(node));
    }
    if (request_.per_port) {
      AllPorts all = all_ports(setup_, {}, control_, carrier_, document_.nodes, std::move(ports));
      ports = std::move(all.ports);
      document_.notes.insert(document_.notes.end(), all.notes.begin(), all.notes.end());
      unread_ = std::move(all.unread);
    }
    for (int node = 0; node < n_; ++node)
      for (const auto& port : ports[std::size_t(node)]) document_.ports.push_back(end(node, &port, local));
    document_.port_pairs = diagnosis::port_pairs(ports);

    const bool single =
        !local && std::all_of(ports.begin(), ports.end(), [](const auto& p) { return p.size() == 1; });
    std::vector<diagnosis::Round> rounds;
    const auto add = [&](std::vector<diagnosis::Round> more) {
      rounds.insert(rounds.end(), more.begin(), more.end());
    };
    if (!single) add(diagnosis::pair_nodes(n_));
    add(diagnosis::pair_ports(ports, request_.per_port));
    if (measurer_->ranks_a_node() > 1)
      add(diagnosis::loopback_pairs(ports));
    else
      document_.notes.push_back(
          "no node's ports with one another: that takes two ranks, and a node allows one (max_ranks)");
    diagnosis::PairSchedule schedule(
        {[&](const diagnosis::Round& round) { return meet(round, single); }, [this] { return renew(); },
         [&](const diagnosis::PairTest& m, const Error& why) { miss(m, single, why); }});
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      control_.tell(progress::Part{"round", i + 1, rounds.size()});
      if (const auto played = schedule.play(rounds[i]); !played) {
        if (!document_.error) give_up(played.error());
        return;
      }
    }
    if (missed_ == 0) {
      document_.error = unread_;
      return;
    }
    first_miss_.what = fmt::format("{} of {} could not be measured: {}", missed_,
                                   plural(document_.pairs.size(), "pair"), first_miss_.what);
    document_.error = Trouble{first_miss_, {}};
  }

  // A fleet in which a run has failed is fit for no other one.
  Result<void> renew() {
    measurer_.reset();
    measuring_.transport = run::Transport::verbs;  // which is settled
    auto measurer = make_measurer(setup_, measuring_, control_);
    if (!measurer) {
      document_.error = measurer.error();
      return tl::unexpected(measurer.error().error);
    }
    measurer_ = std::move(*measurer);
    return {};
  }

  // One direction of a pair, without numbers.
  SweepPair pair_of(const diagnosis::PairTest& m, bool forth) const {
    const bool here = m.node == m.peer && local();
    const diagnosis::RdmaPort *first = m.ports ? &m.ports->first : nullptr,
                              *second = m.ports ? &m.ports->second : nullptr;
    SweepPair pair{end(m.node, first, here), end(m.peer, second, here), {}, {}, {}, {}};
    if (!forth) std::swap(pair.source, pair.destination);
    return pair;
  }

  void add(const diagnosis::PairTest& m, bool forth, bool single, SweepPair pair) {
    if (m.node == m.peer || (m.ports && !single))
      document_.pairs.push_back(std::move(pair));
    else
      keep(forth ? m.node : m.peer, forth ? m.peer : m.node, std::move(pair));
  }

  void miss(const diagnosis::PairTest& m, bool single, const Error& why) {
    if (missed_ == 0) first_miss_ = why;
    for (const bool forth : {true, false}) {
      SweepPair pair = pair_of(m, forth);
      if (pair.source == pair.destination && !forth) continue;
      pair.error = why.text();
      ++missed_;
      add(m, forth, single, std::move(pair));
    }
  }

  Result<void> meet(const diagnosis::Round& round, bool single) {
    const auto bulk = measure(diagnosis::experiment_of(round, Bytes(document_.bytes), request_.iterations));
    if (!bulk) return tl::unexpected(bulk.error());
    const auto short_ones = measure(diagnosis::experiment_of(round, Bytes(4), exchanges));
    if (!short_ones) return tl::unexpected(short_ones.error());
    for (std::size_t i = 0; i < round.size(); ++i) {
      const diagnosis::PairTest& m = round[i];
      const auto latency = diagnosis::one_way(*short_ones, i);
      for (const bool forth : {true, false}) {
        const auto from = int(forth ? i : i + round.size()), to = int(forth ? i + round.size() : i);
        SweepPair pair = pair_of(m, forth);
        for (const diagnosis::HopReading& hop : bulk->hops)
          if (hop.source_rank == from && hop.destination_rank == to) pair.rate_Bps = hop.rate();
        if (latency) pair.latency_s = latency->value;
        for (const auto* seen : {&*bulk, &*short_ones}) add_counters(*seen, {m.node, m.peer}, pair);
        if (pair.source == pair.destination && !forth) {  // of one port to itself: both flows are its own
          Maybe& sum = document_.pairs.back().rate_Bps;
          if (sum && pair.rate_Bps) *sum += *pair.rate_Bps;
          continue;
        }
        add(m, forth, single, std::move(pair));
      }
    }
    return {};
  }

  void keep(int source, int destination, SweepPair pair) {
    const auto i = std::size_t(source), j = std::size_t(destination);
    document_.rate_Bps[i][j] = pair.rate_Bps;
    document_.latency_s[i][j] = pair.latency_s;
    document_.pairs.push_back(std::move(pair));
  }

  // --- ends, rates, counters

  bool local() const { return setup_.local.has_value(); }

  SweepEnd end(int node, const diagnosis::RdmaPort* port, bool here = false) const {
    return {here ? "local" : document_.nodes[std::size_t(node)], port ? std::optional(*port) : std::nullopt};
  }

  const std::vector<diagnosis::RdmaPort>& rails(const std::string& node) const {
    static const std::vector<diagnosis::RdmaPort> none;
    const auto found = carrier_.rails.find(node);
    return found == carrier_.rails.end() ? none : found->second;
  }

  // Of the pair's own ports where it has such, else of its nodes' rails.
  void add_counters(const diagnosis::Observation& seen, std::pair<int, int> nodes, SweepPair& pair) const {
    const auto add = [&](int node, const std::optional<run::RdmaPort>& port) {
      const std::string name = local() ? "local" : document_.nodes[std::size_t(node)];
      const auto window = seen.counters.find(name);
      if (window == seen.counters.end()) return;
      std::vector<diagnosis::RdmaPort> ours = rails(name);
      if (port) ours = {*port};
      const auto part = beside(window->second, ours);
      if (part.changes.empty()) return;
      const auto [at, fresh] = pair.counters.try_emplace(name, part);
      if (!fresh) at->second = topology::join(at->second, part);
    };
    const bool turned = pair.source.node != document_.nodes[std::size_t(nodes.first)];
    add(turned ? nodes.second : nodes.first, pair.source.port);
    if (pair.source == pair.destination) return;
    add(turned ? nodes.first : nodes.second, pair.destination.port);
  }

  // What a healthy link is held against: what the declared one can carry, or the median of what was seen.
  // Ways inside a node pass no link: theirs is the median of their like.
  void expect() {
    enum Kind { nodes, ports, own, others, kinds };
    const auto kind = [](const SweepPair& p) {
      if (p.source == p.destination) return own;
      if (p.source.node == p.destination.node) return others;
      return p.source.port ? ports : nodes;
    };
    std::vector<double> rates[kinds];
    for (const SweepPair& p : document_.pairs)
      if (p.rate_Bps) rates[kind(p)].push_back(*p.rate_Bps);
    Maybe against[kinds];
    for (int k = 0; k < kinds; ++k) against[k] = usual(rates[k]);
    const Kind links = rates[nodes].empty() ? ports : nodes;
    if (const auto& link_rate = setup_.config.link_rate.value) {
      const auto share = efficiency(carrier_);
      against[links] = link_rate->value * share.share;
      document_.expected_origin = fmt::format("declared {}, {}", to_text(*link_rate), share.source);
    } else if (against[links]) {
      document_.expected_origin = "median of all pairs";
    }
    document_.expected_Bps = against[links];
    // The declared rate is a node's, and each of its rails has its part of it.
    const auto part_of_link = [&](const SweepPair& p) -> Maybe {
      const auto& rails_there = rails(p.source.node);
      const auto& port = p.source.port;
      const bool rail = port && std::find(rails_there.begin(), rails_there.end(), *port) != rails_there.end();
      if (links != nodes || kind(p) != ports || !setup_.config.link_rate.value || !rail) return std::nullopt;
      return *against[links] / double(rails_there.size());
    };
    for (SweepPair& p : document_.pairs) {
      const auto part = part_of_link(p);
      const auto& a = part ? part : against[kind(p)];
      if (p.rate_Bps && a && *a > 0) p.ratio = *p.rate_Bps / *a;
    }
  }

  const SweepRequest& request_;
  const Setup& setup_;
  const Control& control_;
  std::unique_ptr<RunMeasurer> measurer_;
  int n_ = 0;
  Carrier carrier_;
  MeasurerRequest measuring_;
  SweepDocument document_;
  long missed_ = 0;                // pairs
  Error first_miss_;               // why
  std::optional<Trouble> unread_;  // nodes of which not all ports are known
};

}  // namespace

Outcome<SweepDocument> sweep(const SweepRequest& request, const Control& control) {
  return Sweep(request, control)();
}

}  // namespace ringtrue::ops
