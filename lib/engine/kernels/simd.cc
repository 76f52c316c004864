// The loops over memory, written once and compiled for each instruction set, by Highway's foreach_target.
//
// Nothing of the standard library's inline code is used between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE:
// the linker must not share code among instruction sets.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/simd.cc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // inside GCC 12's own intrinsics (PR 105593)
#endif
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "engine/kernels/half.h"
#include "engine/kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace ringtrue::engine::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A Pack is the vector of one type: Acc (register), bytes (of memory per register), load, store, divide
// (floats), and what the operations below ask of Acc.
template <class T>
struct Pack {
  using D = hn::ScalableTag<T>;
  using Acc = hn::Vec<D>;
  static constexpr std::uint64_t element = sizeof(T), bytes = hn::MaxLanes(D()) * element;

  static Acc load(const char* from) { return hn::LoadU(D(), reinterpret_cast<const T*>(from)); }
  static void store(char* to, Acc a) { hn::StoreU(a, D(), reinterpret_cast<T*>(to)); }
};

// The 16-bit types, widened to float32. Loops where Highway's own conversion does not round as half.h does.
struct Half {
  using D = hn::ScalableTag<float>;
  using Acc = hn::Vec<D>;
  static constexpr std::uint64_t element = 2, bytes = hn::MaxLanes(D()) * element;
};

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
struct Float16 : Half {
  static Acc load(const char* from) {
    std::uint16_t half[bytes / 2];
    float wide[bytes / 2];
    __builtin_memcpy(half, from, bytes);
    for (std::uint64_t i = 0; i < bytes / 2; ++i) wide[i] = float16_to_float(half[i]);
    return hn::LoadU(D(), wide);
  }
  static void store(char* to, Acc a) {
    std::uint16_t half[bytes / 2];
    float wide[bytes / 2];
    hn::StoreU(a, D(), wide);
    for (std::uint64_t i = 0; i < bytes / 2; ++i) half[i] = float_to_float16(wide[i]);
    __builtin_memcpy(to, half, bytes);
  }
};
#else
struct Float16 : Half {
  using Narrow = hn::Rebind<hwy::float16_t, D>;
  static Acc load(const char* from) {
    return hn::PromoteTo(D(), hn::LoadU(Narrow(), reinterpret_cast<const hwy::float16_t*>(from)));
  }
  static void store(char* to, Acc a) {
    hn::StoreU(hn::DemoteTo(Narrow(), a), Narrow(), reinterpret_cast<hwy::float16_t*>(to));
  }
};
#endif

struct Bfloat16 : Half {
  using Bits = hn::RebindToUnsigned<D>;
  using Narrow = hn::Rebind<std::uint16_t, D>;
  static Acc load(const char* from) {
    const auto bits = hn::LoadU(Narrow(), reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(Bits(), bits)));
  }
  static void store(char* to, Acc a) {
    const auto bits = hn::BitCast(Bits(), a), top = hn::ShiftRight<16>(bits);
    const auto half = hn::Add(hn::And(top, hn::Set(Bits(), 1)), hn::Set(Bits(), 0x7fff));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, half));
    const auto quiet = hn::Or(top, hn::Set(Bits(), 0x40));
    const auto result = hn::IfThenElse(hn::RebindMask(Bits(), hn::IsNaN(a)), quiet, rounded);
    hn::StoreU(hn::TruncateTo(Narrow(), result), Narrow(), reinterpret_cast<std::uint16_t*>(to));
  }
};

struct Sum {
  template <class V>
  static V apply(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Prod {
  template <class V>
  static V apply(V a, V b) {
    return hn::Mul(a, b);
  }
};

// The second of two floats where they are equal or one is a NaN, as x86's own instructions have it; elsewhere
// Highway may prefer the number.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
template <class V>
HWY_INLINE V lesser(V a, V b) {
  return hn::Min(a, b);
}
template <class V>
HWY_INLINE V greater(V a, V b) {
  return hn::Max(a, b);
}
#else
template <class V>
HWY_INLINE V lesser(V a, V b) {
  return hn::IfThenElse(hn::Lt(a, b), a, b);
}
template <class V>
HWY_INLINE V greater(V a, V b) {
  return hn::IfThenElse(hn::Gt(a, b), a, b);
}
#endif

// Asked both ways round, two results differ where there is a NaN, and the sum is one there.
struct Min {
  template <class V>
  static V apply(V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromV<V>>()) return hn::Min(a, b);
    const V one = lesser(a, b), other = lesser(b, a);
    return hn::IfThenElse(hn::Eq(one, other), hn::Or(one, other), hn::Add(a, b));  // of zeros the -0
  }
};
struct Max {
  template <class V>
  static V apply(V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromV<V>>()) return hn::Max(a, b);
    const V one = greater(a, b), other = greater(b, a);
    return hn::IfThenElse(hn::Eq(one, other), hn::And(one, other), hn::Add(a, b));  // of zeros the +0
  }
};

