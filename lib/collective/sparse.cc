#include "collective/sparse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/splitmix64.h"

namespace ringtrue::collective {

namespace {

constexpr std::uint64_t low_bits(std::uint32_t bits) {
  return (std::uint64_t(1) << bits) - 1;
}

}  // namespace

Result<Overlap> parse_overlap(std::string_view text) {
  return parse_one_of<Overlap>(text, "overlap");
}

SparsePattern::SparsePattern(const Sparsity& sparsity, std::uint64_t elements, std::uint64_t seed)
    : sparsity_(sparsity), elements_(elements), seed_(splitmix64(seed)) {
  const std::uint64_t block = std::max<std::uint64_t>(sparsity_.block, 1);
  sparsity_.block = std::uint32_t(block);
  blocks_ = elements / block + (elements % block ? 1 : 0);
  const double density = std::clamp(sparsity_.density, 0.0, 1.0);
  chosen_ = std::min(blocks_, std::uint64_t(std::llround(density * double(blocks_))));
  const auto bits = std::uint32_t(blocks_ > 1 ? std::bit_width(blocks_ - 1) : 0);
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  const double share = std::clamp(sparsity_.value_density, 0.0, 1.0);
  value_limit_ = std::uint64_t(std::ldexp(share, 63));
}

// A Feistel network over the bits of the largest block index; what falls outside is sent through again
// (cycle walking), so that it is a permutation of [0, blocks).
std::uint64_t SparsePattern::permuted(std::uint64_t key, std::uint64_t block) const {
  const std::uint64_t low_mask = low_bits(low_bits_), high_mask = low_bits(high_bits_);
  const auto round = [&](std::uint64_t half, std::uint64_t constant) {
    const std::uint64_t product = (half + key) * constant;
    return (product ^ (product >> 32)) * 0x9e3779b97f4a7c15 >> 31;
  };
  std::uint64_t at = block;
  do {
    std::uint64_t low = at & low_mask, high = at >> low_bits_;
    high ^= round(low, 0xbf58476d1ce4e5b9) & high_mask;
    low ^= round(high, 0x94d049bb133111eb) & low_mask;
    high ^= round(low, 0xd6e8feb86659fd93) & high_mask;
    low ^= round(high, 0xff51afd7ed558ccd) & low_mask;
    at = high << low_bits_ | low;
  } while (at >= blocks_);
  return at;
}

std::uint64_t SparsePattern::key_of(Rank worker) const {
  return sparsity_.overlap == Overlap::random ? splitmix64(seed_ + std::uint64_t(worker) + 1) : seed_;
}

bool SparsePattern::has(Rank worker, std::uint64_t block) const {
  if (chosen_ == blocks_) return true;
  if (chosen_ == 0) return false;
  const std::uint64_t place = permuted(key_of(worker), block);
  if (sparsity_.overlap != Overlap::disjoint) return place < chosen_;
  // The worker-th run of `chosen` places.
  const std::uint64_t run = std::uint64_t((unsigned __int128)(chosen_)*std::uint64_t(worker) % blocks_);
  return (place >= run ? place - run : place + blocks_ - run) < chosen_;
}

bool SparsePattern::value(Rank worker, std::uint64_t element) const {
  if (sparsity_.value_density >= 1) return true;
  const std::uint64_t who = sparsity_.overlap == Overlap::same ? 0 : std::uint64_t(worker) + 1;
  return splitmix64(splitmix64(seed_ ^ who * 0xd6e8feb86659fd93) + element) >> 1 < value_limit_;
}

bool SparsePattern::any(Rank worker, std::uint64_t begin, std::uint64_t end) const {
  end = std::min(end, elements_);
  while (begin < end) {
    const std::uint64_t block = begin / sparsity_.block;
    const std::uint64_t stop = std::min(end, (block + 1) * sparsity_.block);
    if (has(worker, block)) {
      if (sparsity_.value_density >= 1) return true;
      for (std::uint64_t i = begin; i < stop; ++i) {
        if (value(worker, i)) return true;
      }
    }
    begin = stop;
  }
  return false;
}

Densities densities(const SparsePattern& pattern, std::uint64_t elements, Rank workers, std::uint64_t block) {
  block = std::max<std::uint64_t>(block, 1);
  const std::uint64_t blocks = elements / block + (elements % block ? 1 : 0);
  if (blocks == 0 || workers < 1) return {};
  if (pattern.overlap() == Overlap::same) workers = 1;
  std::vector<std::uint64_t> held(std::size_t(workers), 0);
  std::uint64_t united = 0;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    bool somebody = false;
    for (Rank w = 0; w < workers; ++w) {
      const bool mine = pattern.any(w, k * block, (k + 1) * block);
      held[std::size_t(w)] += mine;
      somebody = somebody || mine;
    }
    united += somebody;
  }
  return {double(*std::max_element(held.begin(), held.end())) / double(blocks),
          double(united) / double(blocks)};
}

}  // namespace ringtrue::collective
