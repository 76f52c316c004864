// What of Highway is not in its headers: which of its targets this processor can run.
#include <hwy/highway.h>
#include <hwy/targets.h>

namespace hwy {

// The compiler's runtime asks the operating system, too, whether it saves the registers.
int64_t SupportedTargets() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86_64
  __builtin_cpu_init();
  const auto add = [&targets](int64_t target, bool has) { targets |= has ? target : 0; };
  const bool sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  const bool avx3_dl = avx3 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512ifma") &&
                       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                       __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
                       __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vaes") &&
                       __builtin_cpu_supports("vpclmulqdq");
  add(HWY_SSSE3, __builtin_cpu_supports("ssse3"));
  add(HWY_SSE4, sse4);
  add(HWY_AVX2, avx2);
  add(HWY_AVX3, avx3);
  add(HWY_AVX3_DL, avx3_dl);
#endif
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
