// The operator's own data, and what may come out of reducing it.
//
// Integers wrap and are exact in any order. Floats are held against a reference in double (of float64: long
// double):
//   sum, avg  |got - reference| <= 2 W eps sum|x|  (avg: a W-th of it): each of W-1 additions, in any order,
//             rounds by at most eps/2 of what has been added so far (Higham, Accuracy and Stability, 4.2)
//   prod      |got - reference| <= 2 W eps |reference|
//   min, max  exact
// and a step of the least denormal. A NaN is expected where the reference is one, infinity where it is
// infinite. Where it depends on the order whether a part of the sum or product overflows or underflows, every
// outcome of that is right.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/kernels/half.h"
#include "engine/kernels/reduce.h"
#include "engine/values/job.h"
#include "run/job.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Rank;
using collective::Type;

namespace {

constexpr std::uint64_t chunk = 1024;  // elements worked on at a time

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A floating-point type: how it is read, the distance of 1 to the next one, its largest and least values.
struct Float16 {
  using Acc = double;
  static constexpr std::uint64_t size = 2;
  static constexpr double eps = 0x1p-10, largest = 65504, normal = 0x1p-14, least = 0x1p-24;
  static Acc read(const std::byte* from) { return float16_to_float(load<std::uint16_t>(from)); }
};
struct Bfloat16 {
  using Acc = double;
  static constexpr std::uint64_t size = 2;
  static constexpr double eps = 0x1p-7, largest = 0x1.fep127, normal = 0x1p-126, least = 0x1p-133;
  static Acc read(const std::byte* from) { return bfloat16_to_float(load<std::uint16_t>(from)); }
};
template <class T, class Wide>
struct Native {
  using Acc = Wide;
  using Limits = std::numeric_limits<T>;
  static constexpr std::uint64_t size = sizeof(T);
  static constexpr Acc eps = Limits::epsilon(), largest = Limits::max(), normal = Limits::min(),
                       least = Limits::denorm_min();
  static Acc read(const std::byte* from) { return Acc(load<T>(from)); }
};

struct Rows {
  const run::Input& input;
  Rank workers;
  std::uint64_t first, elements;  // of the chunk
  const std::byte* row(Rank worker, std::uint64_t size) const {
    return input.row(worker).data() + first * size;
  }
};

template <class F>
void check_sums(const Rows& rows, bool average, const std::byte* got, Mismatch& found) {
  using Acc = typename F::Acc;
  Acc sum[chunk] = {}, size[chunk] = {};
  for (Rank w = 0; w < rows.workers; ++w) {
    const std::byte* row = rows.row(w, F::size);
    for (std::uint64_t i = 0; i < rows.elements; ++i) {
      const Acc x = F::read(row + i * F::size), magnitude = std::fabs(x);
      sum[i] += x;
      size[i] += magnitude <= F::largest ? magnitude : Acc(0);
    }
  }
  const Acc count = Acc(rows.workers), parts = average ? count : Acc(1);
  const Acc limit = F::largest * (1 - count * F::eps);
  for (std::uint64_t i = 0; i < rows.elements; ++i) {
    const Acc x = F::read(got + i * F::size), right = sum[i] / parts;
    // No order's partial sum is above what is positive, or below what is negative.
    const Acc finite = std::isfinite(sum[i]) ? sum[i] : Acc(0);
    const bool may_rise = std::isinf(sum[i]) ? size[i] > limit : (size[i] + finite) / 2 > limit;
    const bool may_fall = std::isinf(sum[i]) ? size[i] > limit : (size[i] - finite) / 2 > limit;
    bool good = false;
    if (std::isnan(right)) {
      good = std::isnan(x);
    } else if (std::isinf(right)) {
      good = x == right || (may_rise && may_fall && std::isnan(x));
    } else if (std::isfinite(x)) {
      good = std::fabs(x - right) <= 2 * count * F::eps * size[i] / parts + F::least;
    } else {
      good = std::isnan(x) ? may_rise && may_fall : x > 0 ? may_rise : may_fall;
    }
    if (!good) found.add(rows.first + i);
  }
}

template <class F>
void check_products(const Rows& rows, const std::byte* got, Mismatch& found) {
  using Acc = typename F::Acc;
  for (std::uint64_t i = 0; i < rows.elements; ++i) {
    Acc product = 1, up = 1, down = 1;  // of all, of the finite ones above 1, of those below
    bool nan = false, infinite = false, zero = false;
    for (Rank w = 0; w < rows.workers; ++w) {
      const Acc x = F::read(rows.row(w, F::size) + i * F::size), magnitude = std::fabs(x);
      product *= x;
      nan |= std::isnan(x);
      infinite |= std::isinf(x);
      zero |= x == 0;
      if (magnitude > 1 && magnitude <= F::largest) up *= magnitude;
      if (magnitude > 0 && magnitude < 1) down *= magnitude;
    }
    const Acc x = F::read(got + i * F::size);
    bool good = true;
    if (nan || (infinite && zero)) {
      good = std::isnan(x);
    } else if (up <= F::largest && down >= F::normal) {  // else the order decides
      if (infinite || zero) {
        good = x == product;
      } else {
        good = std::fabs(x - product) <= 2 * Acc(rows.workers) * F::eps * std::fabs(product) + F::least;
      }
    }
    if (!good) found.add(rows.first + i);
  }
}

template <class F>
void check_extremes(const Rows& rows, bool least, const std::byte* got, Mismatch& found) {
  using Acc = typename F::Acc;
  for (std::uint64_t i = 0; i < rows.elements; ++i) {
    Acc right = F::read(rows.row(0, F::size) + i * F::size);
    for (Rank w = 1; w < rows.workers && !std::isnan(right); ++w) {
      const Acc x = F::read(rows.row(w, F::size) + i * F::size);
      if (std::isnan(x) || (least ? x < right : x > right)) right = x;
    }
    const Acc x = F::read(got + i * F::size);
    if (!(std::isnan(right) ? std::isnan(x) : x == right)) found.add(rows.first + i);
  }
}

template <class F>
void check_floats(Operation operation, const Rows& rows, const std::byte* got, Mismatch& found) {
  switch (operation) {
    case Operation::sum:
    case Operation::avg:
      return check_sums<F>(rows, operation == Operation::avg, got, found);
    case Operation::prod:
      return check_products<F>(rows, got, found);
    case Operation::min:
    case Operation::max:
      return check_extremes<F>(rows, operation == Operation::min, got, found);
  }
}

template <class T>
void check_integers(Operation operation, const Rows& rows, const std::byte* got, Mismatch& found) {
  using Bits = std::make_unsigned_t<T>;
  for (std::uint64_t i = 0; i < rows.elements; ++i) {
    T right = load<T>(rows.row(0, sizeof(T)) + i * sizeof(T));
    for (Rank w = 1; w < rows.workers; ++w) {
      const T x = load<T>(rows.row(w, sizeof(T)) + i * sizeof(T));
      switch (operation) {
        case Operation::prod:
          right = T(Bits(right) * Bits(x));
          break;
        case Operation::min:
          right = std::min(right, x);
          break;
        case Operation::max:
          right = std::max(right, x);
          break;
        default:
          right = T(Bits(right) + Bits(x));
      }
    }
    if (operation == Operation::avg) right = T(right / T(rows.workers));
    if (load<T>(got + i * sizeof(T)) != right) found.add(rows.first + i);
  }
}

class InputValues final : public JobValues {
 public:
  InputValues(const run::Job& job, bool allreduce) : JobValues(job, allreduce), input_(job.input) {
    assert(input_ && input_->type == type_ && input_->elements == elements_);
    assert(input_->rows.size() == 1 || input_->rows.size() == std::size_t(workers_));
  }

