#include "collective/fold.h"

#include <vector>

namespace ringtrue::collective {

Task hand_over(Endpoint& self, const Call& call, Rank to, Slicing slicing, std::uint64_t ahead) {
  const std::uint64_t count = slicing.count();
  std::vector<Token> sent(count), received(count);
  const auto slice = [&](std::uint64_t k) { return slice_of(call, slicing.of(whole(call), k)); };

  for (std::uint64_t k = 0; k < std::min(ahead, count); ++k) sent[k] = self.send(to, 0, slice(k));
  for (std::uint64_t k = 0; k < count; ++k) {
    co_await self.wait(sent[k]);  // the result overwrites what was sent
    received[k] = self.receive(to, 0, slice(k));
    if (k >= ahead) co_await self.wait(received[k - ahead]);
    if (k + ahead < count) sent[k + ahead] = self.send(to, 0, slice(k + ahead));
  }
  for (const Token token : received) co_await self.wait(token);
}

Task fold_and_play(Endpoint& self, const Call& call, Slicing slicing,
                   Task (*play)(Endpoint&, const Call&, Fold, Slicing)) {
  const Fold fold(self.ranks());
  const Rank me = self.rank();
  const Task program = fold.folds(me) ? hand_over(self, call, me - 1, slicing, Slicing::max_slices)
                                      : play(self, call, fold, slicing);
  co_await program;
}

}  // namespace ringtrue::collective
