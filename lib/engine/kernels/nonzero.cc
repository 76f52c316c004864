#include "engine/kernels/nonzero.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "engine/kernels/simd.h"

namespace ringtrue::engine {

using collective::Type;

namespace {

constexpr std::uint64_t bytes_a_look = 256 * 1024;

// All bits of a value but the sign of a float.
std::uint64_t mask_of(Type type) {
  switch (type) {
    case Type::float16:
    case Type::bfloat16:
      return 0x7fff'7fff'7fff'7fff;
    case Type::float32:
      return 0x7fff'ffff'7fff'ffff;
    case Type::float64:
      return 0x7fff'ffff'ffff'ffff;
    default:
      return ~std::uint64_t(0);
  }
}

template <class U>
void find_values_of(const std::byte* data, U mask, std::uint64_t begin, std::uint64_t end,
                    std::vector<std::uint64_t>& elements) {
  std::size_t count = elements.size();
  elements.resize(count + (end - begin));
  for (std::uint64_t i = begin; i < end; ++i) {
    U value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    elements[count] = i;
    count += (value & mask) != 0;
  }
  elements.resize(count);
}

}  // namespace

void find_values(Type type, const std::byte* data, std::uint64_t begin, std::uint64_t end,
                 std::vector<std::uint64_t>& elements) {
  const std::uint64_t mask = mask_of(type);
  switch (size_of(type)) {
    case 2:
      return find_values_of(data, std::uint16_t(mask), begin, end, elements);
    case 4:
      return find_values_of(data, std::uint32_t(mask), begin, end, elements);
    default:
      return find_values_of(data, mask, begin, end, elements);
  }
}

void find_non_zero(Type type, const std::byte* data, std::uint64_t elements, std::uint32_t block,
                   std::uint64_t first_block, std::uint64_t count, std::uint64_t* bitmap) {
  assert(block >= 1);
  if (count == 0) return;
  const std::uint64_t size = size_of(type), start = first_block * block;
  assert(start + (count - 1) * block < elements);
  kernels::best().find_non_zero(reinterpret_cast<const char*>(data) + start * size, (elements - start) * size,
                                block * size, first_block, count, mask_of(type), bitmap);
}

bool any_non_zero(Type type, const std::byte* data, std::uint64_t elements) {
  if (elements == 0) return false;
  return kernels::best().any_non_zero(reinterpret_cast<const char*>(data), elements * size_of(type),
                                      mask_of(type));
}

void NonZeroScanner::start(Type type, const std::byte* data, std::uint64_t elements, std::uint32_t block) {
  assert(block >= 1);
  type_ = type;
  data_ = data;
  elements_ = elements;
  block_ = block;
  blocks_ = elements / block + (elements % block != 0);
  known_ = looked_at_ = 0;
  bitmap_.resize((blocks_ + 63) / 64);
}

void NonZeroScanner::values(std::uint64_t block, std::vector<std::uint64_t>& elements) const {
  find_values(type_, data_, block * block_, std::min((block + 1) * block_, elements_), elements);
}

void NonZeroScanner::look_further() {
  if (known_ == blocks_) return;
  const std::uint64_t max_elements = bytes_a_look / size_of(type_);
  if (block_ <= max_elements) {
    const std::uint64_t count = std::min(blocks_ - known_, max_elements / block_);
    find_non_zero(type_, data_, elements_, block_, known_, count, bitmap_.data());
    known_ += count;
    return;
  }
  // A block that is too long for one look.
  const std::uint64_t start = known_ * block_, length = std::min<std::uint64_t>(block_, elements_ - start);
  const std::uint64_t piece = std::min(max_elements, length - looked_at_);
  const bool found = any_non_zero(type_, data_ + (start + looked_at_) * size_of(type_), piece);
  looked_at_ += piece;
  if (!found && looked_at_ < length) return;
  const std::uint64_t bit = std::uint64_t(1) << (known_ % 64);
  std::uint64_t& word = bitmap_[known_ / 64];
  word = found ? word | bit : word & ~bit;
  ++known_;
  looked_at_ = 0;
}

}  // namespace ringtrue::engine
