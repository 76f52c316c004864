// Elements of every type as the tests see them: values that are exact in the type whatever the order of the
// reduction, and the expected result, computed from all ranks' values without any collective.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collective/types.h"

namespace ringtrue::test {

using collective::Operation;
using collective::Rank;
using collective::Type;

// bfloat16 on its way through float, rounded to nearest even.
struct Bfloat16 {
  std::uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const std::uint32_t wide = std::bit_cast<std::uint32_t>(value);
    bits = std::uint16_t((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};

// IEEE half precision by way of double, rounded to nearest even; values of the tests are far from its limits.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    int exponent = 0;
    std::frexp(value, &exponent);                   // value = 0.5...1 x 2^exponent
    const int unit = std::max(exponent - 11, -24);  // of the last place
    int places = int(std::nearbyint(std::ldexp(std::fabs(double(value)), -unit)));
    if (places == 2048)
      bits = std::uint16_t(sign | ((unit + 26) << 10));
    else if (places < 1024)
      bits = std::uint16_t(sign | places);
    else
      bits = std::uint16_t(sign | ((unit + 25) << 10) | (places - 1024));
  }
  explicit operator float() const {
    const int exponent = bits >> 10 & 31, places = bits & 1023;
    const float size =
        exponent ? std::ldexp(float(places + 1024), exponent - 25) : std::ldexp(float(places), -24);
    return bits & 0x8000 ? -size : size;
  }
};

// Calls f with a value of the C++ type that stands for `type`, and of the type that it is computed in.
template <class F>
void with_type(Type type, F f) {
  switch (type) {
    case Type::float32:
      return f(float{}, float{});
    case Type::float64:
      return f(double{}, double{});
    case Type::float16:
      return f(Float16{}, float{});
    case Type::bfloat16:
      return f(Bfloat16{}, float{});
    case Type::int32:
      return f(std::int32_t{}, std::int32_t{});
    case Type::int64:
      return f(std::int64_t{}, std::int64_t{});
  }
}

template <class T>
T combine(Operation op, T a, T b) {
  switch (op) {
    case Operation::prod:
      return a * b;
    case Operation::min:
      return b < a ? b : a;
    case Operation::max:
      return a < b ? b : a;
    default:
      return a + b;
  }
}

// into[i] = with[i] (op) incoming[i], divided by `ranks` where `divide` (avg's last reduction).
inline void reduce(Type type, Operation op, std::byte* into, const std::byte* with, const std::byte* incoming,
                   std::uint64_t bytes, bool divide, Rank ranks) {
  with_type(type, [&](auto element, auto wide) {
    using E = decltype(element);
    using W = decltype(wide);
    for (std::uint64_t at = 0; at < bytes; at += sizeof(E)) {
      E a, b;
      std::memcpy(&a, with + at, sizeof a);
      std::memcpy(&b, incoming + at, sizeof b);
      W sum = combine(op, W(a), W(b));
      if (divide && op == Operation::avg) sum = sum / W(ranks);
      const E result(sum);
      std::memcpy(into + at, &result, sizeof result);
    }
  });
}

// What `rank` brings for element i: never zero, never constant; sums of 33 ranks stay below 256, products
// below 2^8, so that all of them are exact in bfloat16.
inline int input(Operation op, Rank rank, std::uint64_t i) {
  const std::uint64_t mixed = (std::uint64_t(rank) * 31 + i * 7 + (i >> 3) * 11) % 35;
  if (op == Operation::prod) return (std::uint64_t(rank) + i) % 5 == 0 ? 2 : mixed % 2 ? -1 : 1;
  if (op == Operation::min || op == Operation::max) return int(mixed) - 17;
  return int(mixed % 7) + 1;
}

inline std::vector<std::byte> input_of(Type type, Operation op, Rank rank, std::uint64_t elements) {
  std::vector<std::byte> bytes(elements * collective::size_of(type));
  with_type(type, [&](auto element, auto wide) {
    using E = decltype(element);
    for (std::uint64_t i = 0; i < elements; ++i) {
      const E value(decltype(wide)(input(op, rank, i)));
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return bytes;
}

inline std::vector<std::byte> expected(Type type, Operation op, Rank ranks, std::uint64_t elements) {
  std::vector<std::byte> bytes(elements * collective::size_of(type));
  with_type(type, [&](auto element, auto wide) {
    using E = decltype(element);
    using W = decltype(wide);
    for (std::uint64_t i = 0; i < elements; ++i) {
      long sum = input(op, 0, i);
      for (Rank r = 1; r < ranks; ++r) sum = combine(op, sum, long(input(op, r, i)));
      // One rank alone has nothing to reduce; its average is its value.
      const E value(op == Operation::avg ? W(sum) / W(ranks) : W(sum));
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return bytes;
}

}  // namespace ringtrue::test
