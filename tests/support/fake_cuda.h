// GPUs without GPUs: a machine that is scripted, whose processes are drivers (transport/cuda/driver.h) that
// really move bytes, in host memory. Every stream is a thread; kernels run their real bodies, with a thread
// for each block.
//
// It is stricter than hardware: a kernel that touches memory that is not there, or that its GPU has no access
// to, ends its process's use of that GPU.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/cuda/driver.h"

namespace ringtrue::test {

struct FakeGpu {
  std::uint64_t memory = 256 << 20;
  int resident_blocks = 16;
  bool cooperative = true;
};

// One machine with its GPUs; outlives the drivers that it makes. Script it before they are used; `lose` at
// any time.
class FakeMachine {
 public:
  explicit FakeMachine(std::vector<FakeGpu> gpus = {FakeGpu{}})
      : gpus_(std::move(gpus)), used_(gpus_.size()) {}

  std::unique_ptr<transport::cuda::Driver> process();

  std::set<std::pair<int, int>> no_access;    // (GPU, whose memory it cannot read)
  std::set<std::pair<int, int>> not_enabled;  // the same, where only enabling it tells
  bool no_ipc = false;
  bool no_pinned = false;
  bool dmabuf = false;                                                      // GPU memory can be exported
  std::function<void(const std::byte* at, std::uint64_t bytes)> allocated;  // told of GPU memory
  std::optional<int> stuck_rank;  // plays nothing of its programs until the abort word is set
  bool deaf = false;              // the stuck rank's kernel does not even then leave, until release()
  std::map<int, std::vector<transport::cuda::GpuProcess>> gpu_processes;  // by GPU
  bool no_nvml = false;
  std::atomic<int> lost{-1};  // a GPU that has fallen off the bus
  std::atomic<bool> released{false};
  std::atomic<bool> held{false};  // streams stand still

  std::atomic<int> launches{0};               // interpreting kernels
  std::atomic<int> reductions{0}, copies{0};  // of streams
  std::atomic<int> staged{0};                 // copies from or to a GPU that the stream's has no access to
  std::atomic<int> alive{0};                  // objects that have not been given back
  std::atomic<int> freed_early{0};            // pieces of memory that other processes still had open
  std::uint64_t used(int gpu) const;          // bytes

  // For the drivers.
  struct Allocation {
    std::uint64_t bytes = 0;
    int gpu = -1;    // -1: host memory, for every GPU
    int opened = 0;  // by other processes, now
  };
  mutable std::mutex mutex_;
  std::vector<FakeGpu> gpus_;
  std::vector<std::uint64_t> used_;
  std::map<const std::byte*, Allocation> allocations_;  // by address; of device and pinned memory
};

}  // namespace ringtrue::test
