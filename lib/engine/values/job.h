// The values of a job: dense or sparse generated ones (engine/values.h, collective/sparse.h), or the
// operator's own from a file - and whether what came out of a call is right.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "collective/chunks.h"
#include "engine/values/values.h"
#include "run/job.h"

namespace ringtrue::engine {

// Methods may be called from several threads at once, for different ranks. Ranks that hold no data
// (aggregators) have nothing to fill and nothing to check.
class JobValues {
 public:
  JobValues(const run::Job& job, bool allreduce)
      : type_(job.call.type),
        operation_(job.call.operation),
        workers_(job.workers()),
        shift_(job.call.shift),
        elements_(job.call.elements),
        allreduce_(allreduce) {}
  virtual ~JobValues() = default;

  // Writes the rank's input over the whole of `data`. Unless `fresh`, `data` was filled by this object
  // before, and only one call of the job's algorithm and one check() were on it since: then no more is
  // written than those two can have changed.
  virtual void fill(collective::Rank rank, std::byte* data, bool fresh) const = 0;

  // Compares with what the call has to leave on this rank, by value: -0.0 is 0.0. Unless `everything`, leaves
  // out what a right call does not write, so that little is read of sparse data: let the last check of a run
  // read everything, and it finds a stray write of any call before. May overwrite what it has compared, with
  // values that are wrong there.
  virtual Mismatch check(collective::Rank rank, std::byte* data, bool everything) const = 0;

  // One period of each, where values repeat, so that whoever holds the data can fill and compare by itself:
  // the rank's input, what the call has to leave there bit by bit, and what to overwrite that with.
  struct Pattern {
    std::vector<std::byte> input, expected, poison;
  };
  virtual std::optional<Pattern> pattern(collective::Rank) const { return std::nullopt; }

 protected:
  // Whose input the rank ends up with where nothing is reduced.
  collective::Rank source_of(collective::Rank rank) const {
    return collective::wrap(std::int64_t(rank) - shift_, workers_);
  }

  collective::Type type_;
  collective::Operation operation_;
  collective::Rank workers_, shift_;
  std::uint64_t elements_;
  bool allreduce_;
};

// `allreduce` as in collective::Algorithm; otherwise each rank ends up with the input of the rank
// `call.shift` before it. job.input, where there is one, has call.elements of call.type in every row. Costs
// about a second where 2^27 values are drawn one by one, some 10 ms for 64 MiB of sparse blocks, else less.
// After check_values(job).
std::unique_ptr<JobValues> values_of(const run::Job& job, bool allreduce);
// What it chooses from, beside dense data: job.input, job.sparsity.
std::unique_ptr<JobValues> input_values(const run::Job& job, bool allreduce);
std::unique_ptr<JobValues> sparse_values(const run::Job& job, bool allreduce);

// Errors, bad_input: job.input has not one row, or one a worker, of call.elements of call.type.
Result<void> check_values(const run::Job& job);

}  // namespace ringtrue::engine
