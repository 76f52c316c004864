// The scan for AVX-512; the build compiles this file with -mavx512f -mavx512bw -mavx512dq -mavx512vl on
// x86-64.
#include "engine/kernels/nonzero_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // inside GCC 12's own intrinsics (PR 105593)
#endif
#include <immintrin.h>

#include "engine/kernels/nonzero_loop.h"

namespace ringtrue::engine::kernels {
namespace {

struct V512 {
  using Reg = __m512i;
  static constexpr std::uint64_t bytes = 64;
  static Reg load(const char* from) { return _mm512_loadu_si512(from); }
  static Reg both(Reg a, Reg b) { return _mm512_or_si512(a, b); }
  static bool any(Reg a, std::uint64_t mask) {
    return _mm512_test_epi64_mask(a, _mm512_set1_epi64(static_cast<long long>(mask))) != 0;
  }
};

}  // namespace

const NonZero* compiled_non_zero_avx512() {
  static constexpr NonZero kernel = non_zero<V512>("avx512");
  return &kernel;
}

}  // namespace ringtrue::engine::kernels
#else
namespace ringtrue::engine::kernels {
const NonZero* compiled_non_zero_avx512() {
  return nullptr;
}
}  // namespace ringtrue::engine::kernels
#endif
