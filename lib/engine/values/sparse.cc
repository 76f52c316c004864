// Generated data of which blocks, and single values in them, are zero: where the pattern says so, otherwise
// they are those of Values.
//
// What must come out is the reduction of exactly these arrays, zeros included: the least of -3 and nothing is
// -3, of 3 and nothing 0; an average divides by all workers.
#include <algorithm>
#include <cstring>

#include "collective/sparse.h"
#include "engine/kernels/nonzero.h"
#include "engine/kernels/reduce.h"
#include "engine/values/job.h"
#include "run/job.h"

namespace ringtrue::engine {

using collective::Operation;
using collective::Rank;
using collective::Type;

namespace {

constexpr std::uint64_t max_value_bits = std::uint64_t(1) << 31;  // 256 MiB of them

bool bit(const std::vector<std::uint64_t>& bits, std::uint64_t at) {
  return bits[at / 64] >> (at % 64) & 1;
}

void set(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / 64] |= std::uint64_t(1) << (at % 64);
}

// Calls each(k) for every bit that is set, rising.
template <class Each>
void each_set(const std::vector<std::uint64_t>& bits, Each each) {
  for (std::size_t w = 0; w < bits.size(); ++w)
    for (std::uint64_t left = bits[w]; left != 0; left &= left - 1)
      each(w * 64 + std::uint64_t(__builtin_ctzll(left)));
}

// Eight elements at a time: for each byte of bits what to "and" them with.
template <class U>
struct Masks {
  U of[256][8];
  Masks() {
    for (unsigned byte = 0; byte < 256; ++byte)
      for (unsigned i = 0; i < 8; ++i) of[byte][i] = byte >> i & 1 ? U(~U(0)) : U(0);
  }
};

// The elements whose bits, from `first` on, are set; zero for the others. A word more is read than there is
// need for.
template <class U>
void mask(std::byte* into, const std::byte* from, std::uint64_t elements, const std::uint64_t* bits,
          std::uint64_t first) {
  static const Masks<U> masks;
  for (std::uint64_t i = 0; i < elements; i += 8) {
    const std::uint64_t at = first + i, low = at % 64;
    std::uint64_t here = bits[at / 64] >> low;
    if (low > 56) here |= bits[at / 64 + 1] << (64 - low);
    const U* row = masks.of[here & 0xff];
    U values[8] = {};
    const std::uint64_t bytes = std::min<std::uint64_t>(8, elements - i) * sizeof(U);
    if (bytes == sizeof values) {
      std::memcpy(values, from + i * sizeof(U), sizeof values);
      for (int k = 0; k < 8; ++k) values[k] &= row[k];
      std::memcpy(into + i * sizeof(U), values, sizeof values);
    } else {
      std::memcpy(values, from + i * sizeof(U), bytes);
      for (int k = 0; k < 8; ++k) values[k] &= row[k];
      std::memcpy(into + i * sizeof(U), values, bytes);
    }
  }
}

class SparseValues final : public JobValues {
 public:
  SparseValues(const run::Job& job, bool allreduce);

  void fill(Rank rank, std::byte* data, bool fresh) const override;
  Mismatch check(Rank rank, std::byte* data, bool everything) const override;

 private:
  using Bits = std::vector<std::uint64_t>;
  struct Piece {                                   // of one block and one period
    std::uint64_t block, first, elements, offset;  // offset: of `first` in the tables
  };
  struct Scratch {
    std::vector<std::byte> result, masked;
    std::vector<const void*> sources;
  };

  template <class Each>
  void pieces_of(std::uint64_t block, Each each) const;
  bool has(Rank worker, std::uint64_t block) const;
  void draw(Rank worker, const Piece& piece, const std::byte* from, std::byte* into) const;
  const std::byte* input(Rank worker, const Piece& piece, std::byte* masked) const;
  const std::byte* expected(const Piece& piece, Scratch& scratch) const;
  void poison(std::byte* data, const std::byte* expected, std::uint64_t bytes) const;
  void note_touched(const collective::Omni& omni);
  void note_values();

