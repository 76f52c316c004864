#include "engine/values/job.h"

#include <fmt/format.h>

#include "base/plural.h"

namespace ringtrue::engine {

using collective::Rank;

namespace {

class DenseValues final : public JobValues {
 public:
  DenseValues(const run::Job& job, bool allreduce)
      : JobValues(job, allreduce), values_(type_, operation_, workers_, job.seed, elements_) {}

  void fill(Rank rank, std::byte* data, bool) const override {
    if (rank < workers_) values_.fill(rank, data, elements_);
  }

  Mismatch check(Rank rank, std::byte* data, bool) const override {
    if (rank >= workers_) return {};
    if (allreduce_) return values_.check(data, elements_, true);
    return values_.check_neighbour(source_of(rank), data, elements_, true);
  }

  std::optional<Pattern> pattern(Rank rank) const override {
    return Pattern{values_.input(rank), allreduce_ ? values_.expected() : values_.input(source_of(rank)),
                   values_.poison()};
  }

 private:
  Values values_;
};

}  // namespace

Result<void> check_values(const run::Job& job) {
  if (!job.input) return {};
  const run::Input& input = *job.input;
  if (input.type != job.call.type || input.elements != job.call.elements)
    return fail(Cause::bad_input, fmt::format("the input holds {} {}, the call reduces {} {}", input.elements,
                                              key_of(input.type), job.call.elements, key_of(job.call.type)));
  if (input.rows.size() != 1 && input.rows.size() != std::size_t(job.workers()))
    return fail(Cause::bad_input,
                fmt::format("the input holds {} for {}", plural(input.rows.size(), "row"),
                            plural(job.workers(), "worker")),
                {}, "give one row for all, or one for each");
  for (const auto& row : input.rows)
    if (row.size() != job.call.bytes())
      return fail(Cause::bad_input,
                  fmt::format("a row of the input holds {} bytes, not {}", row.size(), job.call.bytes()));
  return {};
}

std::unique_ptr<JobValues> values_of(const run::Job& job, bool allreduce) {
  if (job.input) return input_values(job, allreduce);
  if (!job.sparsity.dense()) return sparse_values(job, allreduce);
  return std::make_unique<DenseValues>(job, allreduce);
}

}  // namespace ringtrue::engine
