#include "tests/support/gpu_calls.h"

#include <algorithm>

#include "engine/values/values.h"
#include "transport/cuda/dataflow.h"

namespace ringtrue::test {

namespace cuda = transport::cuda;
using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Rank;

namespace {

constexpr Seconds patience{60};

std::uint64_t scratch_for(Rank ranks, std::uint64_t bytes) {
  const Layout layout = Layout::one_node(ranks);
  Call call;
  call.elements = bytes / size_of(call.type);
  call = cuda::sliced(call, ranks);
  std::uint64_t most = 0;
  for (const Algorithm* algorithm : algorithms_on_gpus())
    for (Rank rank = 0; rank < ranks; ++rank)
      most = std::max(most, algorithm->scratch_bytes(layout, rank, call));
  constexpr std::uint64_t roundings = 1 << 20;
  return most + roundings;
}

}  // namespace

std::vector<const Algorithm*> algorithms_on_gpus() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : collective::algorithms())
    if (!algorithm.uses_packets()) all.push_back(&algorithm);
  return all;
}

std::uint64_t bytes_of_group(Rank ranks, std::uint64_t bytes) {
  return std::uint64_t(ranks) * (bytes + scratch_for(ranks, bytes));
}

Result<std::unique_ptr<cuda::Group>> group_on(cuda::Driver& driver, int gpu, Rank ranks, std::uint64_t bytes,
                                              cuda::Play play) {
  cuda::Settings settings;
  settings.seats.assign(std::size_t(ranks), cuda::Seat{0, gpu});
  settings.data_bytes = bytes;
  settings.scratch_bytes = scratch_for(ranks, bytes);
  settings.play = play;
  auto made = cuda::Group::open(driver, settings);
  if (!made) return made;
  if (auto connected = (*made)->connect({&(*made)->offer(), 1}); !connected)
    return tl::unexpected(connected.error());
  return made;
}

Result<std::uint64_t> wrong_of(cuda::Group& group, Rank ranks, const Algorithm& algorithm, const Call& call,
                               cuda::Calls calls) {
  const engine::Values values(call.type, call.operation, int(ranks), 11, call.elements);
  const Deadline soon = Deadline::in(patience);
  const auto size = std::uint32_t(size_of(call.type));
  const std::vector<std::byte> poison = values.poison();
  for (Rank rank = 0; rank < ranks; ++rank)
    if (auto filled = group.fill(rank, values.input(rank), size, call.elements, soon); !filled)
      return tl::unexpected(filled.error());
  const auto times = group.run(algorithm, Layout::one_node(ranks), call, calls, soon);
  if (!times) return tl::unexpected(times.error());
  std::uint64_t wrong = 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto right =
        algorithm.allreduce ? values.expected() : values.input(int((rank + ranks - 1) % ranks));
    const auto found = group.check(rank, right, poison, size, call.elements, soon);
    if (!found) return tl::unexpected(found.error());
    wrong += found->count;
  }
  return wrong;
}

}  // namespace ringtrue::test
