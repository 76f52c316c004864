#include "engine/values/job.h"

#include <fmt/format.h>

#include <cstring>

#include "base/plural.h"
#include "engine/values/compare.h"
#include "engine/values/input.h"
#include "engine/values/sparse.h"

namespace ringtrue::engine {

using collective::Rank;
using collective::Type;

namespace {

class DenseValues final : public JobValues {
 public:
  DenseValues(const run::Job& job, bool allreduce)
      : values_(job.call.type, job.call.operation, job.workers(), job.seed, job.call.elements),
        workers_(job.workers()),
        shift_(job.call.shift),
        elements_(job.call.elements),
        allreduce_(allreduce) {}

  void fill(Rank rank, std::byte* data, bool) const override {
    if (rank < workers_) values_.fill(rank, data, elements_);
  }

  Mismatch check(Rank rank, std::byte* data, bool) const override {
    if (rank >= workers_) return {};
    if (allreduce_) return values_.check(data, elements_, true);
    return values_.check_neighbour(neighbour(rank), data, elements_, true);
  }

  std::optional<Pattern> pattern(Rank rank) const override {
    return Pattern{values_.input(rank), allreduce_ ? values_.expected() : values_.input(neighbour(rank)),
                   values_.poison()};
  }

 private:
  Rank neighbour(Rank rank) const {
    return Rank(((std::int64_t(rank) - shift_) % workers_ + workers_) % workers_);
  }

  Values values_;
  Rank workers_, shift_;
  std::uint64_t elements_;
  bool allreduce_;
};

template <class U>
void compare(const std::byte* got, const std::byte* right, std::uint64_t elements, std::uint64_t first,
             U magnitude, Mismatch& found) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    U a, b;
    std::memcpy(&a, got + i * sizeof(U), sizeof(U));
    std::memcpy(&b, right + i * sizeof(U), sizeof(U));
    if (a != b && ((a & magnitude) != 0 || (b & magnitude) != 0)) note_wrong(found, first + i);
  }
}

}  // namespace

void compare_values(Type type, const std::byte* got, const std::byte* right, std::uint64_t elements,
                    std::uint64_t first, Mismatch& found) {
  if (elements == 0 || std::memcmp(got, right, elements * size_of(type)) == 0) return;
  switch (type) {
    case Type::float16:
    case Type::bfloat16:
      return compare<std::uint16_t>(got, right, elements, first, 0x7fff, found);
    case Type::float32:
      return compare<std::uint32_t>(got, right, elements, first, 0x7fff'ffff, found);
    case Type::float64:
      return compare<std::uint64_t>(got, right, elements, first, ~std::uint64_t(0) >> 1, found);
    case Type::int32:
      return compare<std::uint32_t>(got, right, elements, first, ~std::uint32_t(0), found);
    case Type::int64:
      return compare<std::uint64_t>(got, right, elements, first, ~std::uint64_t(0), found);
  }
}

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
  if (job.input) return std::make_unique<InputValues>(job, allreduce);
  if (!job.sparsity.dense()) return std::make_unique<SparseValues>(job, allreduce);
  return std::make_unique<DenseValues>(job, allreduce);
}

}  // namespace ringtrue::engine
