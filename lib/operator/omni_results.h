// What is said of an omnireduce beside the columns of all collectives: its counts, its model, the ring beside
// it, and what its aggregators received.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"
#include "collective/sparse.h"
#include "operator/documents/run.h"
#include "operator/omni_request.h"
#include "run/job.h"
#include "run/report.h"
#include "run/trace.h"

namespace ringtrue::ops {

// Shares of blocks of `block` elements that are not zero in what the job's workers hold.
collective::Densities densities_of(const run::Job& job, std::uint64_t block);

// Nullopt where the model does not apply. `rate`: what a worker's port can carry, one way.
std::optional<OmniModel> omni_model(const collective::Call& call, const collective::Densities& densities,
                                    Placement placement, BytesPerSecond rate, Seconds latency = Seconds(0));

// Everything but the ring. What aggregators received is in the hops that they kept (run::Hop::receiver).
OmniResult omni_result(const run::Job& job, const run::RunReport& run, Placement placement,
                       const collective::Densities& densities, std::optional<OmniModel> model);

// Ideal and attainable busbw of a result with a model, and its ratio. `efficiency`: of the link.
void add_omni_rates(RunResult& result, std::optional<double> efficiency);

// The ring's time beside the omnireduce's: speed-up, and the share of the model's that was reached.
void add_ring(RunResult& result, const RunResult& ring);

}  // namespace ringtrue::ops
