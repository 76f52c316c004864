// simulate: what is asked for, the sizes and data that it says, and the use case.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/bitmaps.h"
#include "operator/call_request.h"
#include "operator/documents/grid.h"
#include "operator/documents/run.h"
#include "operator/fabric_request.h"
#include "operator/omni_request.h"
#include "operator/setup.h"
#include "run/job.h"
#include "sim/simulate.h"

namespace ringtrue::ops {

struct SimulateRequest {
  Setup setup;
  CallRequest call;
  OmniRequest omni;
  std::string bitmaps;  // a file's name
  FabricRequest fabric;
  FaultScript faults;
  std::string calibrate;  // a file
  std::optional<AlgorithmRequest> compare;
  std::optional<sim::Place> fix;
  sim::Discipline sharing = sim::Discipline::automatic;
  sim::Method method = sim::Method::automatic;
  double noise = 0, run_noise = 0;
  std::optional<long> seed;
  bool grid = false, even = false;
  std::optional<int> search_threads;  // of a worker, of the grid; 1 if not given

  std::uint64_t drawn_from() const { return std::uint64_t(seed.value_or(1)); }
  bool faulty() const { return !faults.hops.empty() || !faults.fabric.empty(); }
};

// The sizes to play, and the data where a file says it.
struct SimulateTask {
  std::vector<std::uint64_t> sizes;
  std::shared_ptr<const Bitmaps> bitmaps;
  std::shared_ptr<const run::Input> input;
  std::string note;  // of the input
};

// Whether the flags go together. Errors: bad_input.
Result<void> check(const SimulateRequest& flags);
// Errors (bad_input): as above, and files that cannot be read or do not fit so many workers.
Result<SimulateTask> task_of(const SimulateRequest& flags, int workers);

// --calibrate: sets the cost of the fabric's hops to what `file`, a document of `run --json` or `simulate
// --json`, took; and its shape to the document's, where `shape_given` is not. `call`: the slices and lanes of
// that run. Errors (bad_input): no such file, not such a document, too few sizes.
Result<Calibrated> calibrate_by(const std::string& file, const collective::Call& call, bool shape_given,
                                sim::Fabric& fabric);

// The sizes one after the other, on a modelled fabric.
Outcome<RunDocument> simulate(const SimulateRequest& request, const Control& control);

// The grid of the paper: 2, 4, 8 workers, 10 and 100 Gbit/s, densities from 1 to 0.01, 100 MB. Flags that are
// given replace what the grid goes through, or would choose.
Outcome<GridDocument> simulate_grid(const SimulateRequest& request, const Control& control);

}  // namespace ringtrue::ops
