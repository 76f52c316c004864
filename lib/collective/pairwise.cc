// Pairwise send-receive: one hop into every rank and one out of it, nothing shared, nothing reduced. It
// measures single paths. Afterwards data holds the data of rank - shift.
#include <vector>

#include "collective/algorithm.h"
#include "collective/chunks.h"

namespace ringtrue::collective {

Task pairwise(Endpoint& self, const Call& call) {
  const Rank n = self.ranks(), me = self.rank();
  if (n < 2 || wrap(call.shift, n) == 0 || call.elements == 0) co_return;
  const Rank to = wrap(std::int64_t(me) + call.shift, n), from = wrap(std::int64_t(me) - call.shift, n);

  const Slicing slicing(call, call.elements, 8 * Slicing::max_slices);
  const std::uint64_t count = slicing.count(), lanes = std::uint64_t(std::max(call.lanes, 1));
  constexpr std::uint64_t ahead = 256;

  std::vector<Token> sent(count), received(count);
  const auto slice = [&](std::uint64_t k, Space space) {
    return slice_of(call, slicing.of(whole(call), k), space);
  };
  const auto exchange = [&](std::uint64_t k) {
    received[k] = self.receive(from, Lane(k % lanes), slice(k, Space::scratch));
    sent[k] = self.send(to, Lane(k % lanes), slice(k, Space::data));
  };

  for (std::uint64_t k = 0; k < std::min(ahead, count); ++k) exchange(k);
  for (std::uint64_t k = 0; k < count; ++k) {
    co_await self.wait(received[k]);
    co_await self.wait(sent[k]);
    self.copy(slice(k, Space::data), slice(k, Space::scratch));
    if (k + ahead < count) exchange(k + ahead);
  }
}

}  // namespace ringtrue::collective
