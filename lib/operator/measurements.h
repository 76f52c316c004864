// From what the engine (or the simulator) reports to what is printed, with the ideals beside it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "collective/sparse.h"
#include "ideal/ideal.h"
#include "operator/documents/run.h"
#include "operator/omni_format.h"
#include "operator/omni_request.h"
#include "run/job.h"
#include "run/report.h"
#include "run/trace.h"

namespace ringtrue::ops {

// What a call on this cluster could reach. Unknown rates stay unknown.
ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate,
                           std::optional<ideal::Efficiency> efficiency);

// Fills in what the job says of a result.
void set_call(RunResult& result, const run::Job& job);
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

// --- what is said of an omnireduce: its counts, its model, the ring beside it, what its aggregators received

// Shares of blocks of `block` elements that are not zero in what the job's workers hold.
collective::Densities densities_of(const run::Job& job, std::uint64_t block);

// Nullopt where the model does not apply. `rate`: what a worker's port can carry, one way.
std::optional<OmniModel> omni_model(const collective::Call& call, const collective::Densities& densities,
                                    Placement placement, BytesPerSecond rate, Seconds latency = Seconds(0));

// What the job says of it. Then come what a run's ranks counted and its hops carried, or what a model's did.
OmniResult omni_result(const run::Job& job, Placement placement, const collective::Densities& densities,
                       std::optional<OmniModel> model);
// Blocks or pairs, and why; and the shares that the model is about: of blocks, or of values.
void set_format(OmniResult& out, const FormatChoice& format);
collective::Densities sent_shares(const collective::Call& call, const collective::Densities& blocks,
                                  const FormatChoice& format);
// What aggregators received is in the hops that they kept (run::Hop::receiver).
void add_run(OmniResult& out, const run::Job& job, const run::RunReport& run);
// By aggregator's rank: all that it received.
void add_received(OmniResult& out, const run::Job& job, const std::map<int, run::Hop>& received);
// Ideal and attainable busbw of a result with a model, and its ratio. `efficiency`: of the link.
void add_omni_rates(RunResult& result, std::optional<double> efficiency);

// The ring's time beside the omnireduce's: speed-up, and the share of the model's that was reached.
void add_ring(RunResult& result, const RunResult& ring);

}  // namespace ringtrue::ops
