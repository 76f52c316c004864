// Naive allreduce: rank 0 reduces everybody's data and sends the result back. 2 (n-1) S bytes pass through
// rank 0: the incast that the others are there to avoid.
#include <vector>

#include "collective/algorithm.h"
#include "collective/fold.h"

namespace ringtrue::collective {

namespace {

Task serve(Endpoint& self, const Call& call, Slicing slicing, std::uint64_t ahead) {
  std::vector<Rank> others;
  for (Rank r = 1; r < self.ranks(); ++r) others.push_back(r);

  std::vector<Token> reduced(slicing.count()), sent(slicing.count());
  const auto slice = [&](std::uint64_t k) { return slice_of(call, slicing.of(whole(call), k)); };
  const auto reduce = [&](std::uint64_t k) {
    reduced[k] = self.receive_reduce_all(others, 0, slice(k), Arrival::reduce_last);
  };

  for (std::uint64_t k = 0; k < std::min(ahead, slicing.count()); ++k) reduce(k);
  for (std::uint64_t k = 0; k < slicing.count(); ++k) {
    co_await self.wait(reduced[k]);
    sent[k] = self.send_all(others, 0, slice(k));
    if (k >= ahead) co_await self.wait(sent[k - ahead]);
    if (k + ahead < slicing.count()) reduce(k + ahead);
  }
  for (const Token token : sent) co_await self.wait(token);
}

}  // namespace

Task naive(Endpoint& self, const Call& call) {
  const Rank n = self.ranks();
  if (n < 2 || call.elements == 0) co_return;

  const Slicing slicing(call, call.elements);
  const std::uint64_t ahead = std::max<std::uint64_t>(2, 1024 / std::uint64_t(n));
  if (self.rank() == 0) {
    const Task serving = serve(self, call, slicing, ahead);
    co_await serving;
  } else {
    const Task asking = hand_over(self, call, 0, slicing, ahead);
    co_await asking;
  }
}

}  // namespace ringtrue::collective
