#include "engine/packets/arithmetic.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/kernels/reduce.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Type;

namespace {

template <class T>
void fill(void* into, std::uint64_t elements, T value) {
  auto* at = static_cast<std::byte*>(into);
  constexpr std::uint64_t many = 64;
  T block[many];
  std::fill_n(block, many, value);
  for (; elements >= many; elements -= many, at += sizeof block) std::memcpy(at, block, sizeof block);
  std::memcpy(at, block, elements * sizeof(T));
}

template <class T>
T choose(Operation operation, T zero, T one, T greatest, T least) {
  switch (operation) {
    case Operation::prod:
      return one;
    case Operation::min:
      return greatest;
    case Operation::max:
      return least;
    default:
      return zero;
  }
}

template <class Float>
Float neutral_float(Operation operation) {
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  return choose<Float>(operation, Float(-0.0), 1, infinity, -infinity);
}

template <class Int>
Int neutral_int(Operation operation) {
  return choose<Int>(operation, 0, 1, std::numeric_limits<Int>::max(), std::numeric_limits<Int>::min());
}

}  // namespace

void fill_neutral(Type type, Operation operation, void* into, std::uint64_t elements) {
  switch (type) {
    case Type::float32:
      return fill(into, elements, neutral_float<float>(operation));
    case Type::float64:
      return fill(into, elements, neutral_float<double>(operation));
    case Type::float16:  // by their bits
      return fill(into, elements, choose<std::uint16_t>(operation, 0x8000, 0x3c00, 0x7c00, 0xfc00));
    case Type::bfloat16:
      return fill(into, elements, choose<std::uint16_t>(operation, 0x8000, 0x3f80, 0x7f80, 0xff80));
    case Type::int32:
      return fill(into, elements, neutral_int<std::int32_t>(operation));
    case Type::int64:
      return fill(into, elements, neutral_int<std::int64_t>(operation));
  }
}

void conclude(Type type, Operation operation, void* data, std::uint64_t elements, collective::Rank workers,
              collective::Rank missing) {
  const bool zero_matters =
      operation == Operation::min || operation == Operation::max || operation == Operation::prod;
  if (missing > 0 && zero_matters) {
    static const std::byte zeros[16 * 1024]{};
    const std::uint64_t unit = size_of(type), most = sizeof zeros / unit;
    auto* at = static_cast<std::byte*>(data);
    for (std::uint64_t left = elements; left > 0;) {
      const std::uint64_t now = std::min(left, most);
      reduce(type, operation, at, at, zeros, now);
      at += now * unit;
      left -= now;
    }
  }
  finish(type, operation, data, elements, workers);
}

}  // namespace ringtrue::engine
