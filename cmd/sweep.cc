#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/measurer.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/sweep_gpu.h"
#include "cmd/sweep_ports.h"
#include "cmd/unheeded.h"
#include "cmd/verbs_flags.h"
#include "diagnosis/counters.h"
#include "diagnosis/meetings.h"
#include "report/json.h"
#include "report/text.h"
#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::cmd {
namespace {

constexpr int exchanges = 5;  // samples of a round trip; each is the mean of 100 in a row

struct Flags {
  MeasurerFlags measurer;
  VerbsFlags verbs{{}, in_a_hurry()};
  Bytes size{16u << 20};
  int iterations = 2;
  bool per_port = false;
  bool gpu = false;
  GpuFlags gpus;
};

std::optional<double> median(std::vector<double> values) {
  if (values.size() < 3) return std::nullopt;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What of a window belongs beside a rate: errors of anything, and whatever else a port of `rails` counted
// that is no traffic.
topology::CounterWindow beside(const topology::CounterWindow& window,
                               const std::vector<diagnosis::RdmaPort>& rails) {
  topology::CounterWindow out{window.seconds, {}};
  for (const topology::CounterChange& change : window.changes) {
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
  Sweep(Context& context, const Flags& flags) : context_(context), flags_(flags) {}

  int operator()() {
    if (flags_.size.value < 4) {
      return failed(
          context_,
          {Error{Cause::bad_input, "a pair has to move something", "", "give --size 16M or so"}, {}});
    }
    auto heeded =
        refuse("sweep without --gpu", {{!flags_.gpus.gpus.empty(), "--gpus", "add --gpu, or leave it out"},
                                       {flags_.gpus.share, "--share-gpus", "add --gpu, or leave it out"}});
    if (!heeded) return failed(context_, heeded.error());
    auto settings = verbs_settings(context_, flags_.verbs);
    if (!settings) return failed(context_, settings.error());
    measuring_ = flags_.measurer;
    measuring_.verbs = *settings;
    measuring_.player.spare_ranks = context_.config.transport.value != "tcp";  // a node may meet itself
    auto measurer = make_measurer(context_, measuring_);
    if (!measurer) return failed(context_, measurer.error());
    measurer_ = std::move(*measurer);
    n_ = measurer_->nodes();
    document_.bytes = flags_.size.value / 4 * 4;
    document_.warning = context_.config.warning.value;
    document_.critical = context_.config.critical.value;
    for (int node = 0; node < n_; ++node) document_.nodes.push_back(measurer_->name(node));
    document_.rate_Bps.assign(std::size_t(n_), std::vector<report::Maybe>(std::size_t(n_)));
    document_.latency_s = document_.rate_Bps;
    if (settle()) carrier_.transport == "verbs" ? over_rdma() : over_shifts();
    document_.transport = carrier_.transport == "verbs" ? carrier_.transport : measurer_->transport();
    measurer_.reset();  // releases the nodes before anything is printed
    clear_progress();
    expect();
    if (document_.error) complain(document_.error->error);
    return print(context_.common.json ? report::json(document_) : report::text(document_, context_.style),
                 document_.error ? Exit::unknown : Exit::healthy);
  }

 private:
  bool settle() {
    auto carrier = measurer_->settle();
    const bool apart =
        !carrier && context_.config.transport.value == "verbs" &&
        (carrier.error().cause == Cause::peer_lost || carrier.error().cause == Cause::deadline ||
         carrier.error().cause == Cause::unreachable);
    if (apart) carrier = settle_apart(carrier.error(), measurer_, [this] { return renew(); });
    if (document_.error) return false;
    if (!carrier) return give_up(carrier.error());
    carrier_ = std::move(*carrier);
    document_.notes = carrier_.notes;
    if (carrier_.transport != "verbs")
      if (std::string line = unused(flags_.verbs); !line.empty()) document_.notes.push_back(std::move(line));
    if (carrier_.transport != "verbs" && n_ < 2)
      return give_up({Cause::bad_input, "one node has no pair to sweep", "", "give two or more"});
    if (carrier_.transport == "verbs" || !flags_.per_port) return true;
    return give_up({Cause::bad_input,
                    fmt::format("--per-port is about RDMA, and this is {}", carrier_.transport), "",
                    carrier_.notes.empty() ? "use --transport verbs" : carrier_.notes.front()});
  }

  bool give_up(Error error) {
    document_.error =
        report::Trouble{std::move(error), measurer_ ? measurer_->failures() : std::vector<report::Failure>{}};
    return false;
  }

  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) {
    if (interrupted()) return fail(Cause::cancelled, "the sweep was stopped");
    return measurer_->measure(experiment);
  }

  // --- whole nodes, all at once, one further on each time

  void over_shifts() {
    document_.latency_origin = "smallest round trip (the kernel's, of the connection)";
    diagnosis::Experiment experiment;
    experiment.algorithm = "pairwise";
    experiment.bytes = Bytes(document_.bytes);
    experiment.iterations = flags_.iterations;
    for (int node = 0; node < n_; ++node) experiment.order.push_back(node);
    for (int shift = 1; shift < n_; ++shift) {
      show_progress(fmt::format("sweep: shift {} of {}", shift, n_ - 1));
      experiment.shift = shift;
      const auto observation = measure(experiment);
      if (!observation) {
        give_up(observation.error());
        return;
      }
      for (const diagnosis::HopReading& hop : observation->hops) {
        if (hop.source < 0 || hop.source >= n_ || hop.destination < 0 || hop.destination >= n_) continue;
        report::SweepPair pair{
            end(hop.source, nullptr), end(hop.destination, nullptr), rate(hop), {}, {}, {}};
        if (hop.latency) pair.latency_s = hop.latency->value;
        add_counters(*observation, {hop.source, hop.destination}, pair);
        keep(hop.source, hop.destination, std::move(pair));
      }
    }
  }

  // --- RDMA: two and two, through all rails or one port each

  void over_rdma() {
    document_.latency_origin = "latency (half of the smallest round trip of 4 bytes)";
    const bool local = context_.common.local.has_value();
    diagnosis::Ports ports(document_.nodes.size());
    if (local) {
      ports[0] = rails("local");
    } else {
      for (int node = 0; node < n_; ++node) ports[std::size_t(node)] = rails(measurer_->name(node));
    }
    if (flags_.per_port) {
      AllPorts all = all_ports(context_, flags_.measurer.player, carrier_, document_.nodes, std::move(ports));
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
    if (!single) add(diagnosis::meet_nodes(n_));
    add(diagnosis::meet_ports(ports, flags_.per_port));
    add(diagnosis::meet_at_home(ports));
    diagnosis::Meetings meetings(
        {[&](const diagnosis::Round& round) { return meet(round, single); }, [this] { return renew(); },
         [&](const diagnosis::Meeting& m, const Error& why) { miss(m, single, why); }});
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      show_progress(fmt::format("sweep: round {} of {}", i + 1, rounds.size()));
      if (const auto played = meetings.play(rounds[i]); !played) {
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
    document_.error = report::Trouble{first_miss_, {}};
  }

  // A fleet in which a run has failed is fit for no other one.
  Result<void> renew() {
    measurer_.reset();
    measuring_.transport = "verbs";  // which is settled
    auto measurer = make_measurer(context_, measuring_);
    if (!measurer) {
      document_.error = measurer.error();
      return tl::unexpected(measurer.error().error);
    }
    measurer_ = std::move(*measurer);
    return {};
  }

  // A meeting's one direction, without numbers.
  report::SweepPair pair_of(const diagnosis::Meeting& m, bool forth) const {
    const bool here = m.node == m.peer && local();
    const diagnosis::RdmaPort *first = m.ports ? &m.ports->first : nullptr,
                              *second = m.ports ? &m.ports->second : nullptr;
    report::SweepPair pair{end(m.node, first, here), end(m.peer, second, here), {}, {}, {}, {}};
    if (!forth) std::swap(pair.source, pair.destination);
    return pair;
  }

  void add(const diagnosis::Meeting& m, bool forth, bool single, report::SweepPair pair) {
    if (m.node == m.peer || (m.ports && !single))
      document_.pairs.push_back(std::move(pair));
    else
      keep(forth ? m.node : m.peer, forth ? m.peer : m.node, std::move(pair));
  }

  void miss(const diagnosis::Meeting& m, bool single, const Error& why) {
    if (missed_ == 0) first_miss_ = why;
    for (const bool forth : {true, false}) {
      report::SweepPair pair = pair_of(m, forth);
      if (pair.source == pair.destination && !forth) continue;
      pair.error = why.text();
      ++missed_;
      add(m, forth, single, std::move(pair));
    }
  }

  Result<void> meet(const diagnosis::Round& round, bool single) {
    const auto bulk = measure(diagnosis::experiment_of(round, Bytes(document_.bytes), flags_.iterations));
    if (!bulk) return tl::unexpected(bulk.error());
    const auto short_ones = measure(diagnosis::experiment_of(round, Bytes(4), exchanges));
    if (!short_ones) return tl::unexpected(short_ones.error());
    for (std::size_t i = 0; i < round.size(); ++i) {
      const diagnosis::Meeting& m = round[i];
      const auto latency = diagnosis::one_way(*short_ones, i);
      for (const bool forth : {true, false}) {
        const auto from = int(forth ? i : i + round.size()), to = int(forth ? i + round.size() : i);
        report::SweepPair pair = pair_of(m, forth);
        for (const diagnosis::HopReading& hop : bulk->hops)
          if (hop.source_rank == from && hop.destination_rank == to) pair.rate_Bps = rate(hop);
        if (latency) pair.latency_s = latency->value;
        for (const auto* seen : {&*bulk, &*short_ones}) add_counters(*seen, {m.node, m.peer}, pair);
        if (pair.source == pair.destination && !forth) {  // of one port to itself: both flows are its own
          report::Maybe& sum = document_.pairs.back().rate_Bps;
          if (sum && pair.rate_Bps) *sum += *pair.rate_Bps;
          continue;
        }
        add(m, forth, single, std::move(pair));
      }
    }
    return {};
  }

  void keep(int source, int destination, report::SweepPair pair) {
    const auto i = std::size_t(source), j = std::size_t(destination);
    document_.rate_Bps[i][j] = pair.rate_Bps;
    document_.latency_s[i][j] = pair.latency_s;
    document_.pairs.push_back(std::move(pair));
  }

  // --- ends, rates, counters

  bool local() const { return context_.common.local.has_value(); }

  report::SweepEnd end(int node, const diagnosis::RdmaPort* port, bool here = false) const {
    return {here ? "local" : document_.nodes[std::size_t(node)], port ? diagnosis::to_text(*port) : ""};
  }

  static report::Maybe rate(const diagnosis::HopReading& hop) {
    if (hop.bytes.value == 0 || !(hop.busy.value > 0)) return std::nullopt;
    return (hop.bytes / hop.busy).value;
  }

  const std::vector<diagnosis::RdmaPort>& rails(const std::string& node) const {
    static const std::vector<diagnosis::RdmaPort> none;
    const auto found = carrier_.rails.find(node);
    return found == carrier_.rails.end() ? none : found->second;
  }

  // Of the pair's own ports where it has such, else of its nodes' rails.
  void add_counters(const diagnosis::Observation& seen, std::pair<int, int> nodes,
                    report::SweepPair& pair) const {
    const auto add = [&](int node, const std::string& port) {
      const std::string name = local() ? "local" : document_.nodes[std::size_t(node)];
      const auto window = seen.counters.find(name);
      if (window == seen.counters.end()) return;
      std::vector<diagnosis::RdmaPort> ours = rails(name);
      if (const auto own = diagnosis::parse_rdma_port(port)) ours = {*own};
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
    const auto kind = [](const report::SweepPair& p) {
      if (p.source == p.destination) return own;
      if (p.source.node == p.destination.node) return others;
      return p.source.port.empty() ? nodes : ports;
    };
    std::vector<double> rates[kinds];
    for (const report::SweepPair& p : document_.pairs)
      if (p.rate_Bps) rates[kind(p)].push_back(*p.rate_Bps);
    report::Maybe against[kinds];
    for (int k = 0; k < kinds; ++k) against[k] = median(rates[k]);
    const Kind links = rates[nodes].empty() ? ports : nodes;
    if (const auto& link_rate = context_.config.link_rate.value) {
      const auto share = efficiency(carrier_);
      against[links] = link_rate->value * share.share;
      document_.expected_origin = fmt::format("declared {}, {}", to_text(*link_rate), share.source);
    } else if (against[links]) {
      document_.expected_origin = "median of all pairs";
    }
    document_.expected_Bps = against[links];
    // The declared rate is a node's, and each of its rails has its part of it.
    const auto part_of_link = [&](const report::SweepPair& p) -> report::Maybe {
      const auto& rails_there = rails(p.source.node);
      const auto port = diagnosis::parse_rdma_port(p.source.port);
      const bool rail = port && std::find(rails_there.begin(), rails_there.end(), *port) != rails_there.end();
      if (links != nodes || kind(p) != ports || !context_.config.link_rate.value || !rail)
        return std::nullopt;
      return *against[links] / double(rails_there.size());
    };
    for (report::SweepPair& p : document_.pairs) {
      const auto part = part_of_link(p);
      const auto& a = part ? part : against[kind(p)];
      if (p.rate_Bps && a && *a > 0) p.ratio = *p.rate_Bps / *a;
    }
  }

  Context& context_;
  const Flags& flags_;
  std::unique_ptr<LiveMeasurer> measurer_;
  int n_ = 0;
  Carrier carrier_;
  MeasurerFlags measuring_;
  report::SweepDocument document_;
  long missed_ = 0;                        // pairs
  Error first_miss_;                       // why
  std::optional<report::Trouble> unread_;  // nodes of which not all ports are known
};

}  // namespace

void add_sweep(Commands& commands) {
  const Command app = commands.add("sweep", "Every pair, both directions: the matrix of rates and latencies");
  static Flags flags;
  const Option size =
      add_parsed(app, "--size", flags.size, parse_size, "SIZE", "bytes that a pair moves at once");
  const Option iterations = add_whole(app, "--iterations", flags.iterations, 1, 100000, "how often");
  app.add_flag("--per-port", flags.per_port,
               "over verbs: every active port with every one of the other nodes, not the rails alone");
  app.add_flag("--gpu", flags.gpu,
               "what GPUs and the ways to them carry, each by itself, instead of pairs of nodes");
  add_gpu_flags(app, flags.gpus);
  add_verbs_flags(commands, app, flags.verbs);
  add_parsed(app, "--pause", flags.measurer.player.pause, parse_pause, "PHASE=TIME",
             "wait before a phase (for tests)")
      .group("");
  app.footer(
      "Over TCP all nodes send at once, each to one other: N - 1 shifts cover every pair. Over RDMA they "
      "meet two "
      "and two: all rails together, then rail by rail, then each port with itself and its node's others.");
  commands.on(app, [size, iterations](Context& context) {
    if (!flags.gpu) return Sweep(context, flags)();
    if (auto heeded = refuse_wires(context, flags.verbs, flags.per_port); !heeded)
      return failed(context, heeded.error());
    GpuSweep gpus{std::nullopt, iterations.given() ? flags.iterations : 5, flags.gpus};
    if (size.given()) gpus.size = flags.size;
    return sweep_gpus(context, gpus);
  });
}

}  // namespace ringtrue::cmd
