// The diagnosis's view of a fleet: an experiment becomes a job, the job's trace becomes an observation.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "diagnosis/measurer.h"
#include "fleet/fleet.h"

namespace ringtrue::fleet {

struct MeasurerOptions {
  std::string transport = "tcp";
  int lanes = 1;
  int warmup = 1;
  std::optional<BytesPerSecond> link_rate{};  // for the shape of an omnireduce
  transport::verbs::Settings verbs{};
  // After every run: for progress lines, and for reports that list the runs.
  std::function<void(const engine::Job&, const engine::RunReport&)> finished{};
  engine::Memory memory = engine::Memory::host;
};

class FleetMeasurer final : public diagnosis::Measurer {
 public:
  // The fleet outlives the measurer and has been leased with one process a node and as many ranks as an
  // experiment has on one; with one aggregator a node where an omnireduce has workers and aggregators on the
  // same ones.
  explicit FleetMeasurer(Fleet& fleet, MeasurerOptions options = {});

  int nodes() const override;
  std::string name(int node) const override;
  // corrupted: a rank got a wrong result, which is named. Otherwise the summary of the fleet's error.
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override;
  // By then every experiment ends, however slow its wires are: one that does not is cut, as an error with
  // Cause::deadline that says so.
  void end_by(Deadline end) { end_ = end; }
  void set_transport(std::string transport) { options_.transport = std::move(transport); }

  // The whole of what went wrong in the last measure(), if it was the fleet's.
  const std::optional<FleetError>& failure() const { return failure_; }

 private:
  Fleet& fleet_;
  MeasurerOptions options_;
  Deadline end_ = Deadline::never();
  std::optional<FleetError> failure_;
};

// An experiment's error; where it is that `end` has passed, it says so.
Error said_cut(Error error, const diagnosis::Experiment& experiment, Deadline end);

// The job of an experiment (float32, sum, every result checked) ...
engine::Job job_of(const diagnosis::Experiment& experiment, const std::vector<Target>& targets,
                   const MeasurerOptions& options);
// ... and what its report says of its hops, as their senders saw them.
diagnosis::Observation observation_of(const diagnosis::Experiment& experiment, const engine::Job& job,
                                      const engine::RunReport& report);

}  // namespace ringtrue::fleet
