// Kernels for AVX2 and F16C; the build compiles this file with -mavx2 -mf16c on x86-64.
#include "engine/kernels/reduce_kernels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

#include "engine/kernels/reduce_loop.h"

namespace ringtrue::engine::kernels {
namespace {

struct F32 {
  using Acc = __m256;
  static constexpr std::uint64_t element = 4, bytes = 32;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm256_loadu_ps(reinterpret_cast<const float*>(from)); }
  static void store(char* to, Acc a) { _mm256_storeu_ps(reinterpret_cast<float*>(to), a); }
  static Acc splat(int value) { return _mm256_set1_ps(float(value)); }
  static Acc sum(Acc a, Acc b) { return _mm256_add_ps(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm256_mul_ps(a, b); }
  static Acc divide(Acc a, Acc b) { return _mm256_div_ps(a, b); }
  // The instruction gives its second operand where the two are equal or one is a NaN: asked both ways round,
  // zeros of two signs combine to the right one, and where there is a NaN the sum is one.
  static Acc nan_or(Acc a, Acc b, Acc r) {
    return _mm256_blendv_ps(r, _mm256_add_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
  }
  static Acc min(Acc a, Acc b) {
    return nan_or(a, b, _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a)));
  }
  static Acc max(Acc a, Acc b) {
    return nan_or(a, b, _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a)));
  }
};

struct F64 {
  using Acc = __m256d;
  static constexpr std::uint64_t element = 8, bytes = 32;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm256_loadu_pd(reinterpret_cast<const double*>(from)); }
  static void store(char* to, Acc a) { _mm256_storeu_pd(reinterpret_cast<double*>(to), a); }
  static Acc splat(int value) { return _mm256_set1_pd(double(value)); }
  static Acc sum(Acc a, Acc b) { return _mm256_add_pd(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm256_mul_pd(a, b); }
  static Acc divide(Acc a, Acc b) { return _mm256_div_pd(a, b); }
  static Acc nan_or(Acc a, Acc b, Acc r) {
    return _mm256_blendv_pd(r, _mm256_add_pd(a, b), _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
  }
  static Acc min(Acc a, Acc b) {
    return nan_or(a, b, _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a)));
  }
  static Acc max(Acc a, Acc b) {
    return nan_or(a, b, _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a)));
  }
};

struct F16 : F32 {
  static constexpr std::uint64_t element = 2, bytes = 16;
  static Acc load(const char* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(char* to, Acc a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

struct BF16 : F32 {
  static constexpr std::uint64_t element = 2, bytes = 16;
  static Acc load(const char* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static void store(char* to, Acc a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i top = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    const __m256i result = _mm256_blendv_epi8(rounded, quiet, nan);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1)));
  }
};

struct I32 {
  using Acc = __m256i;
  static constexpr std::uint64_t element = 4, bytes = 32;
  static constexpr int registers = 8;

  static Acc load(const char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store(char* to, Acc a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a); }
  static Acc sum(Acc a, Acc b) { return _mm256_add_epi32(a, b); }
  static Acc prod(Acc a, Acc b) { return _mm256_mullo_epi32(a, b); }
  static Acc min(Acc a, Acc b) { return _mm256_min_epi32(a, b); }
  static Acc max(Acc a, Acc b) { return _mm256_max_epi32(a, b); }
};

struct I64 : I32 {
  static constexpr std::uint64_t element = 8;
  static Acc sum(Acc a, Acc b) { return _mm256_add_epi64(a, b); }
  static Acc prod(Acc a, Acc b) {  // low * low + ((low * high + high * low) << 32)
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)),
                                           _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
  }
  static Acc min(Acc a, Acc b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
  static Acc max(Acc a, Acc b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }
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
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(into + at), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(into + at + 32), high);
  }
  __builtin_memcpy(into + at, from + at, bytes - at);
}

}  // namespace

const Kernels* compiled_avx2() {
  static constexpr Kernels kernels = table<F32, F64, F16, BF16, I32, I64>("avx2", stream);
  return &kernels;
}

}  // namespace ringtrue::engine::kernels
#else
namespace ringtrue::engine::kernels {
const Kernels* compiled_avx2() {
  return nullptr;
}
}  // namespace ringtrue::engine::kernels
#endif
