// Numbers as GPUs and the tests' host threads reduce them: compiled by nvcc and by g++. What comes out is
// what engine/reduce.h says: float16 and bfloat16 are combined in float32 and rounded once, integers wrap, a
// NaN makes min and max a NaN, -0 is less than +0, avg divides the rounded sum.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define RINGTRUE_GPU __host__ __device__ __forceinline__
#else
#define RINGTRUE_GPU inline
#endif
#if defined(__CUDA_ARCH__)
#define RINGTRUE_UNROLL _Pragma("unroll")
#else
#define RINGTRUE_UNROLL
#endif

namespace ringtrue::transport::cuda {

template <class To, class From>
RINGTRUE_GPU To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// To nearest, ties to even; denormals and infinities are kept.
RINGTRUE_GPU float widen_float16(std::uint16_t half) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(half));
#else
  const std::uint32_t sign = std::uint32_t(half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return bits_as<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x0400u) return bits_as<float>(sign | bits_as<std::uint32_t>(float(rest) * 0x1p-24f));
  return bits_as<float>(sign | ((rest << 13) + (112u << 23)));
#endif
}

RINGTRUE_GPU std::uint16_t narrow_float16(float value) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  const std::uint32_t bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return std::uint16_t(sign | 0x7e00u);
  if (rest >= 0x47800000u) return std::uint16_t(sign | 0x7c00u);  // 2^16 and above
  // Below 2^-14: adding 0.5 leaves the denormal in the low bits, rounded by the addition itself.
  if (rest < 0x38800000u)
    return std::uint16_t(sign | (bits_as<std::uint32_t>(bits_as<float>(rest) + 0.5f) - 0x3f000000u));
  return std::uint16_t(sign | ((rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13));
#endif
}

RINGTRUE_GPU float widen_bfloat16(std::uint16_t value) {
  return bits_as<float>(std::uint32_t(value) << 16);
}

RINGTRUE_GPU std::uint16_t narrow_bfloat16(float value) {
#if defined(__CUDA_ARCH__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  const std::uint32_t bits = bits_as<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::uint16_t(bits >> 16 | 0x40u);
  return std::uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

// A number: Stored in memory, Acc while it is reduced.
template <class T, class Bits>
struct Float {
  using Stored = T;
  using Acc = T;
  static RINGTRUE_GPU Acc widen(Stored value) { return value; }
  static RINGTRUE_GPU Stored narrow(Acc value) { return value; }
  static RINGTRUE_GPU Acc sum(Acc a, Acc b) { return a + b; }
  static RINGTRUE_GPU Acc prod(Acc a, Acc b) { return a * b; }
  // Equal values differ at most in the sign of zero: "or" finds the -0, "and" the +0. Newer GPUs do all of it
  // at once for float32.
  static RINGTRUE_GPU Acc min(Acc a, Acc b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4) {
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));
      return a;
    }
#endif
    if (a != a || b != b) return a + b;
    if (a == b) return bits_as<T>(Bits(bits_as<Bits>(a) | bits_as<Bits>(b)));
    return a < b ? a : b;
  }
  static RINGTRUE_GPU Acc max(Acc a, Acc b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4) {
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));
      return a;
    }
#endif
    if (a != a || b != b) return a + b;
    if (a == b) return bits_as<T>(Bits(bits_as<Bits>(a) & bits_as<Bits>(b)));
    return a > b ? a : b;
  }
  static RINGTRUE_GPU Acc divide(Acc a, int ranks) {
    return a / T(ranks);
  }
};

using Float32 = Float<float, std::uint32_t>;
using Float64 = Float<double, std::uint64_t>;

struct Float16 : Float32 {
  using Stored = std::uint16_t;
  static RINGTRUE_GPU Acc widen(Stored value) { return widen_float16(value); }
  static RINGTRUE_GPU Stored narrow(Acc value) { return narrow_float16(value); }
};
struct Bfloat16 : Float32 {
  using Stored = std::uint16_t;
  static RINGTRUE_GPU Acc widen(Stored value) { return widen_bfloat16(value); }
  static RINGTRUE_GPU Stored narrow(Acc value) { return narrow_bfloat16(value); }
};

template <class Signed, class Unsigned>
struct Integer {
  using Stored = Unsigned;
  using Acc = Unsigned;  // wraps
  static RINGTRUE_GPU Acc widen(Stored value) { return value; }
  static RINGTRUE_GPU Stored narrow(Acc value) { return value; }
  static RINGTRUE_GPU Acc sum(Acc a, Acc b) { return a + b; }
  static RINGTRUE_GPU Acc prod(Acc a, Acc b) { return a * b; }
  static RINGTRUE_GPU Acc min(Acc a, Acc b) { return Signed(a) < Signed(b) ? a : b; }
  static RINGTRUE_GPU Acc max(Acc a, Acc b) { return Signed(a) > Signed(b) ? a : b; }
  static RINGTRUE_GPU Acc divide(Acc a, int ranks) { return Acc(Signed(a) / Signed(ranks)); }
};

using Int32 = Integer<std::int32_t, std::uint32_t>;
using Int64 = Integer<std::int64_t, std::uint64_t>;

// Bits of so many bytes that are only moved.
template <unsigned size>
struct Raw;
template <>
struct Raw<2> : Integer<std::int16_t, std::uint16_t> {};
template <>
struct Raw<4> : Int32 {};
template <>
struct Raw<8> : Int64 {};

struct Sum {
  template <class N>
  static RINGTRUE_GPU typename N::Acc apply(typename N::Acc a, typename N::Acc b) {
    return N::sum(a, b);
  }
};
struct Prod {
  template <class N>
  static RINGTRUE_GPU typename N::Acc apply(typename N::Acc a, typename N::Acc b) {
    return N::prod(a, b);
  }
};
struct Min {
  template <class N>
  static RINGTRUE_GPU typename N::Acc apply(typename N::Acc a, typename N::Acc b) {
    return N::min(a, b);
  }
};
struct Max {
  template <class N>
  static RINGTRUE_GPU typename N::Acc apply(typename N::Acc a, typename N::Acc b) {
    return N::max(a, b);
  }
};

// Calls with(number, operation) for what `type` and `operation` (as in collective/types.h) stand for; avg is
// a sum.
template <class Number, class With>
auto for_operation(std::uint8_t operation, With with) {
  switch (operation) {
    case 1:
      return with(Number(), Prod());
    case 2:
      return with(Number(), Min());
    case 3:
      return with(Number(), Max());
    default:
      return with(Number(), Sum());
  }
}

template <class With>
auto for_number(std::uint8_t type, std::uint8_t operation, With with) {
  switch (type) {
    case 0:
      return for_operation<Float32>(operation, with);
    case 1:
      return for_operation<Float64>(operation, with);
    case 2:
      return for_operation<Float16>(operation, with);
    case 3:
      return for_operation<Bfloat16>(operation, with);
    case 4:
      return for_operation<Int32>(operation, with);
    default:
      return for_operation<Int64>(operation, with);
  }
}

inline constexpr std::uint8_t average = 4;  // as collective::Operation::avg

}  // namespace ringtrue::transport::cuda
