#include "cmd/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cmd/calls.h"
#include "cmd/gpu_flags.h"
#include "cmd/interrupt.h"
#include "cmd/unheeded.h"
#include "engine/session.h"
#include "fleet/measurer.h"
#include "topology/probe/watch.h"

namespace ringtrue::cmd {
namespace {

// These nodes at once, or all where `who` is empty, each with the next one.
diagnosis::Experiment greeting(int nodes, std::vector<int> who) {
  diagnosis::Experiment e;
  e.algorithm = "pairwise";
  for (int node = 0; who.empty() && node < std::max(nodes, 2); ++node) e.order.push_back(node % nodes);
  if (e.order.empty()) e.order = std::move(who);
  e.bytes = Bytes(4);
  return e;
}

Carrier carrier_of(const engine::RunReport& report,
                   std::map<std::string, std::vector<diagnosis::RdmaPort>> rails) {
  Carrier carrier{report.transport == "verbs" ? "verbs" : "tcp", {}, {}, 0, report.notes};
  if (carrier.transport == "verbs") {
    carrier.rails = std::move(rails);
    for (const engine::RdmaUse& use : report.rdma) {
      carrier.gids.emplace(use.node, use.gid);
      carrier.pass(use.mtu);
    }
  } else if (report.transport != "tcp") {
    carrier.notes.push_back("some hops could go over RDMA and others not: all are measured over TCP");
  }
  return carrier;
}

class LocalMeasurer final : public LiveMeasurer {
 public:
  LocalMeasurer(int nodes, std::string transport, std::vector<collective::Fault> faults,
                const MeasurerFlags& flags, engine::Memory memory, Seconds deadline)
      : memory_(memory),
        transport_(std::move(transport)),
        faults_(std::move(faults)),
        verbs_(flags.verbs),
        warmup_(flags.warmup),
        paced_(flags.paced),
        deadline_(deadline) {
    for (int i = 0; i < nodes; ++i) names_.push_back(fmt::format("rank{}", i));
  }

  int nodes() const override { return int(names_.size()); }
  std::string name(int node) const override { return names_[std::size_t(node)]; }
  std::vector<report::Failure> failures() const override { return {}; }
  std::string transport() const override { return transport_; }

  void end_by(Deadline end) override { end_ = end; }
  Result<Carrier> settle(std::vector<int> who) override {
    if (transport_ != "verbs") return Carrier{transport_, {}, {}, 0, {}};
    auto seen = measure(greeting(nodes(), std::move(who)));
    if (!seen) return tl::unexpected(seen.error());
    return carrier_of(report_, std::move(seen->rails));
  }

  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override {
    engine::Job job = fleet::job_of(experiment, {}, {transport_, 1, warmup_, {}, verbs_, {}, memory_});
    job.nodes = {"local"};
    job.seats.clear();
    std::map<int, int> times;  // a "node" may be that of two ranks
    for (const int node : experiment.order) job.seats.push_back({0, 0, node + nodes() * times[node]++});
    job.fault =
        faults_by_rank(paced_ ? paced(experiment, faults_, local_pace(nodes())) : faults_, experiment.order);
    counters_.begin();
    const Deadline own = Deadline::in(deadline_);
    auto report =
        engine::run_locally(job, own.at_ns() < end_.at_ns() ? own : end_, nullptr, nullptr, &stopper_);
    if (!report && interrupted()) return fail(Cause::cancelled, "interrupted");
    if (!report) return tl::unexpected(fleet::said_cut(report.error(), experiment, end_));
    report->counters[job.nodes.front()] = counters_.end();
    for (const engine::RankReport& rank : report->ranks) {
      if (rank.wrong == 0) continue;
      const std::string where = name(experiment.order[std::size_t(rank.rank)]);
      return fail(Cause::corrupted, fmt::format("{} got {} wrong elements", where, rank.wrong), where,
                  "look for --fault, or test this machine's memory");
    }
    report_ = std::move(*report);
    return fleet::observation_of(experiment, job, report_);
  }

