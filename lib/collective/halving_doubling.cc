// Rabenseifner's allreduce: reduce-scatter by halving what is exchanged, from neighbours to distant ranks,
// then all-gather by doubling it, back again. 2 log2 n rounds and 2 S (n-1)/n bytes.
#include <vector>

#include "collective/algorithm.h"
#include "collective/fold.h"

namespace ringtrue::collective {

namespace {

// Both partners cut along one grid over the whole call, so that a piece depends on one piece of the round
// before and no round waits for all of another.
class Grid {
 public:
  explicit Grid(Slicing slicing) : each_(slicing.elements()), cells_(slicing.count()) {}

  std::uint64_t cells() const { return cells_; }
  std::uint64_t pieces(Range range) const {
    return range.empty() ? 0 : (range.end - 1) / each_ - range.begin / each_ + 1;
  }
  std::uint64_t cell(Range range, std::uint64_t j) const { return range.begin / each_ + j; }
  Range piece(Range range, std::uint64_t j) const {
    const std::uint64_t begin = cell(range, j) * each_;
    return {std::max(range.begin, begin), std::min(range.end, begin + each_)};
  }

 private:
  std::uint64_t each_, cells_;
};

struct Round {
  Rank partner = 0;
  Range mine, theirs;       // what each of the two reduces
  std::vector<Token> sent;  // the pieces of `theirs`
};

std::vector<Round> rounds_of(const Call& call, const Fold& fold, Rank number) {
  std::vector<Round> rounds;
  Rank low = 0, high = fold.power;  // chunks that are still ours
  const auto range = [&](Rank from, Rank to) {
    const std::uint64_t parts = std::uint64_t(fold.power);
    return Range{part(whole(call), parts, std::uint64_t(from)).begin,
                 part(whole(call), parts, std::uint64_t(to - 1)).end};
  };
  for (Rank distance = 1; distance < fold.power; distance *= 2) {
    const Rank middle = (low + high) / 2;
    const bool upper = number & distance;
    rounds.push_back({fold.rank_of(number ^ distance),
                      upper ? range(middle, high) : range(low, middle),
                      upper ? range(low, middle) : range(middle, high),
                      {}});
    (upper ? low : high) = middle;
  }
  return rounds;
}

Task play(Endpoint& self, const Call& call, Fold fold, Slicing slicing) {
  const Rank me = self.rank();
  const Grid grid(slicing);
  const std::uint64_t lanes = std::uint64_t(std::max(call.lanes, 1));
  const auto lane = [&](std::uint64_t j) { return Lane(j % lanes); };
  std::vector<Round> rounds = rounds_of(call, fold, fold.number_of(me));
  std::vector<Token> ready(grid.cells());  // what the newest bytes of a cell wait for
  std::vector<Token> next;

  if (fold.is_folded_into(me)) {
    for (std::uint64_t j = 0; j < grid.cells(); ++j) {
      const Slice slice = slice_of(call, grid.piece(whole(call), j));
      ready[j] = self.receive_reduce(me + 1, 0, slice, slice, Arrival::reduce);
    }
  }

  for (std::size_t r = 0; r < rounds.size(); ++r) {
    Round& round = rounds[r];
    const Arrival how = r + 1 == rounds.size() ? Arrival::reduce_last : Arrival::reduce;
    const std::uint64_t mine = grid.pieces(round.mine), theirs = grid.pieces(round.theirs);
    next = ready;
    for (std::uint64_t j = 0; j < std::max(mine, theirs); ++j) {
      if (j < theirs) {
        co_await self.wait(ready[grid.cell(round.theirs, j)]);
        const Slice from = slice_of(call, grid.piece(round.theirs, j));
        round.sent.push_back(self.send(round.partner, lane(j), from));
      }
      if (j < mine) {
        co_await self.wait(ready[grid.cell(round.mine, j)]);
        const Slice into = slice_of(call, grid.piece(round.mine, j));
        next[grid.cell(round.mine, j)] = self.receive_reduce(round.partner, lane(j), into, into, how);
      }
    }
    ready.swap(next);
  }

  std::vector<Token> sent;
  for (std::size_t r = rounds.size(); r-- > 0;) {
    const Round& round = rounds[r];
    const std::uint64_t mine = grid.pieces(round.mine), theirs = grid.pieces(round.theirs);
    next = ready;
    for (std::uint64_t j = 0; j < theirs; ++j) {
      co_await self.wait(round.sent[j]);
      const Slice into = slice_of(call, grid.piece(round.theirs, j));
      next[grid.cell(round.theirs, j)] = self.receive(round.partner, lane(j), into);
    }
    for (std::uint64_t j = 0; j < mine; ++j) {
      co_await self.wait(ready[grid.cell(round.mine, j)]);
      sent.push_back(self.send(round.partner, lane(j), slice_of(call, grid.piece(round.mine, j))));
    }
    ready.swap(next);
  }

  for (std::uint64_t j = 0; j < grid.cells(); ++j) {
    co_await self.wait(ready[j]);
    if (fold.is_folded_into(me)) {
      sent.push_back(self.send(me + 1, 0, slice_of(call, grid.piece(whole(call), j))));
    }
  }
  for (const Token token : sent) co_await self.wait(token);
}

}  // namespace

Task halving_doubling(Endpoint& self, const Call& call) {
  if (self.ranks() < 2 || call.elements == 0) co_return;
  const Fold fold(self.ranks());
  const std::uint64_t lanes = std::uint64_t(std::max(call.lanes, 1));
  const Slicing slicing(call, call.elements,
                        std::max<std::uint64_t>(Slicing::max_slices, std::uint64_t(fold.power) * lanes));
  const Task program = fold_and_play(self, call, slicing, play);
  co_await program;
}

}  // namespace ringtrue::collective
