// Which blocks of an array hold a value that is not zero, found at the speed of memory.
//
// Zero means zero in value: 0, and of the floats -0.0 too. NaN, infinities and denormals are not zero.
// The instruction set is chosen once, at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/packets.h"
#include "collective/types.h"

namespace ringtrue::engine {

// Sets or clears bits [first_block, first_block + count) of `bitmap` - bit k % 64 of word k / 64 for block k,
// the other bits stay - for blocks of `block` >= 1 elements, the last one shorter. Any alignment of `data`.
// Reading a block ends with the first value that is not zero.
void find_non_zero(collective::Type type, const std::byte* data, std::uint64_t elements, std::uint32_t block,
                   std::uint64_t first_block, std::uint64_t count, std::uint64_t* bitmap);

// Whether any of `elements` values is not zero.
bool any_non_zero(collective::Type type, const std::byte* data, std::uint64_t elements);

// Appends those of elements [begin, end) of `data` that are not zero.
void find_values(collective::Type type, const std::byte* data, std::uint64_t begin, std::uint64_t end,
                 std::vector<std::uint64_t>& elements);

// Looks at about 256 KiB of the data at a time. One thread.
class NonZeroScanner final : public collective::NonZeroBlocks {
 public:
  // Begins anew. The data must stay where it is and as it is from the first block that is not known on.
  void start(collective::Type type, const std::byte* data, std::uint64_t elements, std::uint32_t block);

  std::uint64_t blocks() const override { return blocks_; }
  std::uint64_t known() const override { return known_; }
  bool operator[](std::uint64_t block) const override { return bitmap_[block / 64] >> (block % 64) & 1; }
  void look_further() override;
  void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const override;

 private:
  collective::Type type_ = collective::Type::float32;
  const std::byte* data_ = nullptr;
  std::uint64_t elements_ = 0, blocks_ = 0, known_ = 0;
  std::uint64_t looked_at_ = 0;  // elements of the first unknown block that were zero so far
  std::uint32_t block_ = 1;
  std::vector<std::uint64_t> bitmap_;
};

}  // namespace ringtrue::engine
