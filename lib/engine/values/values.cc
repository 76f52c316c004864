#include "engine/values/values.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/kernels/half.h"
#include "engine/kernels/reduce.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Type;

namespace {

__extension__ using Wide = unsigned __int128;

// Filling more than this goes past the cache, which could not hold it anyway.
constexpr std::uint64_t stream_bytes = 4 << 20;

constexpr std::uint64_t mix(std::uint64_t x) {  // every bit of the input moves every bit of the hash
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

// 0 ... below - 1, from the upper bits of a hash.
constexpr std::uint64_t under(std::uint64_t below, std::uint64_t hash) {
  return std::uint64_t(Wide(hash) * below >> 64);
}

bool is_integer(Type type) {
  return type == Type::int32 || type == Type::int64;
}

// Integers up to this are exact in the type.
std::uint64_t exact(Type type) {
  switch (type) {
    case Type::float16:
      return 2048;
    case Type::bfloat16:
      return 256;
    case Type::float32:
      return 1u << 24;
    case Type::float64:
      return std::uint64_t(1) << 53;
    case Type::int32:
      return std::numeric_limits<std::int32_t>::max();
    default:
      return std::numeric_limits<std::int64_t>::max();
  }
}

void encode(Type type, double value, std::byte* to) {
  switch (type) {
    case Type::float64:
      std::memcpy(to, &value, 8);
      return;
    case Type::float32: {
      const float narrow = float(value);
      std::memcpy(to, &narrow, 4);
      return;
    }
    default: {
      const std::uint16_t bits =
          type == Type::float16 ? float_to_float16(float(value)) : float_to_bfloat16(float(value));
      std::memcpy(to, &bits, 2);
    }
  }
}

void encode(Type type, std::int64_t value, std::byte* to) {
  if (type == Type::int64) {
    std::memcpy(to, &value, 8);
  } else {
    const std::int32_t narrow = std::int32_t(value);
    std::memcpy(to, &narrow, 4);
  }
}

template <class T>
T combine(Operation operation, T a, T b) {
  using Math = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;  // integers wrap
  switch (operation) {
    case Operation::prod:
      return T(Math(a) * Math(b));
    case Operation::min:
      return std::min(a, b);
    case Operation::max:
      return std::max(a, b);
    default:
      return T(Math(a) + Math(b));
  }
}

double average(Type type, double sum, int ranks) {
  return type == Type::float64 ? sum / double(ranks) : double(float(sum) / float(ranks));
}

std::int64_t average(Type, std::int64_t sum, int ranks) {
  return sum / ranks;
}

template <class U>
void compare(const std::byte* got, const std::byte* right, std::uint64_t elements, std::uint64_t first,
             bool sign_counts, Mismatch& found) {
  const U zero_bits = sign_counts ? U(~U(0)) : U(U(~U(0)) >> 1);  // a value without any of them is a zero
  for (std::uint64_t i = 0; i < elements; ++i) {
    U a, b;
    std::memcpy(&a, got + i * sizeof(U), sizeof(U));
    std::memcpy(&b, right + i * sizeof(U), sizeof(U));
    if (a != b && ((a | b) & zero_bits) != 0) found.add(first + i);
  }
}

}  // namespace

void compare_values(Type type, const std::byte* got, const std::byte* right, std::uint64_t elements,
                    std::uint64_t first, Zeros zeros, Mismatch& found) {
  if (elements == 0 || std::memcmp(got, right, elements * size_of(type)) == 0) return;
  const bool sign_counts = zeros == Zeros::signed_apart || is_integer(type);
  switch (size_of(type)) {
    case 2:
      return compare<std::uint16_t>(got, right, elements, first, sign_counts, found);
    case 4:
      return compare<std::uint32_t>(got, right, elements, first, sign_counts, found);
    default:
      return compare<std::uint64_t>(got, right, elements, first, sign_counts, found);
  }
}

// One rank's inputs as double or std::int64_t, exact in both and in the type; `store(index, value)` takes
// them.
template <class T, class Store>
void Values::inputs(int rank, std::uint64_t elements, Store store) const {
  const std::uint64_t element_key = mix(seed_ + 0x9e3779b97f4a7c15u);
  const std::uint64_t rank_key = mix(element_key ^ (std::uint64_t(rank) + 1) * 0xc2b2ae3d27d4eb4fu);
  const std::uint64_t own_class = std::uint64_t(rank) % classes_;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t common = mix(element_key + i * 0x9e3779b97f4a7c15u);
    const std::uint64_t own = mix(rank_key + i * 0x9e3779b97f4a7c15u);
    const bool live = classes_ == 1 || under(classes_, common) == own_class;
    switch (operation_) {
      case Operation::min:
      case Operation::max: {
        const auto middle = std::int64_t(under(limit_, common)) - std::int64_t(limit_ / 2);
        const std::int64_t value = middle + std::int64_t(under(limit_ / 4, own));
        store(i,
              T(value != 0 ? value : 1));  // never zero: a block of such a value is one that holds something
        break;
      }
      case Operation::prod: {
        if constexpr (std::is_integral_v<T>) {
          store(i, T(own | 1));
        } else {
          static constexpr T factors[] = {0.25, 0.5, 2, 4};
          const T magnitude = live ? factors[own >> 62] : T(1);
          store(i, own & 1 ? -magnitude : magnitude);
        }
        break;
      }
      default: {
        if (std::is_integral_v<T> && operation_ == Operation::sum) {
          store(i, T(own | 3));  // odd, and by its second bit never the poison
        } else if (!live) {
          store(i, T(0));
        } else {  // one sign for all ranks of an element, so that no sum is zero
          const auto magnitude = std::int64_t(1 + under(limit_, own));
          store(i, T(common & 1 ? -magnitude : magnitude));
        }
      }
    }
  }
}

