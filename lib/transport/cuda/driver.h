// Everything that is asked of CUDA, without anybody's headers: behind it is a module that is opened where
// there is one (load.h), and in tests a driver that is scripted (tests/support/fake_cuda.h).
//
// The names are CUDA's; what is not said here is as its documentation says. Destructors give back what they
// stand for; streams, events and memory go before their device, devices before the driver. A device is used
// by one thread at a time.
//
// Errors name the GPU, its UUID and CUDA's own cause. unavailable: no memory, no such feature, no access;
// peer_lost: the GPU is gone or its context is broken, and only a new process can use it again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "transport/cuda/jobs.h"

namespace ringtrue::transport::cuda {

struct Gpu {
  int index = 0;                     // as CUDA counts them in this process
  std::string name = {}, uuid = {};  // "NVIDIA H100 80GB HBM3", "GPU-8d1c..."
  std::string pci = {};              // "0000:1b:00.0"
  int major = 0, minor = 0;          // compute capability
  int processors = 0;                // multiprocessors
  std::uint64_t memory = 0;          // bytes
  bool cooperative = true;           // can start a kernel with all of its blocks at once, or not at all

  std::string text() const { return "GPU " + std::to_string(index) + " (" + uuid + ")"; }
};

enum class MemoryKind : std::uint8_t {
  device,
  pinned,    // host memory that every GPU sees at the same address
  pageable,  // ordinary host memory: copies go through the driver's own buffers
};

class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* at()
      const = 0;  // aligned to 256 bytes; kernels and the host (pinned) use the same address
  virtual std::uint64_t bytes() const = 0;
};

class Event {
 public:
  virtual ~Event() = default;
  virtual Result<bool> reached() = 0;                       // true as well if it was never recorded
  virtual Result<Seconds> since(const Event& earlier) = 0;  // both reached
};

class Stream;

// What was queued on a stream between begin_capture() and end_capture(), to be done again by one call.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual Result<void> launch(Stream& stream) = 0;
};

// Does in order what is queued on it; nothing here waits for the GPU.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Result<void> copy(std::byte* into, const std::byte* from, std::uint64_t bytes) = 0;  // any memory
  virtual Result<void> run(const Interpretation& job) = 0;
  virtual Result<void> run(const Reduction& job) = 0;
  virtual Result<void> run(const Fill& job) = 0;
  virtual Result<void> run(const Check& job) = 0;
  virtual Result<void> run(const Bitmap& job) = 0;
  virtual Result<void> record(Event& event) = 0;
  virtual Result<void> wait(const Event& event) = 0;  // for what was recorded last; of any device
  virtual Result<bool> idle() = 0;                    // has done all; or the error that came up on the way
  virtual Result<void> begin_capture() = 0;
  virtual Result<std::unique_ptr<Graph>> end_capture() = 0;
  virtual void* native() = 0;  // CUDA's own stream, for libraries that are to work on it
};

using IpcHandle = std::array<std::byte, 64>;

// Bytes of a GPU's memory.
struct Room {
  std::uint64_t free = 0, total = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Gpu& gpu() const = 0;
  virtual Result<Room> room() = 0;

  virtual Result<std::unique_ptr<Memory>> allocate(MemoryKind kind,
                                                   std::uint64_t bytes) = 0;  // device: zeroed
  // Pins host memory that is there already, in whole pages; it stays the caller's.
  virtual Result<std::unique_ptr<Memory>> pin(std::byte* at, std::uint64_t bytes) = 0;
  virtual Result<std::unique_ptr<Stream>> make_stream() = 0;
  virtual Result<std::unique_ptr<Event>> make_event() = 0;

  // Blocks of the interpreter for this type and operation that are resident at once on the whole GPU.
  virtual Result<int> resident_blocks(std::uint8_t type, std::uint8_t operation) = 0;

  // Whether kernels here can read and write `peer`'s memory, and making it so. Twice is as good as once.
  virtual Result<bool> can_access(int peer) = 0;
  virtual Result<void> enable_access(int peer) = 0;

  // For other processes on this machine: the whole of an allocate()d device memory. To be opened elsewhere
  // only.
  virtual Result<IpcHandle> share(const Memory& memory) = 0;
  virtual Result<std::unique_ptr<Memory>> open_shared(const IpcHandle& handle, std::uint64_t bytes) = 0;
  // A dma-buf descriptor, the caller's to close, for a range of device memory in whole pages of the host.
  virtual Result<int> dma_buf(std::byte* at, std::uint64_t bytes) = 0;
};

// A process that computes on a GPU, as NVML tells.
struct GpuProcess {
  int pid = 0;
  std::string name = {};    // of its program; may be empty
  std::uint64_t bytes = 0;  // of the GPU's memory; 0: unknown
};

class Driver {
 public:
  virtual ~Driver() = default;
  // Makes no context. At least one.
  virtual Result<std::vector<Gpu>> gpus() = 0;
  // Makes a context, or uses the process's own.
  virtual Result<std::unique_ptr<Device>> open(int index) = 0;
  // Makes no context either. This process is among them once it has opened the GPU.
  virtual Result<std::vector<GpuProcess>> gpu_processes(int index) = 0;
  // GPUs that nobody else computed on when this process first used them. Kept here because a process in a
  // container may not know itself among those processes.
  std::set<int> taken;
  virtual std::string version() const = 0;  // "CUDA 13.0, driver 13.0"
};

}  // namespace ringtrue::transport::cuda
