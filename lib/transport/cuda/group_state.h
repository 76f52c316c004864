// State of a group, its GPUs and the ranks' memory on them, and who plays its calls; internal to the
// transport.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "transport/cuda/staging.h"
#include "transport/cuda/transport.h"

namespace ringtrue::transport::cuda {

// A rank's memory: the ranks' progress, the number of its call, its data, its scratch.
struct Region {
  static constexpr std::uint64_t progress = 0, call = max_ranks * 8, data = 4096;
  static constexpr std::uint64_t page = 4096;  // data and scratch are whole ones, as dma-bufs are
  std::uint64_t scratch = 0, bytes = 0;

  Region(std::uint64_t data_bytes, std::uint64_t scratch_bytes) {
    const auto whole = [](std::uint64_t n) { return (n + page - 1) / page * page; };
    scratch = data + whole(data_bytes);
    bytes = scratch + whole(scratch_bytes);
  }
};

// A GPU of this process, with the ranks that live on it.
struct DeviceContext {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> start, stop;  // of a run
  std::optional<StagingCopier> staging;
  std::unique_ptr<Memory> tables;                // for fill() and check(), once used
  std::vector<std::unique_ptr<Memory>> regions;  // of its ranks
  std::vector<std::unique_ptr<Memory>> opened;   // other processes'
  std::vector<collective::Rank> ranks;
  std::vector<std::byte*> base;  // by rank: its region as seen from this GPU; nullptr: out of reach
};

struct GroupState {
  Settings settings;
  Region region{0, 0};
  std::vector<DeviceContext> contexts;
  std::vector<int> context_of;  // by rank; -1: lives in another process
  Choices choices;

  collective::Rank ranks() const { return collective::Rank(settings.seats.size()); }
  DeviceContext& context(collective::Rank rank) {
    return contexts[std::size_t(context_of[std::size_t(rank)])];
  }
  std::byte* space(const DeviceContext& context, collective::Rank rank, std::uint32_t space) const {
    return context.base[std::size_t(rank)] + (space == 0 ? Region::data : region.scratch);
  }
  // "rank 2 on GPU 0 (GPU-8d1c...)"
  std::string name(collective::Rank rank);
};

// Whether all ranks live in this process.
bool alone(const Settings& settings);

// What this process tells the others of its ranks.
Offer offer_of(const GroupState& state);

// Makes all ranks' memory readable for kernels on this process's GPUs, as far as that can be, and says how
// far. Errors (corrupted): the offers are not what the settings say.
Result<std::vector<Pair>> reach_all(GroupState& state, std::span<const Offer> offers,
                                    const std::string& machine);

// How a group's calls are played, once its ranks' memory is in place. kernel_player.cc: by kernels that
// interpret programs. copy_player.cc: by the host, which has copy engines and reductions do the same
// programs.
class Player {
 public:
  virtual ~Player() = default;
  // What run() names until the next prepare(). `call` as compiled.
  virtual Result<void> prepare(const collective::Algorithm& algorithm, const collective::Layout& layout,
                               const collective::Call& call, Deadline deadline) = 0;
  // Tells the GPUs `calls.count` calls; does not wait for them. Each context's start and stop are recorded
  // around.
  virtual Result<void> begin(Calls calls) = 0;
  // Kernels are told to leave.
  virtual void stop() = 0;
  // Which rank was not done, where it stood, and for whom it waited; empty: all were done. After stop(), when
  // all has left that will.
  virtual std::string where_stood() = 0;
};

Result<std::unique_ptr<Player>> make_kernel_player(GroupState& state);
Result<std::unique_ptr<Player>> make_copy_player(GroupState& state);

}  // namespace ringtrue::transport::cuda
