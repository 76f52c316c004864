#include "operator/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "collective/omnireduce/tune.h"
#include "diagnosis/counters.h"
#include "topology/counters.h"

namespace ringtrue::ops {
namespace {

// Ports that RDMA went through, by node.
std::map<std::string, std::vector<diagnosis::RdmaPort>> rails_of(const run::RunReport& report) {
  std::map<std::string, std::vector<diagnosis::RdmaPort>> rails;
  for (const run::RdmaUse& use : report.rdma) {
    auto& ports = rails[use.node];
    for (const run::RdmaPort& port : use.ports)
      if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
  }
  return rails;
}

// What had to be sent again, as the ports of a hop's sending end tell.
std::uint64_t resent(const run::CounterWindow& window, const std::vector<diagnosis::RdmaPort>& rails) {
  std::uint64_t sum = 0;
  for (const run::CounterChange& change : window.changes) {
    const bool ours = diagnosis::of_rails(change.device, rails);
    if (ours && topology::loss_seen(change.counter) == topology::Loss::sending) sum += topology::rise(change);
  }
  return sum;
}

// These nodes at once, or all where `who` is empty, each with the next one.
diagnosis::Experiment greeting(int nodes, std::vector<int> who) {
  diagnosis::Experiment e;
  e.algorithm = collective::AlgorithmId::pairwise;
  for (int node = 0; who.empty() && node < std::max(nodes, 2); ++node) e.order.push_back(node % nodes);
  if (e.order.empty()) e.order = std::move(who);
  e.bytes = Bytes(4);
  return e;
}

// An experiment's error; where it is that `end` has passed, it says so.
Error with_end_named(Error error, const diagnosis::Experiment& experiment, Deadline end) {
  if (error.cause != Cause::deadline || !end.passed()) return error;
  error.what = fmt::format("{} over {} nodes was aborted, as the time for all experiments was over: {}",
                           key_of(experiment.algorithm), experiment.order.size(), error.what);
  error.next = "increase --budget, or look at what makes them slow";
  return error;
}

}  // namespace

run::Job job_of(const diagnosis::Experiment& experiment, const std::vector<std::string>& nodes,
                const MeasurerOptions& options) {
  const bool omnireduce = experiment.algorithm == collective::AlgorithmId::omnireduce;
  const auto first_aggregator = experiment.order.begin() + (omnireduce ? experiment.workers : 0);
  run::Job job;
  job.nodes = nodes;
  for (auto node = experiment.order.begin(); node != (omnireduce ? first_aggregator : experiment.order.end());
       ++node)
    job.seats.push_back({*node, 0, 0});
  job.algorithm = experiment.algorithm;
  job.call.type = collective::Type::float32;
  job.call.operation = collective::Operation::sum;
  job.call.elements = experiment.bytes.value / collective::size_of(job.call.type);
  job.call.shift = experiment.shift;
  if (experiment.slice.value > 0) job.call.slice_bytes = experiment.slice.value;
  job.transport = options.transport;
  job.verbs = options.verbs;
  job.memory = options.memory;
  job.iterations = experiment.iterations;
  job.warmup = options.warmup;
  job.check = true;
  for (const diagnosis::RdmaPort& port : experiment.ports) job.ports.push_back({port});
  std::map<int, int> places;  // taken, by node
  for (run::Seat& seat : job.seats) seat.local = places[seat.node]++;
  if (!omnireduce) return job;
  fleet::add_aggregators(job, {first_aggregator, experiment.order.end()},
                         int(experiment.order.end() - first_aggregator), fleet::Options{});
  collective::Tuning tuning;
  tuning.workers = job.call.omni.workers;
  tuning.aggregators = job.call.omni.aggregators;
  tuning.elements = job.call.elements;
  tuning.type = job.call.type;
  tuning.rate = options.link_rate;
  tuning.density = 1;
  if (auto tuned = collective::tune(tuning)) job.call.omni = tuned->omni;
  return job;
}

diagnosis::Observation observation_of(const diagnosis::Experiment& experiment, const run::Job& job,
                                      const run::RunReport& report) {
  diagnosis::Observation observation;
  observation.experiment = experiment;
  observation.time = Seconds(median(run::slowest(report)));
  observation.counters = report.counters;
  observation.rails = rails_of(report);
  for (const run::RankReport& rank : report.ranks) observation.times.push_back(rank.time_s);
  const int ranks = int(experiment.order.size());
  // One rank a node, played by one thread: where it never rests, the program is the limit, not the wire.
  const double available = observation.time.value * ranks;
  if (available > 0) observation.cpu_busy = std::min(1.0, report.cpu_s / available);
  std::map<int, int> hops_from;  // by rank
  for (const run::Hop& hop : report.trace.hops) hops_from[hop.source] += !hop.receiver;
  for (const run::Hop& hop : report.trace.hops) {
    if (hop.receiver || hop.source < 0 || hop.destination < 0 || hop.source >= ranks ||
        hop.destination >= ranks)
      continue;
    diagnosis::HopReading reading;
    reading.source = experiment.order[std::size_t(hop.source)];
    reading.destination = experiment.order[std::size_t(hop.destination)];
    reading.source_rank = hop.source;
    reading.destination_rank = hop.destination;
    reading.bytes = hop.bytes;
    reading.busy = hop.busy;
    if (hop.tcp) {
      reading.receiver_limited = hop.tcp->rwnd_limited;
      reading.sender_limited = hop.tcp->sndbuf_limited;
      reading.retransmits = hop.tcp->retransmits;
      if (hop.tcp->min_rtt.value > 0) reading.latency = hop.tcp->min_rtt;
    }
    if (hop.rdma) {
      if (hop.rdma->busy.value > 0) reading.busy = hop.rdma->busy;
      reading.receiver_limited = hop.rdma->credit_limited;
      reading.sender_limited = hop.rdma->queue_limited;
      if (hop.rdma->min_rtt.value > 0) reading.latency = hop.rdma->min_rtt;
      const std::string& node = job.nodes[std::size_t(job.seats[std::size_t(hop.source)].node)];
      const auto& ports = observation.rails[node];
      for (const run::RdmaRail& rail : hop.rdma->rails) {
        const auto at = std::find(ports.begin(), ports.end(), rail.port);
        if (at != ports.end()) reading.rails.push_back({int(at - ports.begin()), rail.bytes, rail.busy});
      }
      const auto window = report.counters.find(node);
      if (window != report.counters.end() && hops_from[hop.source] == 1)
        reading.retransmits = resent(window->second, ports);
    }
    observation.hops.push_back(reading);
  }
  return observation;
}

RunMeasurer::RunMeasurer(std::unique_ptr<Runner> runner, MeasurerOptions options, const Control& control)
    : runner_(std::move(runner)),
      options_(std::move(options)),
      control_(control),
      names_(runner_->place().nodes) {
  if (!runner_->place().local) return;
  names_.clear();
  for (int rank = 0; rank < runner_->place().ranks_per_node; ++rank)
    names_.push_back(fmt::format("rank{}", rank));
}

int RunMeasurer::ranks_a_node() const {
  return std::min(runner_->most_ranks_a_node(), diagnosis::most_ranks_a_node);
}

int RunMeasurer::workers() const {
  return runner_->place().local ? nodes() : runner_->place().worker_nodes;
}

std::string RunMeasurer::transport() const {
  return runner_->place().local ? key_of(options_.transport) : to_text(report_.transports);
}

run::Job RunMeasurer::job_of(const diagnosis::Experiment& experiment) const {
  run::Job job = ops::job_of(experiment, runner_->place().nodes, options_);
  if (!runner_->place().local) return job;
  job.seats.clear();
  std::map<int, int> times;  // a "node" may be that of two ranks
  for (const int node : experiment.order) job.seats.push_back({0, 0, node + nodes() * times[node]++});
  const auto& faults = options_.faults;
  job.fault = faults_by_rank(options_.paced ? paced(experiment, faults, local_pace(nodes())) : faults,
                             experiment.order);
  return job;
}

Result<diagnosis::Observation> RunMeasurer::measure(const diagnosis::Experiment& experiment) {
  failures_.clear();
  for (const int node : experiment.order)
    if (node < 0 || node >= nodes())
      return fail(Cause::internal, "an experiment on a node outside of the fleet");
  const run::Job job = job_of(experiment);
  auto report = runner_->play(job, end_);
  if (!report) {
    failures_ = std::move(report.error().failures);
    return tl::unexpected(with_end_named(std::move(report.error().error), experiment, end_));
  }
  report_ = std::move(*report);
  for (const run::RankReport& rank : report_.ranks) {
    if (rank.wrong == 0 || rank.rank < 0 || rank.rank >= int(experiment.order.size())) continue;
    const std::string where = name(experiment.order[std::size_t(rank.rank)]);
    if (runner_->place().local) {
      return fail(Cause::corrupted, fmt::format("{} got {} wrong elements", where, rank.wrong), where,
                  "look for --fault, or test this machine's memory");
    }
    return fail(Cause::corrupted,
                fmt::format("rank {} on {} got {} wrong elements from {}", rank.rank, where, rank.wrong,
                            key_of(experiment.algorithm)),
                where, "data is corrupted in transit: look at that node's NIC, its memory and its cables");
  }
  auto observation = observation_of(experiment, job, report_);
  observation.others = others_.read(observation, job, report_);
  ++runs_;
  for (const diagnosis::HopReading& hop : observation.hops) bytes_ += hop.bytes.value;
  control_.tell(progress::Reading{observation, names_, runs_, bytes_});
  return observation;
}

void RunMeasurer::leave_out_dead(std::vector<int>& who) const {
  const std::vector<Failure> dead = this->dead();
  for (const Failure& f : dead) std::erase_if(who, [&](int node) { return name(node) == f.node; });
}

Result<Reached> RunMeasurer::reach() {
  constexpr int most_for_all_pairs = 32;
  if (runner_->place().local || nodes() < 2) return Reached{};
  std::vector<int> who;
  for (int node = 0; node < nodes(); ++node) who.push_back(node);
  for (;;) {
    leave_out_dead(who);
    if (who.size() < 2) return Reached{};
    diagnosis::Experiment all = greeting(nodes(), who);
    if (who.size() <= most_for_all_pairs) all.algorithm = collective::AlgorithmId::one_shot;
    auto report = runner_->play(reach_job(job_of(all)));
    if (report) return reached(*report, job_of(all), names_);
    failures_ = std::move(report.error().failures);
    const auto before = who.size();
    leave_out_dead(who);
    if (!outlives_failures() || who.size() == before) return tl::unexpected(report.error().error);
  }
}

Result<Carrier> RunMeasurer::settle(std::vector<int> who) {
  using run::Transport;
  const Transport asked = options_.transport;
  if (asked == Transport::automatic && nodes() < 2) return Carrier{};
  if (asked != Transport::automatic && asked != Transport::verbs) return Carrier{asked, {}, {}, 0, {}};
  if (who.empty() && !dead().empty())
    for (int node = 0; node < nodes(); ++node) who.push_back(node);
  leave_out_dead(who);
  auto seen = measure(greeting(nodes(), who));
  if (!seen && who.empty())
    for (int node = 0; node < nodes(); ++node) who.push_back(node);
  for (auto before = who.size(); !seen && outlives_failures(); before = who.size()) {
    leave_out_dead(who);
    if (who.size() == before || who.size() < 2) break;
    seen = measure(greeting(nodes(), who));
  }
  if (!seen) return tl::unexpected(seen.error());
  Carrier carrier = carrier_of(report_, std::move(seen->rails));
  options_.transport = carrier.transport;
  return carrier;
}

// A short call of everybody with everybody makes all connections.
Result<std::vector<run::Way>> RunMeasurer::trace() {
  diagnosis::Experiment all;
  all.algorithm = collective::AlgorithmId::one_shot;
  for (int node = 0; node < nodes(); ++node) all.order.push_back(node);
  leave_out_dead(all.order);
  all.bytes = Bytes(4);
  run::Job job = job_of(all);
  job.trace = true;
  auto report = runner_->play(job, end_);
  if (!report) return tl::unexpected(report.error().error);
  std::vector<run::Way> ways;
  for (run::Way& way : report->ways) {
    if (way.source < 0 || way.destination < 0 || way.source >= int(all.order.size()) ||
        way.destination >= int(all.order.size()))
      continue;
    way.source = all.order[std::size_t(way.source)];
    way.destination = all.order[std::size_t(way.destination)];
    ways.push_back(std::move(way));
  }
  if (ways_.empty()) ways_ = ways;
  return ways;
}

std::vector<std::pair<int, int>> RunMeasurer::changed_ways() {
  std::vector<std::pair<int, int>> out;
  if (ways_.empty()) return out;
  const auto now = trace();
  for (const run::Way& before : ways_) {
    const auto same = [&](const run::Way& way) {
      if (!way.known || way.source != before.source || way.destination != before.destination ||
          way.routers.size() != before.routers.size())
        return false;
      // The last router is the destination's own, from whichever of its addresses it answers.
      const auto checked =
          std::ptrdiff_t(way.routers.size() < 2 ? way.routers.size() : way.routers.size() - 1);
      return std::equal(way.routers.begin(), way.routers.begin() + checked, before.routers.begin());
    };
    if (before.known && !(now && std::any_of(now->begin(), now->end(), same)))
      out.emplace_back(before.source, before.destination);
  }
  return out;
}

Outcome<std::unique_ptr<RunMeasurer>> make_measurer(const Setup& setup, const MeasurerRequest& request,
                                                    const Control& control) {
  using run::Transport;
  Transport transport = request.transport.value_or(setup.config.transport.value);
  if (transport == Transport::cuda) {
    return trouble({Cause::bad_input,
                    "--transport cuda connects GPUs of one node, and this measures between nodes", "",
                    "leave it out; ringtrue sweep --gpu measures GPUs"});
  }
  if (transport == Transport::udp)
    return trouble({Cause::bad_input, "udp is for omnireduce only", "", "leave --transport out, or use tcp"});
  MeasurerOptions options;
  options.warmup = request.warmup;
  options.verbs = request.verbs;
  options.memory = setup.config.memory.value;
  if (!setup.local) {
    if (!request.fault.empty())
      return trouble(
          {Cause::bad_input, "--fault needs --local: it does not slow real nodes", "", "leave it out"});
    if (setup.ranks_per_node != 1)
      return trouble({Cause::bad_input, "check and sweep measure with one rank per node", "",
                      "leave --ranks-per-node out"});
    options.link_rate = setup.config.link_rate.value;
  } else {
    if (transport == Transport::automatic) transport = Transport::tcp;
    if (transport != Transport::tcp && transport != Transport::verbs) {
      return trouble({Cause::bad_input, "between ranks of one process only tcp and verbs can be measured", "",
                      "leave --transport out"});
    }
    auto faults = collective::parse_faults(request.fault);
    if (!faults) return trouble(faults.error());
    if (auto fits = collective::check_ranks(*faults, *setup.local); !fits) return trouble(fits.error());
    options.faults = std::move(*faults);
    options.paced = request.paced;
  }
  options.transport = transport;
  auto runner = make_runner(setup, request.runner, control);
  if (!runner) return tl::unexpected(runner.error());
  return std::make_unique<RunMeasurer>(std::move(*runner), std::move(options), control);
}

BytesPerSecond local_pace(int ranks) {
  return BytesPerSecond(std::clamp(400e6 / std::max(ranks, 1), 10e6, 100e6));
}

namespace {

// Every ordered pair of nodes that `experiment` has a hop between.
std::set<std::pair<int, int>> ordered_pairs(const diagnosis::Experiment& experiment) {
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
  const std::size_t shift =
      experiment.algorithm == collective::AlgorithmId::pairwise ? std::size_t(experiment.shift) : 1;
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
  for (const auto& [source, destination] : ordered_pairs(experiment)) {
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

}  // namespace ringtrue::ops
