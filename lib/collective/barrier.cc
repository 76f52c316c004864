// Dissemination barrier (Hensgen, Finkel, Manber 1988): in round d everybody tells the rank d further, and
// hears from the rank d before; after ceil(log2 n) rounds everybody has heard of everybody.
#include <vector>

#include "collective/algorithm.h"
#include "collective/chunks.h"

namespace ringtrue::collective {

Task barrier(Endpoint& self) {
  const Rank n = self.ranks(), me = self.rank();
  std::vector<Token> told;
  for (std::int64_t distance = 1; distance < n; distance *= 2) {
    const Token heard = self.receive(wrap(me - distance, n), barrier_lane, Slice{});
    told.push_back(self.send(wrap(me + distance, n), barrier_lane, Slice{}));
    co_await self.wait(heard);
  }
  for (const Token token : told) co_await self.wait(token);
}

}  // namespace ringtrue::collective
