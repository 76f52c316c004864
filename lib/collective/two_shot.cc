// Two-shot all-pairs, made for ranks that share memory (elsewhere it is right, and an incast): rank r reduces
// chunk r out of everybody's buffers and puts the result into them. Every element is read once and written
// once a rank.
#include <vector>

#include "collective/algorithm.h"
#include "collective/chunks.h"

namespace ringtrue::collective {

namespace {
constexpr Lane lending = 0, returning = 1;
}

Task two_shot(Endpoint& self, const Call& call) {
  const Rank n = self.ranks(), me = self.rank();
  if (n < 2 || call.elements == 0) co_return;

  const Slicing slicing(call, part(whole(call), std::uint64_t(n), 0).size(), 2048 / std::uint64_t(n));
  const auto slice = [&](Rank owner, std::uint64_t k) {
    return slice_of(call, slicing.of(part(whole(call), std::uint64_t(n), std::uint64_t(owner)), k));
  };
  std::vector<Rank> others;  // everybody begins with another owner
  for (Rank distance = 1; distance < n; ++distance) others.push_back(wrap(me + distance, n));

  // Lend every slice to its owner, and take the result back in its place. The owner sends it only after it
  // has reduced this slice, so the receive may be posted while the send is still outstanding.
  std::vector<Token> tokens;
  for (std::uint64_t k = 0; k < slicing.count(); ++k) {
    for (const Rank owner : others) {
      const Slice lent = slice(owner, k);
      if (!lent.length) continue;
      tokens.push_back(self.send(owner, lending, lent));
      tokens.push_back(self.receive(owner, returning, lent));
    }
  }
  // One slice at a time: the result is written while it is in cache.
  for (std::uint64_t k = 0; k < slicing.count(); ++k) {
    const Slice own = slice(me, k);
    if (!own.length) continue;
    const Token reduced = self.receive_reduce_all(others, lending, own, Arrival::reduce_last);
    co_await self.wait(reduced);
    tokens.push_back(self.send_all(others, returning, own));
  }
  for (const Token token : tokens) co_await self.wait(token);
}

}  // namespace ringtrue::collective
