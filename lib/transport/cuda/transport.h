// Collectives on GPU memory: the ranks of one node, in one process or several, reach each other's memory
// directly.
//
//   Group::open     memory and streams for the ranks that live in this process
//   offer / connect each process's Offer goes to all others (nothing to do in one process); ways are chosen
//   run             one call on all of them: kernels that interpret compiled programs (dataflow.h), or the
//   host
//                   driving copy engines through the same programs
//
// A group's data lies in its own device memory: fill it and check it there (upload/download for little
// things). Memory is bounded by what Settings say plus some MiB of programs and staging, and given back by
// the destructor. One thread at a time, but for abort(). After an error in run() a group is fit only for
// destruction.
//
// Where choose() refuses (unavailable) because ranks of two processes share one GPU or may not share memory,
// calls are played in host memory by the engine's other transports, with download() and upload() around them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collective/algorithm.h"
#include "transport/cuda/driver.h"
#include "transport/cuda/offer.h"
#include "transport/cuda/ways.h"

namespace ringtrue::transport::cuda {

struct Seat {
  int process = 0;
  int gpu = 0;  // as CUDA counts them in that process
  auto operator<=>(const Seat&) const = default;
};

struct Settings {
  std::vector<Seat> seats;  // by rank; any number of ranks may share a GPU in one process
  int process = 0;          // this one
  std::uint64_t data_bytes = 0, scratch_bytes = 0;  // the most that a rank's buffer and its scratch will hold
  Play play = Play::automatic;
};

// Under way at a time: a full queue would hold up the host for as long as a kernel hangs.
inline constexpr int max_calls = 256;
struct Calls {
  int count = 1;       // back to back, each on what the one before left; at most max_calls
  bool graph = false;  // captured once and replayed: for short calls
};

// Of `count` calls, on each GPU of this process, by its own clock.
struct Times {
  std::vector<Seconds> by_gpu;  // of one call
  Seconds slowest;
};

class Group {
 public:
  // For up to max_ranks ranks, some of which live here. Errors: unavailable with the GPU's name for memory
  // that is not to be had.
  static Result<std::unique_ptr<Group>> open(Driver& driver, Settings settings);
  virtual ~Group() = default;

  virtual const Offer& offer() const = 0;
  // The offers of all processes, this one's included, in order.
  virtual Result<void> connect(std::span<const Offer> offers) = 0;
  virtual const Choices& choices() const = 0;  // once connected
  // Lets go of other processes' memory, until it is connected again. What comes of memory that its owner
  // frees before all have let go, CUDA leaves undefined: all processes do this after their last call, and
  // none is destroyed before. (Where a run failed, they end with their processes, and the driver sees to it.)
  virtual void disconnect() = 0;

  // A rank that lives here: its GPU, the stream its work is on, its buffer.
  virtual Device& device(collective::Rank rank) = 0;
  virtual Stream& stream(collective::Rank rank) = 0;
  virtual std::byte* data(collective::Rank rank) const = 0;  // in whole pages of 4 KiB: see Device::dma_buf

  virtual Result<void> upload(collective::Rank rank, std::uint64_t at, std::span<const std::byte> from,
                              Deadline deadline) = 0;
  virtual Result<void> download(collective::Rank rank, std::uint64_t at, std::span<std::byte> into,
                                Deadline deadline) = 0;
  // Writes `table` over and over; compares with it and overwrites with `poison` (same length, or empty: does
  // not). `size`: bytes of an element; tables are whole elements, at most 1 MiB.
  virtual Result<void> fill(collective::Rank rank, std::span<const std::byte> table, std::uint32_t size,
                            std::uint64_t elements, Deadline deadline) = 0;
  virtual Result<Found> check(collective::Rank rank, std::span<const std::byte> table,
                              std::span<const std::byte> poison, std::uint32_t size, std::uint64_t elements,
                              Deadline deadline) = 0;

  // All processes call it alike. `layout` has as many ranks as there are seats, and the call fits the
  // buffers. Errors: deadline with a rank, the instruction that it stood at and the peer that it waited for;
  // cancelled after abort(); peer_lost for a GPU that is gone.
  virtual Result<Times> run(const collective::Algorithm& algorithm, const collective::Layout& layout,
                            const collective::Call& call, Calls calls, Deadline deadline) = 0;

  // From any thread: what runs is cancelled soon.
  virtual void abort() = 0;
};

}  // namespace ringtrue::transport::cuda
