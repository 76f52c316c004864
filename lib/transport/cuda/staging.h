// Copies bytes between ordinary host memory and a GPU through two pinned buffers, so that one is filled
// while the other is on its way. For little things, and for transports that know host memory only.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

// Asks `done` until it says so. Errors: its own; deadline.
Result<void> poll(const std::function<Result<bool>()>& done, const Gpu& gpu, Deadline deadline);
// Until the stream has done all that is queued on it. Errors: what went wrong on it; deadline.
Result<void> wait_for(Stream& stream, const Gpu& gpu, Deadline deadline);

class StagingCopier {
 public:
  static constexpr std::uint64_t buffer_bytes = 4 << 20;

  static Result<StagingCopier> make(Device& device);  // both outlive it

  // In order with what was queued on the stream before; done on return.
  Result<void> to_gpu(Stream& stream, std::byte* into, const std::byte* from, std::uint64_t bytes,
                      Deadline deadline);
  Result<void> to_host(Stream& stream, std::byte* into, const std::byte* from, std::uint64_t bytes,
                       Deadline deadline);

 private:
  struct Buffer {
    std::unique_ptr<Memory> memory;
    std::unique_ptr<Event> done;  // with the copy from or to the GPU
  };
  Result<void> wait(Buffer& buffer, Deadline deadline);

  const Gpu* gpu_ = nullptr;
  Buffer buffers_[2];
};

}  // namespace ringtrue::transport::cuda
