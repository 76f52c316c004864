// The scan for AVX2; the build compiles this file with -mavx2 on x86-64.
#include "engine/kernels/nonzero_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include "engine/kernels/nonzero_loop.h"

namespace ringtrue::engine::kernels {
namespace {

struct V256 {
  using Reg = __m256i;
  static constexpr std::uint64_t bytes = 32;
  static Reg load(const char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Reg both(Reg a, Reg b) { return _mm256_or_si256(a, b); }
  static bool any(Reg a, std::uint64_t mask) {
    return !_mm256_testz_si256(a, _mm256_set1_epi64x(static_cast<long long>(mask)));
  }
};

}  // namespace

const NonZero* compiled_non_zero_avx2() {
  static constexpr NonZero kernel = non_zero<V256>("avx2");
  return &kernel;
}

}  // namespace ringtrue::engine::kernels
#else
namespace ringtrue::engine::kernels {
const NonZero* compiled_non_zero_avx2() {
  return nullptr;
}
}  // namespace ringtrue::engine::kernels
#endif