  bool writes_all_;  // the algorithm writes what is zero everywhere, too
  std::uint64_t size_, block_, blocks_, period_;
  collective::SparsePattern pattern_;
  bool some_values_;                            // not all values of a block are drawn
  std::vector<std::vector<std::byte>> inputs_;  // by worker, one period of dense values
  std::vector<std::byte> dense_;                // what comes out where all workers have the block, one period
  std::vector<std::byte> zeros_;                // a period
  std::vector<Bits> has_;                       // by worker, or one for all where they are the same
  std::vector<Bits> value_;                     // by worker and element likewise; empty: ask the pattern
  Bits touched_;                                // blocks that a right call may write
};

SparseValues::SparseValues(const run::Job& job, bool allreduce)
    : JobValues(job, allreduce),
      writes_all_(job.call.omni.workers == 0),
      size_(size_of(type_)),
      block_(std::max(job.sparsity.block, 1u)),
      blocks_((elements_ + block_ - 1) / block_),
      period_(std::min(Values::period, elements_)),
      pattern_(job.sparsity, elements_, job.seed),
      some_values_(job.sparsity.value_density < 1) {
  const Values values(type_, operation_, workers_, job.seed, 0);
  for (Rank worker = 0; worker < workers_; ++worker) {
    inputs_.emplace_back(period_ * size_);
    values.fill(worker, inputs_.back().data(), period_);
  }
  zeros_.resize(period_ * size_);
  const bool alike = job.sparsity.overlap == collective::Overlap::same;
  for (Rank worker = 0; worker < (alike ? 1 : workers_); ++worker) {
    Bits& bits = has_.emplace_back((blocks_ + 63) / 64);
    for (std::uint64_t k = 0; k < blocks_; ++k)
      if (pattern_.has(worker, k)) set(bits, k);
  }
  if (some_values_ && elements_ * has_.size() <= max_value_bits) note_values();
  note_touched(job.call.omni);

  dense_ = inputs_[0];
  for (Rank worker = 1; worker < workers_; ++worker)
    reduce(type_, operation_, dense_.data(), dense_.data(), inputs_[std::size_t(worker)].data(), period_);
  finish(type_, operation_, dense_.data(), period_, workers_);
}

void SparseValues::note_values() {
  for (std::size_t w = 0; w < has_.size(); ++w) {
    Bits& bits = value_.emplace_back(elements_ / 64 + 2);
    each_set(has_[w], [&](std::uint64_t k) {
      const std::uint64_t end = std::min((k + 1) * block_, elements_);
      for (std::uint64_t i = k * block_; i < end; ++i)
        if (pattern_.value(Rank(w), i)) set(bits, i);
    });
  }
}

// The collective's blocks need not be the pattern's: it writes whole ones of its own, and every column's
// first.
void SparseValues::note_touched(const collective::Omni& omni) {
  touched_.resize((blocks_ + 63) / 64);
  if (writes_all_) {
    for (std::uint64_t k = 0; k < blocks_; ++k) set(touched_, k);
    return;
  }
  std::uint64_t done = 0;  // elements
  const auto touch = [&](std::uint64_t begin, std::uint64_t end) {
    begin = std::max(begin, done);
    done = std::max(done, std::min(end, elements_));
    for (std::uint64_t k = begin / block_; k * block_ < done; ++k) set(touched_, k);
  };
  const std::uint64_t whole = std::max(omni.block, 1u);
  touch(0, std::uint64_t(omni.streams) * omni.fusion * whole);
  for (std::uint64_t k = 0; k < blocks_; ++k) {
    const bool any = std::any_of(has_.begin(), has_.end(), [&](const Bits& bits) { return bit(bits, k); });
    if (any) touch(k * block_ / whole * whole, ((k + 1) * block_ + whole - 1) / whole * whole);
  }
}

template <class Each>
void SparseValues::pieces_of(std::uint64_t block, Each each) const {
  const std::uint64_t end = std::min((block + 1) * block_, elements_);
  for (std::uint64_t at = block * block_; at < end;) {
    const std::uint64_t offset = at % period_;
    const std::uint64_t count = std::min(end - at, period_ - offset);
    each(Piece{block, at, count, offset});
    at += count;
  }
}

bool SparseValues::has(Rank worker, std::uint64_t block) const {
  return bit(has_[has_.size() == 1 ? 0 : std::size_t(worker)], block);
}

// Copies what of `from` the worker has drawn.
void SparseValues::draw(Rank worker, const Piece& piece, const std::byte* from, std::byte* into) const {
  Bits asked;
  const std::uint64_t* bits = nullptr;
  std::uint64_t first = 0;
  if (value_.empty()) {
    asked.resize(piece.elements / 64 + 2);
    for (std::uint64_t i = 0; i < piece.elements; ++i)
      if (pattern_.value(worker, piece.first + i)) set(asked, i);
    bits = asked.data();
  } else {
    bits = value_[value_.size() == 1 ? 0 : std::size_t(worker)].data();
    first = piece.first;
  }
  switch (size_) {
    case 2:
      return mask<std::uint16_t>(into, from, piece.elements, bits, first);
    case 4:
      return mask<std::uint32_t>(into, from, piece.elements, bits, first);
    default:
      return mask<std::uint64_t>(into, from, piece.elements, bits, first);
  }
}

// What the worker has there; in `masked`, where single values are left out.
const std::byte* SparseValues::input(Rank worker, const Piece& piece, std::byte* masked) const {
  if (!has(worker, piece.block)) return zeros_.data();
  const std::byte* from = inputs_[std::size_t(worker)].data() + piece.offset * size_;
  if (!some_values_) return from;
  draw(worker, piece, from, masked);
  return masked;
}

void SparseValues::fill(Rank rank, std::byte* data, bool fresh) const {
  if (rank >= workers_ || elements_ == 0) return;
  std::vector<std::byte> masked(some_values_ ? period_ * size_ : 0);
  const bool all = fresh || writes_all_;
  if (all) std::memset(data, 0, elements_ * size_);
  each_set(touched_, [&](std::uint64_t k) {
    const bool mine = has(rank, k);
    if (all && !mine) return;
    pieces_of(k, [&](const Piece& piece) {
      std::byte* into = data + piece.first * size_;
      if (mine) {
        std::memcpy(into, input(rank, piece, masked.data()), piece.elements * size_);
      } else {
        std::memset(into, 0, piece.elements * size_);
      }
    });
  });
}

const std::byte* SparseValues::expected(const Piece& piece, Scratch& scratch) const {
  if (has_.size() == 1) {  // all workers or none
    if (!has(0, piece.block)) return zeros_.data();
    const std::byte* right = dense_.data() + piece.offset * size_;
    if (!some_values_) return right;
    draw(0, piece, right, scratch.result.data());
    return scratch.result.data();
  }
  scratch.sources.clear();
  bool missing = false;
  for (Rank worker = 0; worker < workers_; ++worker) {
    if (has(worker, piece.block)) {
      std::byte* masked =
          some_values_ ? scratch.masked.data() + std::size_t(worker) * period_ * size_ : nullptr;
      scratch.sources.push_back(input(worker, piece, masked));
    } else {
      missing = true;
    }
  }
  const bool sums = operation_ == Operation::sum || operation_ == Operation::avg;
  if (scratch.sources.empty() || (missing && operation_ == Operation::prod)) return zeros_.data();
  if (!missing && !some_values_) return dense_.data() + piece.offset * size_;
  if (missing && !sums) scratch.sources.push_back(zeros_.data());
  if (scratch.sources.size() == 1 && operation_ != Operation::avg)
    return static_cast<const std::byte*>(scratch.sources[0]);
  const void* const* sources = scratch.sources.data();
  const void* with = *sources++;
  int left = int(scratch.sources.size()) - 1;
  do {
    const int now = std::min(left, reduce_many_limit);
    reduce_many(type_, operation_, scratch.result.data(), with, sources, now, piece.elements);
    with = scratch.result.data();
    sources += now;
    left -= now;
  } while (left > 0);
  finish(type_, operation_, scratch.result.data(), piece.elements, workers_);
  return scratch.result.data();
}

// Floats: a NaN, which no generated data gives. Integers: every bit is wrong.
void SparseValues::poison(std::byte* data, const std::byte* expected, std::uint64_t bytes) const {
  if (type_ != Type::int32 && type_ != Type::int64) {
    std::memset(data, 0xff, bytes);
    return;
  }
  for (std::uint64_t i = 0; i < bytes; ++i) data[i] = ~expected[i];
}

Mismatch SparseValues::check(Rank rank, std::byte* data, bool everything) const {
  Mismatch found;
  if (rank >= workers_ || elements_ == 0) return found;
  Scratch scratch;
  scratch.result.resize(period_ * size_);
  if (some_values_) scratch.masked.resize(period_ * size_ * std::size_t(allreduce_ ? workers_ : 1));
  const auto check_block = [&](std::uint64_t k) {
    pieces_of(k, [&](const Piece& piece) {
      const std::byte* right =
          allreduce_ ? expected(piece, scratch) : input(source_of(rank), piece, scratch.masked.data());
      std::byte* got = data + piece.first * size_;
      compare_values(type_, got, right, piece.elements, piece.first, Zeros::equal, found);
      poison(got, right, piece.elements * size_);
    });
  };
  if (!everything) {
    // They lie far from each other: the next one is asked for while one is compared.
    constexpr std::uint64_t max_ahead = 4096;
    const std::uint64_t ahead = std::min(block_ * size_, max_ahead);
    std::uint64_t held = blocks_;
    each_set(touched_, [&](std::uint64_t k) {
      for (std::uint64_t at = 0; at < ahead; at += 64) __builtin_prefetch(data + k * block_ * size_ + at, 1);
      if (held < blocks_) check_block(held);
      held = k;
    });
    if (held < blocks_) check_block(held);
    return found;
  }
  for (std::uint64_t k = 0; k < blocks_; ++k) {
    if (bit(touched_, k)) {
      check_block(k);
      continue;
    }
    const std::uint64_t first = k * block_, count = std::min(block_, elements_ - first);
    if (!any_non_zero(type_, data + first * size_, count)) continue;
    pieces_of(k, [&](const Piece& piece) {
      compare_values(type_, data + piece.first * size_, zeros_.data(), piece.elements, piece.first,
                     Zeros::equal, found);
    });
  }
  return found;
}

}  // namespace

std::unique_ptr<JobValues> sparse_values(const run::Job& job, bool allreduce) {
  return std::make_unique<SparseValues>(job, allreduce);
}

}  // namespace ringtrue::engine