#if HWY_TARGET == HWY_AVX3
// vrangeps, which orders zeros by sign as wanted but prefers a number to a NaN: a quarter faster in cache for
// the 16-bit types.
template <int which>
HWY_INLINE Half::Acc range(Half::Acc a, Half::Acc b) {
  const __mmask16 nan = _mm512_cmp_ps_mask(a.raw, b.raw, _CMP_UNORD_Q);
  return Half::Acc{_mm512_mask_add_ps(_mm512_range_ps(a.raw, b.raw, which), nan, a.raw, b.raw)};
}
template <>
Half::Acc Min::apply(Half::Acc a, Half::Acc b) {
  return range<0b0100>(a, b);
}
template <>
Half::Acc Max::apply(Half::Acc a, Half::Acc b) {
  return range<0b0101>(a, b);
}
#endif

// The 16-bit types compute more per byte and leave the processor fewer reads in flight: asked ahead, 8
// sources of them come a third faster from memory. The wider types gain nothing and lose in cache. A prefetch
// may lie past the end.
template <class P>
HWY_INLINE void prefetch(const char* from) {
  constexpr int distance = 1024;
  if constexpr (P::element == 2) __builtin_prefetch(from + distance);
}

// `Registers` packs from each source per turn: long enough a run from each that the prefetchers see streams,
// few enough that the accumulators stay in registers.
template <class P, class Op, int Registers>
HWY_INLINE void turn(char* into, const char* with, const void* const* incoming, int count, std::uint64_t at) {
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
      sum[i] = Op::apply(sum[i], P::load(from + i * P::bytes));
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Registers; ++i) P::store(into + at + i * P::bytes, sum[i]);
}

template <class P, class Op>
void many(void* into_, const void* with_, const void* const* incoming, int count, std::uint64_t elements) {
  constexpr int registers = 8;
  constexpr std::uint64_t step = registers * P::bytes;
  char* into = static_cast<char*>(into_);
  const char* with = static_cast<const char*>(with_);
  const std::uint64_t bytes = elements * P::element;
  std::uint64_t at = 0;
  if (count == 1) {
    for (; bytes - at >= step; at += step) turn<P, Op, registers>(into, with, incoming, 1, at);
  } else {
    for (; bytes - at >= step; at += step) turn<P, Op, registers>(into, with, incoming, count, at);
  }
  for (; bytes - at >= P::bytes; at += P::bytes) turn<P, Op, 1>(into, with, incoming, count, at);
  if (const std::uint64_t rest = bytes - at) {  // less than a pack: through a buffer as long as one
    alignas(64) char buffer[P::bytes] = {};
    __builtin_memcpy(buffer, with + at, rest);
    typename P::Acc sum = P::load(buffer);
    for (int source = 0; source < count; ++source) {
      __builtin_memcpy(buffer, static_cast<const char*>(incoming[source]) + at, rest);
      sum = Op::apply(sum, P::load(buffer));
    }
    P::store(buffer, sum);
    __builtin_memcpy(into + at, buffer, rest);
  }
}

template <class P>
void divide(void* data_, std::uint64_t elements, int ranks) {
  char* data = static_cast<char*>(data_);
  const std::uint64_t bytes = elements * P::element;
  const typename P::D d;
  const auto divisor = hn::Set(d, static_cast<hn::TFromD<typename P::D>>(ranks));
  std::uint64_t at = 0;
  for (; bytes - at >= P::bytes; at += P::bytes) P::store(data + at, hn::Div(P::load(data + at), divisor));
  if (const std::uint64_t rest = bytes - at) {
    alignas(64) char buffer[P::bytes] = {};
    __builtin_memcpy(buffer, data + at, rest);
    P::store(buffer, hn::Div(P::load(buffer), divisor));
    __builtin_memcpy(data + at, buffer, rest);
  }
}

void stream(void* into_, const void* from_, std::uint64_t bytes) {
  using P = Pack<std::uint64_t>;
  char* into = static_cast<char*>(into_);
  const char* from = static_cast<const char*>(from_);
  const std::uint64_t head = -reinterpret_cast<std::uintptr_t>(into) & 63;
  if (bytes < head + 64) {
    if (bytes) __builtin_memcpy(into, from, bytes);
    return;
  }
  __builtin_memcpy(into, from, head);
  std::uint64_t at = head;
  for (; bytes - at >= 64; at += 64) {
#pragma GCC unroll 4
    for (std::uint64_t i = at; i < at + 64; i += P::bytes)
      hn::Stream(P::load(from + i), P::D(), reinterpret_cast<std::uint64_t*>(into + i));
  }
  __builtin_memcpy(into + at, from + at, bytes - at);
}

HWY_INLINE std::uint64_t word(const char* from, std::uint64_t bytes) {
  std::uint64_t value = 0;
  __builtin_memcpy(&value, from, bytes);
  return value;
}

