// What is said of an omnireduce beside the columns of all collectives: its counts, its model, the ring beside
// it, and what its aggregators received.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"
#include "cmd/omni_flags.h"
#include "collective/sparse.h"
#include "engine/job.h"
#include "report/documents.h"

namespace ringtrue::cmd {

// Shares of blocks of `block` elements that are not zero in what the job's workers hold.
collective::Densities densities_of(const engine::Job& job, std::uint64_t block);

// Nullopt where the model does not apply. `rate`: what a worker's port can carry, one way.
std::optional<report::OmniModel> omni_model(const collective::Call& call,
                                            const collective::Densities& densities, Placement placement,
                                            BytesPerSecond rate, Seconds latency = Seconds(0));

// Everything but the ring. What aggregators received is in the hops that they kept (trace::Hop::receiver).
report::OmniResult omni_result(const engine::Job& job, const engine::RunReport& run, Placement placement,
                               const collective::Densities& densities,
                               std::optional<report::OmniModel> model);

// Ideal and attainable busbw of a result with a model, and its ratio. `efficiency`: of the link.
void add_omni_rates(report::RunResult& result, std::optional<double> efficiency);

// The ring's time beside the omnireduce's: speed-up, and the share of the model's that was reached.
void add_ring(report::RunResult& result, const report::RunResult& ring);

// Says which ends of the hops aggregate.
void add_roles(std::vector<report::HopRow>& hops, collective::Rank workers);

}  // namespace ringtrue::cmd
