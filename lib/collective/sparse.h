// Which elements of a worker's generated data are not zero. Pure functions of a seed, the same in every
// process, so that what must come out can be worked out anywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "collective/types.h"

namespace ringtrue::collective {

// How the non-zero blocks of the workers lie to each other.
enum class Overlap : std::uint8_t { same, random, disjoint };
Result<Overlap> parse_overlap(std::string_view text);

struct Sparsity {
  double density = 1;               // share of the blocks that are not zero, on every worker: exactly
                                    // round(density x blocks) of them
  double value_density = 1;         // share of the values in them that are not zero, each drawn by itself
  Overlap overlap = Overlap::same;  // disjoint: as far as there is room, density x workers <= 1
  std::uint32_t block = 256;        // elements

  bool dense() const { return density >= 1 && value_density >= 1; }
  bool operator==(const Sparsity&) const = default;
};

class SparsePattern {
 public:
  SparsePattern(const Sparsity& sparsity, std::uint64_t elements, std::uint64_t seed);

  std::uint64_t blocks() const { return blocks_; }  // of sparsity.block elements, the last one shorter
  Overlap overlap() const { return sparsity_.overlap; }
  // Whether the block may hold anything; about 10 ns.
  bool has(Rank worker, std::uint64_t block) const;
  // Whether the element is not zero, given that its block may hold something.
  bool value(Rank worker, std::uint64_t element) const;
  // Whether any of elements [begin, end) is not zero.
  bool any(Rank worker, std::uint64_t begin, std::uint64_t end) const;

 private:
  Sparsity sparsity_;
  std::uint64_t elements_, blocks_, chosen_, seed_;
  std::uint64_t value_limit_;           // of 2^63
  std::uint32_t low_bits_, high_bits_;  // of the permutation's halves
  std::uint64_t permuted(std::uint64_t key, std::uint64_t block) const;
  std::uint64_t key_of(Rank worker) const;
};

// Shares of blocks of `block` elements: of the densest worker, and of the union of all workers. What the
// model's D and Du are.
struct Densities {
  double worker = 0, united = 0;
};
Densities densities(const SparsePattern& pattern, std::uint64_t elements, Rank workers, std::uint64_t block);

}  // namespace ringtrue::collective

namespace ringtrue {

template <>
inline constexpr const char* keys_of<collective::Overlap>[] = {"same", "random", "disjoint"};

}  // namespace ringtrue
