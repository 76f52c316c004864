// The kernels of one instruction set, as simd.cc compiles them for each; internal to this folder, its tests
// and its benchmarks.
#pragma once

#include <cstdint>
#include <vector>

namespace ringtrue::engine::kernels {

// into = with op incoming[0] op ...
using Many = void (*)(void* into, const void* with, const void* const* incoming, int count,
                      std::uint64_t elements);
using Divide = void (*)(void* data, std::uint64_t elements, int ranks);
using Stream = void (*)(void* into, const void* from, std::uint64_t bytes);  // not fenced

struct Kernels {
  const char* name;
  Many many[6][4];   // [collective::Type][sum, prod, min, max]
  Divide divide[4];  // [collective::Type], floats
  Stream stream;
  // Whether any byte under the mask, which repeats every 8 bytes and by every element, is not zero. `bytes`
  // is a whole number of elements.
  bool (*any_non_zero)(const char* from, std::uint64_t bytes, std::uint64_t mask);
  // For `count` blocks of `block` bytes one after the other, the last one as long as is left of `bytes`:
  // bit `first_bit` and the following ones of `bitmap`.
  void (*find_non_zero)(const char* from, std::uint64_t bytes, std::uint64_t block, std::uint64_t first_bit,
                        std::uint64_t count, std::uint64_t mask, std::uint64_t* bitmap);
};

// Of the best instruction set that this processor has.
const Kernels& best();

// For tests: all that this processor has, the best first. Not while other threads ask for the best.
std::vector<const Kernels*> supported();

}  // namespace ringtrue::engine::kernels