  void fill(Rank rank, std::byte* data, bool) const override {
    if (rank < workers_) copy_stream(data, input_->row(rank).data(), elements_ * size_of(type_));
  }
  Mismatch check(Rank rank, std::byte* data, bool everything) const override;

 private:
  std::shared_ptr<const run::Input> input_;
};

Mismatch InputValues::check(Rank rank, std::byte* data, bool) const {
  Mismatch found;
  if (rank >= workers_) return found;
  if (!allreduce_) {
    compare_values(type_, data, input_->row(source_of(rank)).data(), elements_, 0, Zeros::equal, found);
    return found;
  }
  for (std::uint64_t first = 0; first < elements_; first += chunk) {
    const Rows rows{*input_, workers_, first, std::min(chunk, elements_ - first)};
    const std::byte* got = data + first * size_of(type_);
    switch (type_) {
      case Type::float32:
        check_floats<Native<float, double>>(operation_, rows, got, found);
        break;
      case Type::float64:
        check_floats<Native<double, long double>>(operation_, rows, got, found);
        break;
      case Type::float16:
        check_floats<Float16>(operation_, rows, got, found);
        break;
      case Type::bfloat16:
        check_floats<Bfloat16>(operation_, rows, got, found);
        break;
      case Type::int32:
        check_integers<std::int32_t>(operation_, rows, got, found);
        break;
      case Type::int64:
        check_integers<std::int64_t>(operation_, rows, got, found);
        break;
    }
  }
  return found;
}

}  // namespace

std::unique_ptr<JobValues> input_values(const run::Job& job, bool allreduce) {
  return std::make_unique<InputValues>(job, allreduce);
}

}  // namespace ringtrue::engine
