// One-shot all-pairs: every rank reduces everybody's data by itself. One round, and (n-1) S bytes into every
// rank: for calls so short that only rounds count. Each rank adds its own data first, so sums that round may
// differ in the last bit from rank to rank.
#include <vector>

#include "collective/algorithm.h"
#include "collective/chunks.h"

namespace ringtrue::collective {

Task one_shot(Endpoint& self, const Call& call) {
  const Rank n = self.ranks(), me = self.rank();
  if (n < 2 || call.elements == 0) co_return;

  const Slicing slicing(call, call.elements, 2048 / std::uint64_t(n));
  std::vector<Rank> others;  // everybody begins with another one
  for (Rank distance = 1; distance < n; ++distance) others.push_back(wrap(me + distance, n));

  // The others read a copy, so that the sum can grow in its place at once.
  std::vector<Token> tokens;
  for (std::uint64_t k = 0; k < slicing.count(); ++k) {
    const Range range = slicing.of(whole(call), k);
    const Slice sum = slice_of(call, range), lent = slice_of(call, range, Space::scratch);
    self.copy(lent, sum);
    tokens.push_back(self.receive_reduce_all(others, 0, sum, Arrival::reduce_last));
    tokens.push_back(self.send_all(others, 0, lent));
  }
  for (const Token token : tokens) co_await self.wait(token);
}

}  // namespace ringtrue::collective
