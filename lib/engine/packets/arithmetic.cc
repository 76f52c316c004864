#include "engine/packets/arithmetic.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "engine/kernels/reduce.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Type;

namespace {

// Bits, by type, of what changes no sum, product, minimum, maximum.
constexpr std::uint64_t neutral_bits[][4] = {
    {0x8000'0000, 0x3f80'0000, 0x7f80'0000, 0xff80'0000},  // float32: -0, 1, infinity, -infinity
    {0x8000'0000'0000'0000, 0x3ff0'0000'0000'0000, 0x7ff0'0000'0000'0000, 0xfff0'0000'0000'0000},
    {0x8000, 0x3c00, 0x7c00, 0xfc00},  // float16
    {0x8000, 0x3f80, 0x7f80, 0xff80},  // bfloat16
    {0, 1, 0x7fff'ffff, 0x8000'0000},  // int32
    {0, 1, 0x7fff'ffff'ffff'ffff, 0x8000'0000'0000'0000},
};

}  // namespace

void fill_neutral(Type type, Operation operation, void* into, std::uint64_t elements) {
  const std::uint64_t size = size_of(type);
  const std::uint64_t bits =
      neutral_bits[int(type)][operation == Operation::avg ? int(Operation::sum) : int(operation)];
  std::uint64_t block[64];
  std::fill_n(block, std::size(block),
              bits * (size == 2   ? 0x1'0001'0001'0001
                      : size == 4 ? 0x1'0000'0001
                                  : 1));
  auto* at = static_cast<std::byte*>(into);
  std::uint64_t left = elements * size;
  for (; left >= sizeof block; left -= sizeof block, at += sizeof block) std::memcpy(at, block, sizeof block);
  std::memcpy(at, block, left);
}

void conclude(Type type, Operation operation, void* data, std::uint64_t elements, collective::Rank workers,
              collective::Rank missing) {
  const bool zero_matters =
      operation == Operation::min || operation == Operation::max || operation == Operation::prod;
  if (missing > 0 && zero_matters) {
    static const std::byte zeros[16 * 1024]{};
    const std::uint64_t unit = size_of(type), max_elements = sizeof zeros / unit;
    auto* at = static_cast<std::byte*>(data);
    for (std::uint64_t left = elements; left > 0;) {
      const std::uint64_t now = std::min(left, max_elements);
      reduce(type, operation, at, at, zeros, now);
      at += now * unit;
      left -= now;
    }
  }
  finish(type, operation, data, elements, workers);
}

}  // namespace ringtrue::engine