Values::Values(Type type, Operation operation, int ranks, std::uint64_t seed, std::uint64_t elements)
    : type_(type), operation_(operation), ranks_(ranks), seed_(seed), limit_(exact(type)), classes_(1) {
  assert(ranks >= 1);
  const auto count = std::uint64_t(ranks);
  if (operation == Operation::prod) {
    if (!is_integer(type)) classes_ = (count + 5) / 6;  // six factors of 4 stay below float16's largest
  } else if (operation == Operation::sum || operation == Operation::avg) {
    const std::uint64_t max_live = limit_ / 3;  // with values up to 3
    classes_ = (count + max_live - 1) / max_live;
    limit_ = std::max<std::uint64_t>(classes_ == 1 ? limit_ / count : 3, 1);
  } else if (is_integer(type)) {
    limit_ /= 2;
  }
  expected_.resize(std::min(elements, period) * size_of(type));
  if (is_integer(type)) {
    tabulate<std::int64_t>();
  } else {
    tabulate<double>();
  }

  // Floats: a NaN. Integers: the least, which no average, minimum or maximum here comes near, which no
  // product of odd numbers is, and no sum of an odd number of them; one above it for a sum of an even number.
  poison_.assign(expected_.size(), std::byte(0xff));
  if (is_integer(type)) {
    const std::int64_t odd = operation == Operation::sum && ranks % 2 == 0;
    const std::int64_t least = type == Type::int64 ? std::numeric_limits<std::int64_t>::min()
                                                   : std::numeric_limits<std::int32_t>::min();
    for (std::uint64_t at = 0; at < poison_.size(); at += size_of(type))
      encode(type, least + odd, &poison_[at]);
  }
}

template <class T>
void Values::tabulate() {
  const std::uint64_t size = size_of(type_);
  const std::uint64_t elements = expected_.size() / size;
  std::vector<T> result(elements);
  inputs<T>(0, elements, [&](std::uint64_t i, T value) { result[i] = value; });
  for (int rank = 1; rank < ranks_; ++rank) {
    inputs<T>(rank, elements,
              [&](std::uint64_t i, T value) { result[i] = combine(operation_, result[i], value); });
  }
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (operation_ == Operation::avg) result[i] = average(type_, result[i], ranks_);
    encode(type_, result[i], &expected_[i * size]);
  }
}

void Values::write_period(int rank, std::byte* data, std::uint64_t elements) const {
  const std::uint64_t size = size_of(type_);
  if (is_integer(type_)) {
    inputs<std::int64_t>(rank, elements,
                         [&](std::uint64_t i, std::int64_t value) { encode(type_, value, data + i * size); });
  } else {
    inputs<double>(rank, elements,
                   [&](std::uint64_t i, double value) { encode(type_, value, data + i * size); });
  }
}

void Values::fill(int rank, void* data, std::uint64_t elements) const {
  auto* bytes = static_cast<std::byte*>(data);
  const std::uint64_t total = elements * size_of(type_);
  const std::uint64_t block = std::min(elements, period) * size_of(type_);
  write_period(rank, bytes, std::min(elements, period));
  for (std::uint64_t at = block; at < total; at += block) {
    const std::uint64_t length = std::min(block, total - at);
    if (total > stream_bytes) {
      copy_stream(bytes + at, bytes, length);
    } else {
      std::memcpy(bytes + at, bytes, length);
    }
  }
}

Mismatch Values::check(void* data, std::uint64_t elements, bool poison) const {
  assert(expected_.size() >= std::min(elements, period) * size_of(type_));
  return compare(expected_.data(), data, elements, poison);
}

Mismatch Values::check_neighbour(int source, void* data, std::uint64_t elements, bool poison) const {
  assert(poison_.size() >= std::min(elements, period) * size_of(type_));
  return compare(input(source).data(), data, elements, poison);
}

void Values::poison(void* data, std::uint64_t elements) const {
  const std::uint64_t total = elements * size_of(type_);
  for (std::uint64_t at = 0; at < total; at += poison_.size()) {
    std::memcpy(static_cast<std::byte*>(data) + at, poison_.data(),
                std::min<std::uint64_t>(poison_.size(), total - at));
  }
}

std::vector<std::byte> Values::input(int rank) const {
  std::vector<std::byte> table(expected_.size());
  write_period(rank, table.data(), table.size() / size_of(type_));
  return table;
}

Mismatch Values::compare(const std::byte* table, void* data, std::uint64_t elements, bool poison) const {
  Mismatch found;
  auto* bytes = static_cast<std::byte*>(data);
  const std::uint64_t size = size_of(type_);
  const std::uint64_t block = std::min(elements, period);
  for (std::uint64_t first = 0; first < elements; first += block) {
    const std::uint64_t count = std::min(block, elements - first);
    compare_values(type_, bytes + first * size, table, count, first, Zeros::signed_apart, found);
    if (poison) std::memcpy(bytes + first * size, poison_.data(), count * size);
  }
  return found;
}

}  // namespace ringtrue::engine
