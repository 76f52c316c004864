// The scan for values that are not zero, for each instruction set; internal to nonzero*.cc, their test and
// their benchmark.
#pragma once

#include <cstdint>

namespace ringtrue::engine::kernels {

struct NonZero {
  const char* name;
  // Whether any byte under the mask, which repeats every 8 bytes and by every element, is not zero. `bytes`
  // is a whole number of elements.
  bool (*any)(const char* from, std::uint64_t bytes, std::uint64_t mask);
  // For `count` blocks of `block` bytes one after the other, the last one as long as is left of `bytes`:
  // bit `first_bit` and the following ones of `bitmap`.
  void (*blocks)(const char* from, std::uint64_t bytes, std::uint64_t block, std::uint64_t first_bit,
                 std::uint64_t count, std::uint64_t mask, std::uint64_t* bitmap);
};

const NonZero& non_zero_portable();
const NonZero* non_zero_avx2();    // null where the build or this machine has none
const NonZero* non_zero_avx512();  // F, BW, DQ, VL; null likewise
const NonZero& non_zero_best();

// Of the instruction-set files, whatever the machine can do.
const NonZero* compiled_non_zero_avx2();
const NonZero* compiled_non_zero_avx512();

}  // namespace ringtrue::engine::kernels
