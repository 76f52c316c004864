// Which blocks of which worker are not zero, from a file: what the protocol of an omnireduce depends on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collective/sparse.h"
#include "collective/types.h"
#include "operator/omni_request.h"
#include "run/job.h"
#include "sim/simulate.h"

namespace ringtrue::ops {

using Bitmaps =
    std::vector<std::vector<bool>>;  // by worker, by block; at least one of each, rows equally long

// A JSON array with one array of 0/1 (or false/true) a worker. Errors: bad_input, with the place.
Result<Bitmaps> read_bitmaps(const std::string& file);

// The call of an omnireduce over these blocks, as the flags shape it: one element a block, one aggregator,
// one stream and one column unless they say otherwise.
Result<collective::Call> call_of(const Bitmaps& bitmaps, const OmniRequest& flags);

// Of the operator's own data, cut into blocks of `block` elements. Rows as in the input: one, or one a
// worker.
Bitmaps bitmaps_of(const run::Input& input, std::uint64_t block);

// Appends those of elements [begin, end) of a worker's row that are not zero.
void add_non_zero(const run::Input& input, collective::Rank worker, std::uint64_t begin, std::uint64_t end,
                  std::vector<std::uint64_t>& elements);

// Shares of the blocks that are not zero, on the densest worker and on all together.
collective::Densities densities_of(const Bitmaps& bitmaps);

// Where there is one row it is every worker's. The bitmaps outlive it.
sim::HasBlock has_block(const Bitmaps& bitmaps);

}  // namespace ringtrue::ops