// Less than a vector.
HWY_NOINLINE bool any_short(const char* from, std::uint64_t bytes, std::uint64_t mask) {
  std::uint64_t all = 0;
  std::uint64_t at = 0;
  for (; bytes - at >= 8; at += 8) all |= word(from + at, 8);
  if (bytes > at) all |= word(from + at, bytes - at);
  return (all & mask) != 0;
}

// The processor's own prefetching stops at a page's end; asked this far ahead, lines come without a pause.
constexpr std::uint64_t ahead = 4096;

// In one instruction where there is one: blocks are short.
HWY_INLINE bool any(Pack<std::uint64_t>::Acc v, Pack<std::uint64_t>::Acc mask) {
#if HWY_TARGET == HWY_AVX3
  return _mm512_test_epi64_mask(v.raw, mask.raw) != 0;
#elif HWY_TARGET == HWY_AVX2
  return !_mm256_testz_si256(v.raw, mask.raw);
#else
  const Pack<std::uint64_t>::D d;
  return !hn::AllTrue(d, hn::Eq(hn::And(v, mask), hn::Zero(d)));
#endif
}

HWY_INLINE bool any_loop(const char* from, std::uint64_t bytes, std::uint64_t mask_) {
  using P = Pack<std::uint64_t>;
  constexpr std::int64_t vector = P::bytes, registers = 4, step = registers * vector;
  const auto mask = hn::Set(P::D(), mask_);
  const char* const end = from + bytes;
  for (; end - from >= step; from += step) {
#pragma GCC unroll 8
    for (std::int64_t line = 0; line < step; line += 64) __builtin_prefetch(from + line + ahead);
    P::Acc all = P::load(from);
#pragma GCC unroll 8
    for (std::int64_t i = 1; i < registers; ++i) all = hn::Or(all, P::load(from + i * vector));
    if (any(all, mask)) return true;
  }
  for (; end - from >= vector; from += vector)
    if (any(P::load(from), mask)) return true;
  if (from == end) return false;
  // The last vector again, from a whole element: the mask fits there too.
  if (bytes >= P::bytes) return any(P::load(end - vector), mask);
  return any_short(from, bytes, mask_);
}

bool any_non_zero(const char* from, std::uint64_t bytes, std::uint64_t mask) {
  return any_loop(from, bytes, mask);
}

void find_non_zero(const char* from, std::uint64_t bytes, std::uint64_t block, std::uint64_t first_bit,
                   std::uint64_t count, std::uint64_t mask, std::uint64_t* bitmap) {
  std::uint64_t done = 0;
  while (done < count) {  // a word of the bitmap each turn
    const std::uint64_t bit = first_bit + done, low = bit % 64;
    const std::uint64_t here = count - done < 64 - low ? count - done : 64 - low;
    std::uint64_t found = 0;
    for (std::uint64_t k = 0; k < here; ++k) {
      const std::uint64_t at = (done + k) * block;
      const std::uint64_t length = bytes - at < block ? bytes - at : block;
      found |= std::uint64_t(any_loop(from + at, length, mask)) << k;
    }
    const std::uint64_t ones = here == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << here) - 1;
    bitmap[bit / 64] = (bitmap[bit / 64] & ~(ones << low)) | found << low;
    done += here;
  }
}

using Float32 = Pack<float>;
using Float64 = Pack<double>;
using Int32 = Pack<std::int32_t>;
using Int64 = Pack<std::int64_t>;

}  // namespace

const Kernels* table() {
  static const Kernels kernels{
      hwy::TargetName(HWY_TARGET),
      {{many<Float32, Sum>, many<Float32, Prod>, many<Float32, Min>, many<Float32, Max>},
       {many<Float64, Sum>, many<Float64, Prod>, many<Float64, Min>, many<Float64, Max>},
       {many<Float16, Sum>, many<Float16, Prod>, many<Float16, Min>, many<Float16, Max>},
       {many<Bfloat16, Sum>, many<Bfloat16, Prod>, many<Bfloat16, Min>, many<Bfloat16, Max>},
       {many<Int32, Sum>, many<Int32, Prod>, many<Int32, Min>, many<Int32, Max>},
       {many<Int64, Sum>, many<Int64, Prod>, many<Int64, Min>, many<Int64, Max>}},
      {divide<Float32>, divide<Float64>, divide<Float16>, divide<Bfloat16>},
      stream,
      any_non_zero,
      find_non_zero};
  return &kernels;
}

}  // namespace ringtrue::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ringtrue::engine::kernels {

HWY_EXPORT(table);

const Kernels& best() {
  static const Kernels& chosen = *HWY_DYNAMIC_DISPATCH(table)();
  return chosen;
}

std::vector<const Kernels*> supported() {
  std::vector<const Kernels*> all;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    all.push_back(HWY_DYNAMIC_DISPATCH(table)());
  }
  hwy::GetChosenTarget().DeInit();
  return all;
}

}  // namespace ringtrue::engine::kernels
#endif
