#include "transport/cuda/ways.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringtrue::transport::cuda {

Choice choose(const Pair& pair) {
  if (pair.same_process && pair.same_gpu) return {Way::same_gpu, {}};
  // Two contexts take turns on a GPU: a kernel that spins would wait for one that cannot run.
  if (pair.same_gpu) return {Way::staged, "two processes share one GPU and take turns on it"};
  if (!pair.refused.empty()) return {Way::staged, pair.refused};
  return {pair.same_process ? Way::peer : Way::ipc, {}};
}

Result<Choices> choose(const std::vector<Pair>& pairs, collective::Rank ranks, Play asked,
                       const std::string& no_kernel) {
  Choices all;
  all.ranks = ranks;
  all.pairs.resize(std::size_t(ranks) * std::size_t(ranks), {Way::same_gpu, {}});
  const Pair* refused = nullptr;  // the one that says most: between processes nothing else is left
  for (const Pair& pair : pairs) {
    Choice& choice = all.pairs[std::size_t(pair.reader) * std::size_t(ranks) + std::size_t(pair.owner)];
    choice = choose(pair);
    if (choice.way == Way::staged && (!refused || (refused->same_process && !pair.same_process)))
      refused = &pair;
  }
  const bool hindered = refused || !no_kernel.empty();
  const auto why = [&] {
    if (!refused) return no_kernel;
    return fmt::format("rank {} cannot read rank {}'s GPU memory: {}", refused->reader, refused->owner,
                       all.of(refused->reader, refused->owner).why);
  };
  const bool across =
      std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return !pair.same_process; });
  if (across && asked == Play::copy_engines)
    return fail(Cause::unavailable, "copy engines play the ranks of one process only", {},
                "give the ranks to one process");
  if (refused && !refused->same_process)
    return fail(Cause::unavailable, why(), {},
                "let one process play both ranks, or stage through host memory");
  if (hindered && across) return fail(Cause::unavailable, why(), {}, "stage through host memory");
  if (hindered && asked == Play::kernel)
    return fail(Cause::unavailable, why(), {}, "leave out that the kernel was asked for");
  all.play = hindered || asked == Play::copy_engines ? Play::copy_engines : Play::kernel;
  if (hindered) all.why = why();
  return all;
}

}  // namespace ringtrue::transport::cuda
