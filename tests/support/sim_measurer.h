// A diagnosis::Measurer over the simulator: a fabric with faults injected, in virtual time.
#pragma once

#include <fmt/format.h>

#include "diagnosis/measurer.h"
#include "run/trace.h"
#include "sim/simulate.h"

namespace ringtrue::test {

class SimMeasurer final : public diagnosis::Measurer {
 public:
  // One rank a node; `fabric` says the nodes, their rates and factors. Faults in `options` are by node here,
  // and turned into ranks for each experiment's order.
  explicit SimMeasurer(sim::Fabric fabric, sim::SimOptions options = {})
      : fabric_(std::move(fabric)), options_(std::move(options)) {}

  int nodes() const override { return fabric_.nodes; }
  std::string name(int node) const override { return fmt::format("node{}", node); }

  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override {
    const collective::Algorithm& algorithm = collective::algorithm_of(experiment.algorithm);
    sim::Fabric fabric = fabric_;
    fabric.node_of_rank = experiment.order;
    sim::SimOptions options = options_;
    options.seed = options_.seed * 1000003 + ++runs;
    options.faults.clear();
    for (collective::Fault fault : options_.faults) {
      if (place(experiment, fault.source) && place(experiment, fault.destination))
        options.faults.push_back(fault);
    }
    collective::Call call;
    call.elements = experiment.bytes.value / 4;
    call.slice_bytes = slice_bytes;
    call.shift = experiment.shift;
    const auto report = sim::simulate(algorithm, call, fabric, options);
    if (!report) return tl::unexpected(report.error());
    if (report->error) return tl::unexpected(*report->error);

    diagnosis::Observation seen;
    seen.experiment = experiment;
    seen.time = report->time;
    seconds += report->time.value * experiment.iterations;
    for (const run::Hop& hop : report->trace.hops) {
      diagnosis::HopReading reading;
      reading.source = experiment.order[std::size_t(hop.source)];
      reading.destination = experiment.order[std::size_t(hop.destination)];
      reading.bytes = Bytes(hop.bytes.value * std::uint64_t(experiment.iterations));
      reading.busy = hop.busy * double(experiment.iterations);
      reading.latency = fabric.inter.latency * 2.0;
      seen.hops.push_back(reading);
    }
    return seen;
  }

  std::uint64_t runs = 0;  // experiments so far
  double seconds = 0;      // of virtual time
  std::uint64_t slice_bytes = 128 * 1024;

 private:
  // A node as the rank that it has in this experiment. False if it takes no part.
  static bool place(const diagnosis::Experiment& experiment, std::optional<collective::Rank>& node) {
    if (!node) return true;
    for (std::size_t r = 0; r < experiment.order.size(); ++r) {
      if (experiment.order[r] != *node) continue;
      node = collective::Rank(r);
      return true;
    }
    return false;
  }

  sim::Fabric fabric_;
  sim::SimOptions options_;
};

}  // namespace ringtrue::test
