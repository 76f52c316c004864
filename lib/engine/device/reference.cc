#include "engine/device/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "run/report.h"
#include "transport/cuda/nccl.h"
#include "transport/cuda/staging.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;
using collective::Rank;

namespace {

std::string why_not(const ReferenceSetup& setup) {
  if (setup.job.reference != "nccl") return fmt::format("no library '{}' is known", setup.job.reference);
  if (!setup.allreduce) return fmt::format("NCCL has nothing like {}", key_of(setup.job.algorithm));
  if (std::set<int>(setup.gpus.begin(), setup.gpus.end()).size() < setup.gpus.size())
    return "NCCL takes one rank a GPU, and here ranks share one";
  const auto elsewhere = [&](const run::Seat& seat) {
    return seat.process != setup.job.seats.front().process;
  };
  if (std::any_of(setup.job.seats.begin(), setup.job.seats.end(), elsewhere))
    return "the reference plays the ranks of one process alone";
  return {};
}

// NCCL may connect until then, so that what was measured without it is still told.
Deadline half_of(Deadline deadline) {
  const int left = deadline.left_ms();
  return left < 0 ? deadline : Deadline::in(Seconds(left / 2000.0));
}

// A rank's clock around its calls.
struct Watch {
  std::unique_ptr<cuda::Event> start, stop;
};

}  // namespace

Result<run::Reference> play_reference(const ReferenceSetup& setup, Deadline deadline) {
  run::Reference reference;
  reference.why_not = why_not(setup);
  if (!reference.why_not.empty()) return reference;
  const Deadline connected = half_of(deadline);
  auto opened = cuda::Nccl::open(setup.gpus, connected, setup.library);
  if (!opened) {
    reference.why_not = opened.error().text();
    return reference;
  }
  cuda::Nccl& nccl = **opened;
  reference.library = nccl.version();

  std::vector<cuda::Nccl::Part> parts;
  std::vector<Watch> watches;
  for (Rank rank = 0; rank < setup.job.ranks(); ++rank) {
    parts.push_back({setup.group.stream(rank).native(), setup.group.data(rank)});
    Watch watch;
    for (auto* event : {&watch.start, &watch.stop})
      if (auto made = assign(*event, setup.group.device(rank).make_event()); !made)
        return tl::unexpected(made.error());
    watches.push_back(std::move(watch));
  }
  // So many calls, each on what the one before left; the seconds of one, on the slowest GPU.
  const auto play = [&](int calls) -> Result<double> {
    Result<void> told = setup.fill();
    for (std::size_t i = 0; i < parts.size() && told; ++i)
      told = setup.group.stream(Rank(i)).record(*watches[i].start);
    for (int i = 0; i < calls && told; ++i) {
      told = nccl.allreduce(parts, setup.job.call.elements, setup.job.call.type, setup.job.call.operation,
                            connected);
      if (!told) reference.why_not = told.error().text();
    }
    for (std::size_t i = 0; i < parts.size() && told; ++i)
      told = setup.group.stream(Rank(i)).record(*watches[i].stop);
    for (std::size_t i = 0; i < parts.size() && told; ++i)
      told = cuda::wait_for(setup.group.stream(Rank(i)), setup.group.device(Rank(i)).gpu(), deadline);
    if (!told) {
      nccl.abort();
      return tl::unexpected(told.error());
    }
    double slowest = 0;
    for (const Watch& watch : watches) {
      const auto took = watch.stop->since(*watch.start);
      if (!took) return tl::unexpected(took.error());
      slowest = std::max(slowest, took->value / calls);
    }
    return slowest;
  };
  for (int sample = -1; sample < setup.job.iterations; ++sample) {  // its first call connects
    auto took = play(1);
    const auto wrong = took ? setup.check() : 0;
    if (took && wrong && setup.batch > 1) took = play(setup.batch);
    if (!reference.why_not.empty()) return reference;  // NCCL itself refused
    if (!took) return tl::unexpected(took.error());
    if (!wrong) return tl::unexpected(wrong.error());
    reference.wrong += *wrong;
    if (sample >= 0) reference.time_s.push_back(*took);
  }
  reference.how = nccl.how();
  return reference;
}

}  // namespace ringtrue::engine
