#include "fleet/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collective/omnireduce/tune.h"
#include "diagnosis/counters.h"
#include "topology/counters.h"

namespace ringtrue::fleet {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Ports that RDMA went through, by node.
std::map<std::string, std::vector<diagnosis::RdmaPort>> rails_of(const engine::RunReport& report) {
  std::map<std::string, std::vector<diagnosis::RdmaPort>> rails;
  for (const engine::RdmaUse& use : report.rdma) {
    auto& ports = rails[use.node];
    for (const std::string& text : use.ports) {
      const auto port = diagnosis::parse_rdma_port(text);
      if (port && std::find(ports.begin(), ports.end(), *port) == ports.end()) ports.push_back(*port);
    }
  }
  return rails;
}

// What had to be sent again, as the ports of a hop's sending end tell.
std::uint64_t resent(const topology::CounterWindow& window, const std::vector<diagnosis::RdmaPort>& rails) {
  std::uint64_t sum = 0;
  for (const topology::CounterChange& change : window.changes) {
    const bool ours = diagnosis::of_rails(change.device, rails);
    if (ours && topology::loss_seen(change.counter) == topology::Loss::sending) sum += topology::rise(change);
  }
  return sum;
}

}  // namespace

engine::Job job_of(const diagnosis::Experiment& experiment, const std::vector<Target>& targets,
                   const MeasurerOptions& options) {
  const bool omnireduce = experiment.algorithm == "omnireduce";
  const auto first_aggregator = experiment.order.begin() + (omnireduce ? experiment.workers : 0);
  engine::Job job = job_over(
      targets, omnireduce ? std::vector<int>(experiment.order.begin(), first_aggregator) : experiment.order,
      Options{});
  job.algorithm = experiment.algorithm;
  job.call.type = collective::Type::float32;
  job.call.operation = collective::Operation::sum;
  job.call.elements = experiment.bytes.value / collective::size_of(job.call.type);
  job.call.shift = experiment.shift;
  job.call.lanes = options.lanes;
  if (experiment.slice.value > 0) job.call.slice_bytes = experiment.slice.value;
  job.transport = options.transport;
  job.verbs = options.verbs;
  job.memory = options.memory;
  job.iterations = experiment.iterations;
  job.warmup = options.warmup;
  job.check = true;
  for (const diagnosis::RdmaPort& port : experiment.ports) job.ports.push_back({{port.device, port.number}});
  std::map<int, int> places;  // taken, by node
  for (engine::Seat& seat : job.seats) seat.local = places[seat.node]++;
  if (!omnireduce) return job;
  add_aggregators(job, {first_aggregator, experiment.order.end()},
                  int(experiment.order.end() - first_aggregator), Options{});
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

diagnosis::Observation observation_of(const diagnosis::Experiment& experiment, const engine::Job& job,
                                      const engine::RunReport& report) {
  diagnosis::Observation observation;
  observation.experiment = experiment;
  observation.time = Seconds(median(engine::slowest(report)));
  observation.counters = report.counters;
  observation.rails = rails_of(report);
  for (const engine::RankReport& rank : report.ranks) observation.times.push_back(rank.time_s);
  const int ranks = int(experiment.order.size());
  // One rank a node, played by one thread: where it never rests, the program is the limit, not the wire.
  const double available = observation.time.value * ranks;
  if (available > 0) observation.cpu_busy = std::min(1.0, report.cpu_s / available);
  std::map<int, int> hops_from;  // by rank
  for (const trace::Hop& hop : report.trace.hops) hops_from[hop.source] += !hop.receiver;
  for (const trace::Hop& hop : report.trace.hops) {
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
      const std::string& node = job.nodes[std::size_t(job.seats[std::size_t(hop.source)].node)];
      const auto& ports = observation.rails[node];
      for (const trace::RdmaRail& rail : hop.rdma->rails) {
        const auto port = diagnosis::parse_rdma_port(rail.port);
        const auto at = port ? std::find(ports.begin(), ports.end(), *port) : ports.end();
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

Error said_cut(Error error, const diagnosis::Experiment& experiment, Deadline end) {
  if (error.cause != Cause::deadline || !end.passed()) return error;
  error.what = fmt::format("{} over {} nodes was cut, as the time for all experiments was over: {}",
                           experiment.algorithm, experiment.order.size(), error.what);
  error.next = "give them more by --budget, or look at what makes them slow";
  return error;
}

FleetMeasurer::FleetMeasurer(Fleet& fleet, MeasurerOptions options)
    : fleet_(fleet), options_(std::move(options)) {}

int FleetMeasurer::nodes() const {
  return int(fleet_.targets().size());
}

std::string FleetMeasurer::name(int node) const {
  return fleet_.targets()[std::size_t(node)].node;
}

Result<diagnosis::Observation> FleetMeasurer::measure(const diagnosis::Experiment& experiment) {
  failure_.reset();
  for (const int node : experiment.order)
    if (node < 0 || node >= nodes())
      return fail(Cause::internal, "an experiment on a node outside of the fleet");
  const engine::Job job = job_of(experiment, fleet_.targets(), options_);
  auto report = fleet_.run(job, end_);
  if (!report) {
    failure_ = std::move(report.error());
    return tl::unexpected(said_cut(failure_->summary(), experiment, end_));
  }
  if (options_.finished) options_.finished(job, *report);
  for (const engine::RankReport& rank : report->ranks) {
    if (rank.wrong == 0 || rank.rank < 0 || rank.rank >= int(experiment.order.size())) continue;
    const std::string where = name(experiment.order[std::size_t(rank.rank)]);
    return fail(Cause::corrupted,
                fmt::format("rank {} on {} got {} wrong elements from {}", rank.rank, where, rank.wrong,
                            experiment.algorithm),
                where,
                "something on the way changes data: look at that node's NIC, its memory and its cables");
  }
  return observation_of(experiment, job, *report);
}

}  // namespace ringtrue::fleet
