// From what the engine (or the simulator) reports to what is printed, with the ideals beside it.
#pragma once

#include <optional>
#include <string>

#include "engine/job.h"
#include "ideal/ideal.h"
#include "report/documents.h"

namespace ringtrue::cmd {

// What a call on this cluster could reach. Unknown rates stay unknown.
ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate, bool tcp);

report::RunResult result_of(const engine::Job& job, const engine::RunReport& run,
                            const ideal::Inputs& inputs);

// Fills in the rates from bytes, ranks and the median time.
void add_rates(report::RunResult& result, const ideal::Inputs& inputs);

std::vector<report::HopRow> hops_of(const engine::Job& job, const trace::Trace& trace);

}  // namespace ringtrue::cmd
