// Kernels for AVX-512; the build compiles this file with -mavx512f -mavx512bw -mavx512dq -mavx512vl on
// x86-64.
#include "engine/kernels/reduce_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // inside GCC 12's own intrinsics (PR 105593)
#endif
#include <immintrin.h>

#include "engine/kernels/reduce_loop.h"

namespace ringtrue::engine::kernels {
namespace {

struct F32 {
  using Acc = __m512;
  static constexpr std::uint64_t element = 4, bytes = 64;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm512_loadu_ps(from); }
  static void store(char* to, Acc a) { _mm512_storeu_ps(to, a); }
  static Acc splat(int value) { return _mm512_set1_ps(float(value)); }
  static Acc sum(Acc a, Acc b) { return _mm512_add_ps(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm512_mul_ps(a, b); }
  static Acc divide(Acc a, Acc b) { return _mm512_div_ps(a, b); }
  // vrangeps orders zeros by sign as wanted, but prefers a number to a NaN.
  static Acc nan_or(Acc a, Acc b, Acc r) {
    return _mm512_mask_add_ps(r, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b);
  }
  static Acc min(Acc a, Acc b) { return nan_or(a, b, _mm512_range_ps(a, b, 0b0100)); }
  static Acc max(Acc a, Acc b) { return nan_or(a, b, _mm512_range_ps(a, b, 0b0101)); }
};

struct F64 {
  using Acc = __m512d;
  static constexpr std::uint64_t element = 8, bytes = 64;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm512_loadu_pd(from); }
  static void store(char* to, Acc a) { _mm512_storeu_pd(to, a); }
  static Acc splat(int value) { return _mm512_set1_pd(double(value)); }
  static Acc sum(Acc a, Acc b) { return _mm512_add_pd(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm512_mul_pd(a, b); }
  static Acc divide(Acc a, Acc b) { return _mm512_div_pd(a, b); }
  static Acc nan_or(Acc a, Acc b, Acc r) {
    return _mm512_mask_add_pd(r, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q), a, b);
  }
  static Acc min(Acc a, Acc b) { return nan_or(a, b, _mm512_range_pd(a, b, 0b0100)); }
  static Acc max(Acc a, Acc b) { return nan_or(a, b, _mm512_range_pd(a, b, 0b0101)); }
};

struct F16 : F32 {
  static constexpr std::uint64_t element = 2, bytes = 32;
  static Acc load(const char* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(char* to, Acc a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

struct BF16 : F32 {
  static constexpr std::uint64_t element = 2, bytes = 32;
  static Acc load(const char* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  // Not vcvtneps2bf16, which takes denormals for zero.
  static void store(char* to, Acc a) {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i top = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    const __m512i result = _mm512_mask_or_epi32(rounded, nan, top, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(result));
  }
};

struct I32 {
  using Acc = __m512i;
  static constexpr std::uint64_t element = 4, bytes = 64;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm512_loadu_si512(from); }
  static void store(char* to, Acc a) { _mm512_storeu_si512(to, a); }
  static Acc sum(Acc a, Acc b) { return _mm512_add_epi32(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm512_mullo_epi32(a, b); }
  static Acc min(Acc a, Acc b) { return _mm512_min_epi32(a, b); }
  static Acc max(Acc a, Acc b) { return _mm512_max_epi32(a, b); }
};

struct I64 : I32 {
  static constexpr std::uint64_t element = 8;
  static Acc sum(Acc a, Acc b) { return _mm512_add_epi64(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm512_mullo_epi64(a, b); }
  static Acc min(Acc a, Acc b) { return _mm512_min_epi64(a, b); }
  static Acc max(Acc a, Acc b) { return _mm512_max_epi64(a, b); }
};

void stream(void* into_, const void* from_, std::uint64_t bytes) {
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
    _mm512_stream_si512(reinterpret_cast<__m512i*>(into + at), _mm512_loadu_si512(from + at));
  }
  __builtin_memcpy(into + at, from + at, bytes - at);
}

}  // namespace

const Kernels* compiled_avx512() {
  static constexpr Kernels kernels = table<F32, F64, F16, BF16, I32, I64>("avx512", stream);
  return &kernels;
}

}  // namespace ringtrue::engine::kernels
#else
namespace ringtrue::engine::kernels {
const Kernels* compiled_avx512() {
  return nullptr;
}
}  // namespace ringtrue::engine::kernels
#endif
