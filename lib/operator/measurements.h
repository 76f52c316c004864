// From what the engine (or the simulator) reports to what is printed, with the ideals beside it.
#pragma once

#include <optional>
#include <string>

#include "ideal/ideal.h"
#include "operator/documents/run.h"
#include "run/job.h"
#include "run/report.h"
#include "run/trace.h"

namespace ringtrue::ops {

// What a call on this cluster could reach. Unknown rates stay unknown.
ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate,
                           std::optional<ideal::Efficiency> efficiency);

RunResult result_of(const run::Job& job, const run::RunReport& run, const ideal::Inputs& inputs);

// Fills in the rates from bytes, ranks and the median time.
void add_rates(RunResult& result, const ideal::Inputs& inputs);

// How the RDMA of the run's nodes went.
std::vector<run::RdmaUse> rdma_of(const run::RunReport& run);

// Another library's allreduce beside the job's.
ReferenceResult reference_of(const run::Job& job, const run::Reference& reference);
// Why it did not run, or what its times hold and ours do not; empty: nothing to say.
std::string note_on_reference(const run::RunReport& report);

// The hops as their senders saw them, and where their ranks are.
void set_hops(const run::Job& job, std::vector<run::Hop> hops, RunDocument& document);

}  // namespace ringtrue::ops
