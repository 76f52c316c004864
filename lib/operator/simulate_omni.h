// An omnireduce in the simulator: who is where, what its data holds, and what came out of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/bitmaps.h"
#include "operator/documents/run.h"
#include "operator/omni_format.h"
#include "operator/omni_request.h"
#include "run/job.h"
#include "sim/simulate.h"

namespace ringtrue::ops {

// What is to be simulated, beside the flags.
struct OmniCase {
  collective::Call call;                  // elements, type, operation
  sim::Fabric workers;                    // the workers' nodes alone
  std::vector<collective::Fault> faults;  // packets may get lost: datagrams, and acked
  std::uint64_t seed = 1;                 // of the data
  // Instead of generated data. Of bitmaps the call is made; of an input it has type and elements.
  std::shared_ptr<const Bitmaps> bitmaps = {};
  std::shared_ptr<const run::Input> input = {};
};

struct OmniPlan {
  run::Job job;        // its call, nodes and seats
  sim::Fabric fabric;  // with the aggregators
  Placement placement = Placement::dedicated;
  sim::HasBlock has_block;
  sim::ValuesIn values;  // of pairs
  FormatChoice format;
  double density = 0, united = 0;    // shares of blocks
  std::vector<std::string> reasons;  // of the shape
  std::vector<std::string> notes;    // what differs from what was asked for
};

// Dedicated aggregators have nodes of their own after the workers'; one a worker's node unless told.
Result<OmniPlan> plan_omnireduce(const OmniCase& what, const OmniRequest& flags);

// Instead of drawn blocks: of `density`, the same on all workers, and as many in every column (give or take
// one), which is what the model assumes.
void distribute_evenly(OmniPlan& plan, double density);

// The model's prediction for the plan; nothing where a node has several workers, which it does not know.
std::optional<OmniModel> model_of(const OmniPlan& plan);

// Fills in result.omni, its model, and what follows of it. `ring`: the same data in our ring, where it was
// simulated.
void add_omni(RunResult& result, const OmniPlan& plan, const sim::SimReport& played,
              const std::optional<RunResult>& ring);

}  // namespace ringtrue::ops
