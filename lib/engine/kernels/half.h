// float16 (IEEE 754 binary16) and bfloat16 as bits, to and from float32.
//
// To the narrow type: round to nearest, ties to even; overflow gives infinity; denormals are kept; a NaN
// stays a NaN, made quiet, with the upper bits of its payload - bit for bit what F16C does.
//
// Always inlined: the kernels that include this are compiled for different instruction sets, and the linker
// must never pick one such copy for all of them.
#pragma once

#include <cstdint>

namespace ringtrue::engine {

[[gnu::always_inline]] inline float float16_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t(half & 0x8000u) << 16;
  const std::uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00u) {  // infinity, NaN
    const std::uint32_t quiet = rest > 0x7c00u ? 0x00400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | ((rest & 0x3ffu) << 13) | quiet);
  }
  if (rest < 0x0400u) {  // zero and denormals: rest * 2^-24, exact
    const float value = float(rest) * 0x1p-24f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, value));
  }
  return __builtin_bit_cast(float, sign | ((rest << 13) + (std::uint32_t(127 - 15) << 23)));
}

[[gnu::always_inline]] inline std::uint16_t float_to_float16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return std::uint16_t(sign | 0x7e00u | ((rest >> 13) & 0x3ffu));
  if (rest >= 0x47800000u) return std::uint16_t(sign | 0x7c00u);  // 2^16 and above
  if (rest < 0x38800000u) {                                       // below 2^-14: denormal or zero
    // Adding 0.5 leaves the float16 denormal in the low bits, rounded by the addition itself.
    const float shifted = __builtin_bit_cast(float, rest) + 0.5f;
    return std::uint16_t(sign | (__builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = (rest >> 13) & 1u;
  return std::uint16_t(sign | ((rest - (std::uint32_t(127 - 15) << 23) + 0xfffu + odd) >> 13));
}

[[gnu::always_inline]] inline float bfloat16_to_float(std::uint16_t value) {
  return __builtin_bit_cast(float, std::uint32_t(value) << 16);
}

[[gnu::always_inline]] inline std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::uint16_t((bits >> 16) | 0x40u);
  return std::uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace ringtrue::engine
