// Recursive doubling: log2 n rounds, in each of which partners exchange and reduce everything they have.
// The fewest rounds there can be, and S bytes in each: for short calls.
#include <vector>

#include "collective/algorithm.h"
#include "collective/fold.h"

namespace ringtrue::collective {

namespace {

Task play(Endpoint& self, const Call& call, Fold fold, Slicing slicing) {
  const Rank me = self.rank(), number = fold.number_of(me);
  const std::uint64_t count = slicing.count();
  const auto slice = [&](std::uint64_t k, Space space) {
    return slice_of(call, slicing.of(whole(call), k), space);
  };
  std::vector<Token> received(count), sent(count);

  if (fold.is_folded_into(me)) {
    for (std::uint64_t k = 0; k < count; ++k) {
      const Slice here = slice(k, Space::data);
      received[k] = self.receive_reduce(me + 1, 0, here, here, Arrival::reduce);
    }
  }

  // What is being sent must stay as it is, so each round's result goes into the other space.
  Space here = Space::data, there = Space::scratch;
  for (Rank distance = 1; distance < fold.power; distance *= 2) {
    const Rank partner = fold.rank_of(number ^ distance);
    const Arrival how = 2 * distance == fold.power ? Arrival::reduce_last : Arrival::reduce;
    for (std::uint64_t k = 0; k < count; ++k) {
      co_await self.wait(received[k]);
      co_await self.wait(sent[k]);
      received[k] = self.receive_reduce(partner, 0, slice(k, there), slice(k, here), how);
      sent[k] = self.send(partner, 0, slice(k, here));
    }
    std::swap(here, there);
  }

  for (std::uint64_t k = 0; k < count; ++k) {
    co_await self.wait(received[k]);
    co_await self.wait(sent[k]);
    if (here == Space::scratch) self.copy(slice(k, Space::data), slice(k, Space::scratch));
    if (fold.is_folded_into(me)) sent[k] = self.send(me + 1, 0, slice(k, Space::data));
  }
  for (const Token token : sent) co_await self.wait(token);
}

}  // namespace

Task recursive_doubling(Endpoint& self, const Call& call) {
  if (self.ranks() < 2 || call.elements == 0) co_return;
  const Task program = fold_and_play(self, call, Slicing(call, call.elements), play);
  co_await program;
}

}  // namespace ringtrue::collective
