// Generated data of which blocks, and single values in them, are zero: where the pattern says so, otherwise
// they are those of Values.
//
// What must come out is the reduction of exactly these arrays, zeros included: the least of -3 and nothing is
// -3, of 3 and nothing 0; an average divides by all workers.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/sparse.h"
#include "engine/values/job.h"
#include "run/job.h"

namespace ringtrue::engine {

class SparseValues final : public JobValues {
 public:
  SparseValues(const run::Job& job, bool allreduce);

  void fill(collective::Rank rank, std::byte* data, bool fresh) const override;
  Mismatch check(collective::Rank rank, std::byte* data, bool everything) const override;

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
  bool has(collective::Rank worker, std::uint64_t block) const;
  void draw(collective::Rank worker, const Piece& piece, const std::byte* from, std::byte* into) const;
  const std::byte* input(collective::Rank worker, const Piece& piece, std::byte* masked) const;
  const std::byte* expected(const Piece& piece, Scratch& scratch) const;
  void poison(std::byte* data, const std::byte* expected, std::uint64_t bytes) const;
  void note_touched(const collective::Omni& omni);
  void note_values();

  collective::Type type_;
  collective::Operation operation_;
  collective::Rank workers_, shift_;
  bool allreduce_;
  bool writes_all_;  // the algorithm writes what is zero everywhere, too
  std::uint64_t size_, elements_, block_, blocks_, period_;
  collective::SparsePattern pattern_;
  bool some_values_;                            // not all values of a block are drawn
  std::vector<std::vector<std::byte>> inputs_;  // by worker, one period of dense values
  std::vector<std::byte> dense_;                // what comes out where all workers have the block, one period
  std::vector<std::byte> zeros_;                // a period
  std::vector<Bits> has_;                       // by worker, or one for all where they are the same
  std::vector<Bits> value_;                     // by worker and element likewise; empty: ask the pattern
  Bits touched_;                                // blocks that a right call may write
};

}  // namespace ringtrue::engine
