#include "engine/kernels/reduce.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

#include "engine/kernels/cpu.h"
#include "engine/kernels/reduce_kernels.h"

namespace ringtrue::engine {
namespace kernels {

#if defined(__x86_64__)
const Kernels* avx2() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
  return f16c && __builtin_cpu_supports("avx2") ? compiled_avx2() : nullptr;
}

const Kernels* avx512() {
  return has_avx512() ? compiled_avx512() : nullptr;
}
#else
const Kernels* avx2() {
  return nullptr;
}
const Kernels* avx512() {
  return nullptr;
}
#endif

const Kernels& best() {
  static const Kernels& chosen = []() -> const Kernels& {
    if (const Kernels* wide = avx512()) return *wide;
    if (const Kernels* middle = avx2()) return *middle;
    return portable();
  }();
  return chosen;
}

}  // namespace kernels

using collective::Operation;
using collective::Type;

namespace {

// Sources are pulled through the cache in blocks of this size by copy_stream_many.
constexpr std::uint64_t block_bytes = 16 * 1024;

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

void reduce_many(Type type, Operation operation, void* into, const void* with, const void* const* incoming,
                 int count, std::uint64_t elements) {
  assert(count >= 0 && count <= reduce_many_limit);
  if (elements == 0) return;
  if (count == 0) {
    if (into != with) std::memcpy(into, with, elements * size_of(type));
    return;
  }
  const int row = int(type);
  const int column = operation == Operation::avg ? int(Operation::sum) : int(operation);
  kernels::best().many[row][column](into, with, incoming, count, elements);
}

void reduce_many(Type type, Operation operation, void* into, const void* const* incoming, int count,
                 std::uint64_t elements) {
  reduce_many(type, operation, into, into, incoming, count, elements);
}

void reduce(Type type, Operation operation, void* into, const void* with, const void* incoming,
            std::uint64_t elements) {
  reduce_many(type, operation, into, with, &incoming, 1, elements);
}

void finish(Type type, Operation operation, void* data, std::uint64_t elements, int ranks) {
  assert(ranks >= 1);
  if (operation != Operation::avg || elements == 0) return;
  kernels::best().divide[int(type)](data, elements, ranks);
}

void copy(void* into, const void* from, std::uint64_t bytes) {
  if (bytes) std::memcpy(into, from, bytes);
}

void copy_stream(void* into, const void* from, std::uint64_t bytes) {
  kernels::best().stream(into, from, bytes);
  fence();
}

void copy_stream_many(void* const* into, int count, const void* from, std::uint64_t bytes) {
  const kernels::Stream stream = kernels::best().stream;
  for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
    const std::uint64_t length = std::min(block_bytes, bytes - at);
    for (int i = 0; i < count; ++i) {
      stream(static_cast<char*>(into[i]) + at, static_cast<const char*>(from) + at, length);
    }
  }
  fence();
}

}  // namespace ringtrue::engine