 private:
  engine::Memory memory_;
  std::vector<std::string> names_;
  std::string transport_;
  std::vector<collective::Fault> faults_;
  transport::verbs::Settings verbs_;
  int warmup_;
  bool paced_;
  Seconds deadline_;
  Deadline end_ = Deadline::never();
  topology::CounterWatch counters_;
  engine::RunReport report_;  // the last
  engine::Stopper stopper_;
  OnInterrupt guard_{[this] { stopper_.stop(); }};
};

class HostsMeasurer final : public LiveMeasurer {
 public:
  HostsMeasurer(std::unique_ptr<fleet::Fleet> fleet, const std::string& transport, const MeasurerFlags& flags,
                engine::Memory memory, std::optional<BytesPerSecond> link_rate, int workers)
      : asked_(transport),
        fleet_(std::move(fleet)),
        workers_(workers),
        guard_([this] { fleet_->cancel(); }),
        inner_(*fleet_,
               {transport, 1, flags.warmup, link_rate, flags.verbs,
                [this](const engine::Job&, const engine::RunReport& report) { report_ = report; }, memory}) {}

  int nodes() const override { return inner_.nodes(); }
  int workers() const override { return workers_; }
  std::string name(int node) const override { return inner_.name(node); }
  std::string transport() const override { return report_.transport; }
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override {
    return inner_.measure(experiment);
  }
  void end_by(Deadline end) override { inner_.end_by(end); }
  Result<Carrier> settle(std::vector<int> who) override {
    if (asked_ == "auto" && nodes() < 2) return Carrier{"tcp", {}, {}, 0, {}};
    if (asked_ != "auto" && asked_ != "verbs") return Carrier{asked_, {}, {}, 0, {}};
    auto seen = measure(greeting(nodes(), std::move(who)));
    if (!seen) return tl::unexpected(seen.error());
    Carrier carrier = carrier_of(report_, std::move(seen->rails));
    inner_.set_transport(carrier.transport);
    return carrier;
  }
  std::vector<report::Failure> failures() const override {
    return inner_.failure() ? trouble_of(*inner_.failure()).failures : std::vector<report::Failure>{};
  }

