// The loops of the scan, written once over a vector V of one instruction set. Included by the nonzero_*.cc
// files only; in an unnamed namespace and without the standard library's inline code for the reason that
// reduce_loop.h gives.
//
// A V has: Reg, bytes, load, both (bitwise or), any(Reg, mask).
#pragma once

#include <cstdint>

#include "engine/kernels/nonzero_kernels.h"

namespace ringtrue::engine::kernels {
namespace {

[[gnu::always_inline]] inline std::uint64_t word(const char* from, std::uint64_t bytes) {
  std::uint64_t value = 0;
  __builtin_memcpy(&value, from, bytes);
  return value;
}

// Less than a vector.
inline bool any_short(const char* from, std::uint64_t bytes, std::uint64_t mask) {
  std::uint64_t all = 0;
  std::uint64_t at = 0;
  for (; bytes - at >= 8; at += 8) all |= word(from + at, 8);
  if (bytes > at) all |= word(from + at, bytes - at);
  return (all & mask) != 0;
}

// The processor's own prefetching stops at a page's end; asked this far ahead, lines come without a pause.
constexpr std::uint64_t ahead = 4096;

template <class V>
[[gnu::always_inline]] inline bool any_loop(const char* from, std::uint64_t bytes, std::uint64_t mask) {
  constexpr int registers = 4;
  constexpr std::uint64_t step = registers * V::bytes;
  std::uint64_t at = 0;
  for (; bytes - at >= step; at += step) {
#pragma GCC unroll 8
    for (std::uint64_t line = 0; line < step; line += 64) __builtin_prefetch(from + at + line + ahead);
    typename V::Reg all = V::load(from + at);
#pragma GCC unroll 8
    for (int i = 1; i < registers; ++i) all = V::both(all, V::load(from + at + i * V::bytes));
    if (V::any(all, mask)) return true;
  }
  for (; bytes - at >= V::bytes; at += V::bytes)
    if (V::any(V::load(from + at), mask)) return true;
  if (at == bytes) return false;
  // The last vector again, from a whole element: the mask fits there too.
  if (bytes >= V::bytes) return V::any(V::load(from + bytes - V::bytes), mask);
  return any_short(from, bytes, mask);
}

template <class V>
bool any(const char* from, std::uint64_t bytes, std::uint64_t mask) {
  return any_loop<V>(from, bytes, mask);
}

template <class V>
void blocks(const char* from, std::uint64_t bytes, std::uint64_t block, std::uint64_t first_bit,
            std::uint64_t count, std::uint64_t mask, std::uint64_t* bitmap) {
  std::uint64_t done = 0;
  while (done < count) {  // a word of the bitmap each turn
    const std::uint64_t bit = first_bit + done, low = bit % 64;
    const std::uint64_t here = count - done < 64 - low ? count - done : 64 - low;
    std::uint64_t found = 0;
    for (std::uint64_t k = 0; k < here; ++k) {
      const std::uint64_t at = (done + k) * block;
      const std::uint64_t length = bytes - at < block ? bytes - at : block;
      found |= std::uint64_t(any_loop<V>(from + at, length, mask)) << k;
    }
    const std::uint64_t ones = here == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << here) - 1;
    bitmap[bit / 64] = (bitmap[bit / 64] & ~(ones << low)) | found << low;
    done += here;
  }
}

template <class V>
constexpr NonZero non_zero(const char* name) {
  return NonZero{name, any<V>, blocks<V>};
}

}  // namespace
}  // namespace ringtrue::engine::kernels
