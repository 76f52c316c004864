// The loops over memory, written once over a Pack: the vector of one type on one instruction set. Included by
// the reduce_*.cc files only.
//
// Everything is in an unnamed namespace, and nothing of the standard library's inline code is used: each of
// those files is compiled for an instruction set of its own, and the linker must not share code among them.
//
// A Pack has: Acc (register), bytes (of memory per register), load, store, splat(int), sum, prod, min, max,
// divide (floats).
#pragma once

#include <cstdint>

#include "engine/kernels/reduce_kernels.h"

namespace ringtrue::engine::kernels {
namespace {

struct Sum {
  template <class P>
  [[gnu::always_inline]] static typename P::Acc apply(typename P::Acc a, typename P::Acc b) {
    return P::sum(a, b);
  }
};
struct Prod {
  template <class P>
  [[gnu::always_inline]] static typename P::Acc apply(typename P::Acc a, typename P::Acc b) {
    return P::prod(a, b);
  }
};
struct Min {
  template <class P>
  [[gnu::always_inline]] static typename P::Acc apply(typename P::Acc a, typename P::Acc b) {
    return P::min(a, b);
  }
};
struct Max {
  template <class P>
  [[gnu::always_inline]] static typename P::Acc apply(typename P::Acc a, typename P::Acc b) {
    return P::max(a, b);
  }
};

// The 16-bit types compute more per byte and leave the processor fewer reads in flight: asked ahead, 8
// sources of them come a third faster from memory. The wider types gain nothing and lose in cache. A prefetch
// may lie past the end.
template <class P>
[[gnu::always_inline]] inline void prefetch(const char* from) {
  constexpr int distance = 1024;
  if constexpr (P::element == 2) __builtin_prefetch(from + distance);
}

// `Registers` packs from each source per turn: long enough a run from each that the prefetchers see streams,
// few enough that the accumulators stay in registers.
template <class P, class Op, int Registers>
[[gnu::always_inline]] inline void turn(char* into, const char* with, const void* const* incoming, int count,
                                        std::uint64_t at) {
  typename P::Acc sum[Registers];
#pragma GCC unroll 16
  for (int i = 0; i < Registers; ++i) {
    if (i * P::bytes % 64 == 0) prefetch<P>(with + at + i * P::bytes);
    sum[i] = P::load(with + at + i * P::bytes);
  }
  for (int source = 0; source < count; ++source) {
    const char* from = static_cast<const char*>(incoming[source]) + at;
#pragma GCC unroll 16
    for (int i = 0; i < Registers; ++i) {
      if (i * P::bytes % 64 == 0) prefetch<P>(from + i * P::bytes);
      const typename P::Acc value = P::load(from + i * P::bytes);
      sum[i] = Op::template apply<P>(sum[i], value);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Registers; ++i) P::store(into + at + i * P::bytes, sum[i]);
}

template <class P, class Op>
void many(void* into_, const void* with_, const void* const* incoming, int count, std::uint64_t elements) {
  char* into = static_cast<char*>(into_);
  const char* with = static_cast<const char*>(with_);
  const std::uint64_t bytes = elements * P::element;
  std::uint64_t at = 0;
  constexpr std::uint64_t step = P::registers * P::bytes;
  if (count == 1) {
    for (; bytes - at >= step; at += step) turn<P, Op, P::registers>(into, with, incoming, 1, at);
  } else {
    for (; bytes - at >= step; at += step) turn<P, Op, P::registers>(into, with, incoming, count, at);
  }
  for (; bytes - at >= P::bytes; at += P::bytes) turn<P, Op, 1>(into, with, incoming, count, at);
  if (const std::uint64_t rest = bytes - at) {  // less than a pack: through a buffer as long as one
    alignas(64) char buffer[P::bytes] = {};
    __builtin_memcpy(buffer, with + at, rest);
    typename P::Acc sum = P::load(buffer);
    for (int source = 0; source < count; ++source) {
      __builtin_memcpy(buffer, static_cast<const char*>(incoming[source]) + at, rest);
      const typename P::Acc value = P::load(buffer);
      sum = Op::template apply<P>(sum, value);
    }
    P::store(buffer, sum);
    __builtin_memcpy(into + at, buffer, rest);
  }
}

template <class P>
void divide(void* data_, std::uint64_t elements, int ranks) {
  char* data = static_cast<char*>(data_);
  const std::uint64_t bytes = elements * P::element;
  const typename P::Acc divisor = P::splat(ranks);
  std::uint64_t at = 0;
  for (; bytes - at >= P::bytes; at += P::bytes) P::store(data + at, P::divide(P::load(data + at), divisor));
  if (const std::uint64_t rest = bytes - at) {
    alignas(64) char buffer[P::bytes] = {};
    __builtin_memcpy(buffer, data + at, rest);
    P::store(buffer, P::divide(P::load(buffer), divisor));
    __builtin_memcpy(data + at, buffer, rest);
  }
}

template <class F32, class F64, class F16, class BF16, class I32, class I64>
constexpr Kernels table(const char* name, Stream stream) {
  return Kernels{name,
                 {{many<F32, Sum>, many<F32, Prod>, many<F32, Min>, many<F32, Max>},
                  {many<F64, Sum>, many<F64, Prod>, many<F64, Min>, many<F64, Max>},
                  {many<F16, Sum>, many<F16, Prod>, many<F16, Min>, many<F16, Max>},
                  {many<BF16, Sum>, many<BF16, Prod>, many<BF16, Min>, many<BF16, Max>},
                  {many<I32, Sum>, many<I32, Prod>, many<I32, Min>, many<I32, Max>},
                  {many<I64, Sum>, many<I64, Prod>, many<I64, Min>, many<I64, Max>}},
                 {divide<F32>, divide<F64>, divide<F16>, divide<BF16>, divide_int32, divide_int64},
                 stream};
}

}  // namespace
}  // namespace ringtrue::engine::kernels
