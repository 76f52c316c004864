// Which of the kernels that were compiled this processor can run.
#pragma once

namespace ringtrue::engine {

#if defined(__x86_64__)
// What the files for AVX-512 are compiled with.
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace ringtrue::engine