 private:
  std::string asked_;
  engine::RunReport report_;  // the last
  std::unique_ptr<fleet::Fleet> fleet_;
  int workers_;
  OnInterrupt guard_;
  fleet::FleetMeasurer inner_;
};

}  // namespace

ideal::Efficiency efficiency(const Carrier& carrier) {
  if (carrier.transport != "verbs") return *ideal::ethernet_tcp();
  const auto gid = std::find_if(carrier.gids.begin(), carrier.gids.end(),
                                [](const auto& of_node) { return !of_node.second.empty(); });
  const bool ethernet = gid != carrier.gids.end();
  const int mtu = carrier.path_mtu > 0 ? carrier.path_mtu : ethernet ? 1024 : 4096;
  const auto share =
      ethernet ? ideal::roce_v2(mtu, gid->second.find(':') != std::string::npos) : ideal::infiniband(mtu);
  return share ? *share : *(ethernet ? ideal::roce_v2() : ideal::infiniband());
}

BytesPerSecond local_pace(int ranks) {
  return BytesPerSecond(std::clamp(400e6 / std::max(ranks, 1), 10e6, 100e6));
}

namespace {

// Every ordered pair of nodes that `experiment` has a hop between.
std::set<std::pair<int, int>> hops_of(const diagnosis::Experiment& experiment) {
  std::set<std::pair<int, int>> hops;
  const auto& order = experiment.order;
  if (experiment.workers > 0) {
    for (std::size_t w = 0; w < std::size_t(experiment.workers); ++w) {
      for (std::size_t a = std::size_t(experiment.workers); a < order.size(); ++a) {
        if (order[w] == order[a]) continue;
        hops.emplace(order[w], order[a]);
        hops.emplace(order[a], order[w]);
      }
    }
    return hops;
  }
  const std::size_t shift = experiment.algorithm == "pairwise" ? std::size_t(experiment.shift) : 1;
  for (std::size_t i = 0; i < order.size(); ++i) hops.emplace(order[i], order[(i + shift) % order.size()]);
  return hops;
}

}  // namespace

std::vector<collective::Fault> paced(const diagnosis::Experiment& experiment,
                                     const std::vector<collective::Fault>& by_node, BytesPerSecond pace) {
  std::vector<collective::Fault> out;
  for (const collective::Fault& fault : by_node) {
    if (fault.kind != collective::Fault::Kind::throttle) out.push_back(fault);
  }
  for (const auto& [source, destination] : hops_of(experiment)) {
    collective::Fault hop;
    hop.kind = collective::Fault::Kind::throttle;
    hop.source = source;
    hop.destination = destination;
    hop.rate = pace;
    for (const collective::Fault& fault : by_node) {
      if (fault.kind == hop.kind && fault.concerns(*hop.source, *hop.destination) &&
          fault.rate.value < hop.rate.value)
        hop.rate = fault.rate;
    }
    out.push_back(hop);
  }
  return out;
}

std::string faults_by_rank(const std::vector<collective::Fault>& by_node, const std::vector<int>& order) {
  std::string out;
  // An end that is any node stays any rank.
  const auto ranks_of = [&](const std::optional<collective::Rank>& end) {
    std::vector<std::optional<collective::Rank>> ranks;
    if (!end) ranks.emplace_back();
    for (std::size_t rank = 0; end && rank < order.size(); ++rank) {
      if (order[rank] == *end) ranks.emplace_back(collective::Rank(rank));
    }
    return ranks;
  };
  for (const collective::Fault& fault : by_node) {
    for (const auto source : ranks_of(fault.source)) {
      for (const auto destination : ranks_of(fault.destination)) {
        collective::Fault of_ranks = fault;
        of_ranks.source = source;
        of_ranks.destination = destination;
        if (!out.empty()) out += ';';
        out += collective::to_text(of_ranks);
      }
    }
  }
  return out;
}

Played<std::unique_ptr<LiveMeasurer>> make_measurer(const Context& context, const MeasurerFlags& flags) {
  const auto refuse = [](Error error) { return tl::unexpected(report::Trouble{std::move(error), {}}); };
  std::string transport = flags.transport.empty() ? context.config.transport.value : flags.transport;
  if (transport == "cuda") {
    return refuse({Cause::bad_input,
                   "--transport cuda is between GPUs of one node, and this measures between nodes", "",
                   "leave it out; ringtrue sweep --gpu measures GPUs"});
  }
  if (transport == "udp") {
    return refuse(
        {Cause::bad_input, "udp carries omnireduce alone", "", "leave --transport out, or use tcp"});
  }
  if (!context.common.local) {
    if (!flags.fault.empty()) {
      return refuse(
          {Cause::bad_input, "--fault needs --local: it does not slow real nodes", "", "leave it out"});
    }
    if (context.common.ranks_per_node != 1) {
      return refuse(
          {Cause::bad_input, "this measures with one rank a node", "", "leave --ranks-per-node out"});
    }
    auto nodes = nodes_of(context, flags.player);
    if (!nodes) return refuse(nodes.error());
    auto fleet = lease(context, flags.player, *nodes);
    if (!fleet) return tl::unexpected(fleet.error());
    return std::make_unique<HostsMeasurer>(std::move(*fleet), transport, flags, memory_of(context),
                                           context.config.link_rate.value, nodes->workers);
  }
  if (context.common.hosts) {
    return refuse({Cause::bad_input, "--local and --hosts exclude each other", "", "give one of them"});
  }
  if (auto heeded = refuse_remote(context); !heeded) return refuse(heeded.error());
  if (transport == "auto") transport = "tcp";
  if (transport != "tcp" && transport != "verbs") {
    return refuse({Cause::bad_input, "between ranks of one process only tcp and verbs have wires to measure",
                   "", "leave --transport out"});
  }
  auto faults = collective::parse_faults(flags.fault);
  if (!faults) return refuse(faults.error());
  if (auto strike = collective::check_ranks(*faults, int(*context.common.local)); !strike)
    return refuse(strike.error());
  return std::make_unique<LocalMeasurer>(*context.common.local, transport, std::move(*faults), flags,
                                         memory_of(context), context.config.run_deadline.value);
}

}  // namespace ringtrue::cmd
