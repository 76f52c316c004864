// The table of kernels that each instruction set fills; internal to reduce*.cc, their test and their
// benchmark.
#pragma once

#include <cstdint>

namespace ringtrue::engine::kernels {

// into = with op incoming[0] op ...
using Many = void (*)(void* into, const void* with, const void* const* incoming, int count,
                      std::uint64_t elements);
using Divide = void (*)(void* data, std::uint64_t elements, int ranks);
using Stream = void (*)(void* into, const void* from, std::uint64_t bytes);  // not fenced

struct Kernels {
  const char* name;
  Many many[6][4];   // [collective::Type][sum, prod, min, max]
  Divide divide[6];  // [collective::Type]
  Stream stream;
};

const Kernels& portable();
const Kernels* avx2();    // with F16C; null where the build or this machine has none
const Kernels* avx512();  // F, BW, DQ, VL; null likewise
const Kernels& best();

// Tables of the instruction-set files, whatever the machine can do.
const Kernels* compiled_avx2();
const Kernels* compiled_avx512();

// Integers, the same on every instruction set.
void divide_int32(void* data, std::uint64_t elements, int ranks);
void divide_int64(void* data, std::uint64_t elements, int ranks);

}  // namespace ringtrue::engine::kernels
