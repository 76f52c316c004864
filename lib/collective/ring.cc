// Ring allreduce: n chunks travel around the ring, once to be reduced and once to be gathered. Every rank
// sends 2 S (n-1)/n bytes whatever n is, so the slowest hop decides.
#include <vector>

#include "collective/algorithm.h"
#include "collective/ring_steps.h"

namespace ringtrue::collective {

Task ring_steps(Endpoint& self, const Call& call, Circle circle, Range range, Steps steps, Arrival last,
                Lane base_lane) {
  const Rank n = circle.size;
  if (n < 2 || range.empty()) co_return;

  const Slicing slicing(call, part(range, n, 0).size());
  const std::uint64_t slices = slicing.count();
  // Transfer i is slice i % slices of step first + i / slices, on both ends.
  const std::uint64_t transfers = std::uint64_t(steps.end - steps.first) * slices;
  // Receive i overwrites what send i - turn read, one way round the circle earlier.
  const std::uint64_t turn = std::uint64_t(n - 1) * slices;
  const std::uint64_t ahead = std::clamp<std::uint64_t>(turn * 3 / 4, 1, 512);
  constexpr std::uint64_t max_sends = 2 * Slicing::max_slices;
  const std::uint64_t lanes = std::uint64_t(std::max(call.lanes, 1));

  std::vector<Token> sent(transfers), received(transfers);

  const auto piece = [&](std::uint64_t i, Rank behind) {
    const Rank step = steps.first + Rank(i / slices);
    const Rank chunk = wrap(std::int64_t(circle.index) - step - behind, n);
    return slice_of(call, slicing.of(part(range, std::uint64_t(n), std::uint64_t(chunk)), i % slices));
  };
  const auto lane = [&](std::uint64_t i) { return Lane(base_lane + i % lanes); };
  const auto send = [&](std::uint64_t i) {
    const Slice from = piece(i, 0);
    if (from.length) sent[i] = self.send(circle.next, lane(i), from);
  };
  const auto receive = [&](std::uint64_t i) {
    const Slice into = piece(i, 1);
    if (!into.length) return;
    const Rank step = steps.first + Rank(i / slices);
    if (step >= n - 1) {
      received[i] = self.receive(circle.previous, lane(i), into);
    } else {
      const Arrival how = step == n - 2 ? last : Arrival::reduce;
      received[i] = self.receive_reduce(circle.previous, lane(i), into, into, how);
    }
  };

  for (std::uint64_t i = 0; i < std::min(ahead, transfers); ++i) receive(i);
  for (std::uint64_t i = 0; i < std::min(slices, transfers); ++i) send(i);
  for (std::uint64_t i = 0; i < transfers; ++i) {
    co_await self.wait(received[i]);
    if (i + slices < transfers) {
      if (i + slices >= max_sends) co_await self.wait(sent[i + slices - max_sends]);
      send(i + slices);
    }
    if (i + ahead < transfers) {
      if (i + ahead >= turn) co_await self.wait(sent[i + ahead - turn]);
      receive(i + ahead);
    }
  }
  for (const Token token : sent) co_await self.wait(token);
}

Task ring(Endpoint& self, const Call& call) {
  const Rank n = self.ranks(), me = self.rank();
  const Circle circle{n, me, wrap(me - 1, n), wrap(me + 1, n)};
  const Task steps = ring_steps(self, call, circle, whole(call), Steps::all(n), Arrival::reduce_last, 0);
  co_await steps;
}

}  // namespace ringtrue::collective
