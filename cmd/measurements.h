// From what the engine (or the simulator) reports to what is printed, with the ideals beside it.
#pragma once

#include <optional>
#include <string>

#include "engine/job.h"
#include "ideal/ideal.h"
#include "report/documents.h"

namespace ringtrue::cmd {

// What a call on this cluster could reach. Unknown rates stay unknown.
ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate,
                           std::optional<ideal::Efficiency> efficiency);

// The share of a link's rate that payload could have in this run; unknown where nothing crossed a link.
std::optional<ideal::Efficiency> efficiency_of(const engine::RunReport& run);

report::RunResult result_of(const engine::Job& job, const engine::RunReport& run,
                            const ideal::Inputs& inputs);

// Fills in the rates from bytes, ranks and the median time.
void add_rates(report::RunResult& result, const ideal::Inputs& inputs);

// How the RDMA of the run's nodes went.
std::vector<report::RdmaRow> rdma_of(const engine::RunReport& run);

// The GPUs that the run's data was on.
std::vector<report::GpuRow> gpus_of(const engine::RunReport& run);

// Another library's allreduce beside the job's.
report::ReferenceRow reference_of(const engine::Job& job, const engine::Reference& reference);
// Why it did not run, or what its times hold and ours do not; empty: nothing to say.
std::string note_on_reference(const engine::RunReport& report);

std::vector<report::HopRow> hops_of(const engine::Job& job, const trace::Trace& trace);

}  // namespace ringtrue::cmd
