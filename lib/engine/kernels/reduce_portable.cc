// The kernels for any processor: one element a "register", left to the compiler to widen.
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "engine/kernels/half.h"
#include "engine/kernels/reduce_loop.h"

namespace ringtrue::engine::kernels {
namespace {

template <class T, class Bits>
struct Float {
  using Acc = T;
  static constexpr std::uint64_t element = sizeof(T), bytes = sizeof(T);
  static constexpr int registers = 16;

  static Acc load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(char* to, Acc value) { std::memcpy(to, &value, sizeof value); }
  static Acc splat(int value) { return T(value); }
  static Acc sum(Acc a, Acc b) { return a + b; }
  static Acc prod(Acc a, Acc b) { return a * b; }
  static Acc divide(Acc a, Acc b) { return a / b; }
  // Equal values differ at most in the sign of zero: "or" finds the -0, "and" the +0.
  static Acc min(Acc a, Acc b) {
    if (a != a || b != b) return a + b;
    if (a == b) return __builtin_bit_cast(T, Bits(__builtin_bit_cast(Bits, a) | __builtin_bit_cast(Bits, b)));
    return a < b ? a : b;
  }
  static Acc max(Acc a, Acc b) {
    if (a != a || b != b) return a + b;
    if (a == b) return __builtin_bit_cast(T, Bits(__builtin_bit_cast(Bits, a) & __builtin_bit_cast(Bits, b)));
    return a > b ? a : b;
  }
};

using F32 = Float<float, std::uint32_t>;
using F64 = Float<double, std::uint64_t>;

template <float (*Widen)(std::uint16_t), std::uint16_t (*Narrow)(float)>
struct Half : F32 {
  static constexpr std::uint64_t element = 2, bytes = 2;
  static Acc load(const char* from) {
    std::uint16_t value;
    std::memcpy(&value, from, sizeof value);
    return Widen(value);
  }
  static void store(char* to, Acc sum) {
    const std::uint16_t value = Narrow(sum);
    std::memcpy(to, &value, sizeof value);
  }
};

template <class T>
struct Integer {
  using Acc = std::make_unsigned_t<T>;  // wraps
  static constexpr std::uint64_t element = sizeof(T), bytes = sizeof(T);
  static constexpr int registers = 16;

  static Acc load(const char* from) {
    Acc value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(char* to, Acc value) { std::memcpy(to, &value, sizeof value); }
  static Acc sum(Acc a, Acc b) { return a + b; }
  static Acc prod(Acc a, Acc b) { return a * b; }
  static Acc min(Acc a, Acc b) { return T(a) < T(b) ? a : b; }
  static Acc max(Acc a, Acc b) { return T(a) > T(b) ? a : b; }
};

float widen_float16(std::uint16_t value) {
  return float16_to_float(value);
}
float widen_bfloat16(std::uint16_t value) {
  return bfloat16_to_float(value);
}
std::uint16_t narrow_float16(float value) {
  return float_to_float16(value);
}
std::uint16_t narrow_bfloat16(float value) {
  return float_to_bfloat16(value);
}

void stream(void* into_, const void* from_, std::uint64_t bytes) {
#if defined(__SSE2__)
  char* into = static_cast<char*>(into_);
  const char* from = static_cast<const char*>(from_);
  const std::uint64_t head = -reinterpret_cast<std::uintptr_t>(into) & 15;
  if (bytes < head + 64) {
    if (bytes) std::memcpy(into, from, bytes);
    return;
  }
  std::memcpy(into, from, head);
  std::uint64_t at = head;
  for (; bytes - at >= 64; at += 64) {
    for (int i = 0; i < 64; i += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(into + at + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + i)));
    }
  }
  std::memcpy(into + at, from + at, bytes - at);
#else
  if (bytes) std::memcpy(into_, from_, bytes);
#endif
}

}  // namespace

const Kernels& portable() {
  static constexpr Kernels kernels =
      table<F32, F64, Half<widen_float16, narrow_float16>, Half<widen_bfloat16, narrow_bfloat16>,
            Integer<std::int32_t>, Integer<std::int64_t>>("portable", stream);
  return kernels;
}

void divide_int32(void* data, std::uint64_t elements, int ranks) {
  // Two 32-bit integers divide in double without error: the quotient is never rounded up to an integer.
  char* at = static_cast<char*>(data);
  for (std::uint64_t i = 0; i < elements; ++i, at += 4) {
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    value = std::int32_t(double(value) / double(ranks));
    std::memcpy(at, &value, sizeof value);
  }
}

void divide_int64(void* data, std::uint64_t elements, int ranks) {
  if (ranks == 1) return;
  // Division by a multiplication (Granlund and Montgomery, PLDI 1994) on the magnitude, which is at most
  // 2^63: with 2^(l-1) < d <= 2^l, floor(2^(63+l) / d) + 1 fits 64 bits and leaves an error below 1/d.
  __extension__ using Wide = unsigned __int128;
  const int log = 32 - __builtin_clz(unsigned(ranks) - 1);
  const int shift = 63 + log;
  const std::uint64_t factor = std::uint64_t((Wide(1) << shift) / unsigned(ranks)) + 1;
  char* at = static_cast<char*>(data);
  for (std::uint64_t i = 0; i < elements; ++i, at += 8) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    const std::uint64_t sign = -(value >> 63);
    const std::uint64_t magnitude = (value ^ sign) - sign;
    const std::uint64_t quotient = std::uint64_t(Wide(magnitude) * factor >> shift);
    value = (quotient ^ sign) - sign;
    std::memcpy(at, &value, sizeof value);
  }
}

}  // namespace ringtrue::engine::kernels
