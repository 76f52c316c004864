#include "engine/kernels/reduce.h"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "engine/kernels/simd.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Type;

namespace {

void divide_int32(void* data, std::uint64_t elements, int ranks) {
  // Two 32-bit integers divide in double without error: the quotient is never rounded up to an integer.
  char* at = static_cast<char*>(data);
  for (std::uint64_t i = 0; i < elements; ++i, at += 4) {
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    value = std::int32_t(double(value) / double(ranks));
    std::memcpy(at, &value, sizeof value);
  }
}

void divide_int64(void* data, std::uint64_t elements, int ranks) {
  if (ranks == 1) return;
  // Division by a multiplication (Granlund and Montgomery, PLDI 1994) on the magnitude, which is at most
  // 2^63: with 2^(l-1) < d <= 2^l, floor(2^(63+l) / d) + 1 fits 64 bits and leaves an error below 1/d.
  __extension__ using Wide = unsigned __int128;
  const int log = 32 - __builtin_clz(unsigned(ranks) - 1);
  const int shift = 63 + log;
  const std::uint64_t factor = std::uint64_t((Wide(1) << shift) / unsigned(ranks)) + 1;
  char* at = static_cast<char*>(data);
  for (std::uint64_t i = 0; i < elements; ++i, at += 8) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    const std::uint64_t sign = -(value >> 63);
    const std::uint64_t magnitude = (value ^ sign) - sign;
    const std::uint64_t quotient = std::uint64_t(Wide(magnitude) * factor >> shift);
    value = (quotient ^ sign) - sign;
    std::memcpy(at, &value, sizeof value);
  }
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
  if (type == Type::int32) return divide_int32(data, elements, ranks);
  if (type == Type::int64) return divide_int64(data, elements, ranks);
  kernels::best().divide[int(type)](data, elements, ranks);
}

void copy_stream(void* into, const void* from, std::uint64_t bytes) {
  kernels::best().stream(into, from, bytes);
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace ringtrue::engine
