#include "transport/cuda/staging.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstring>

namespace ringtrue::transport::cuda {

Result<void> poll(const std::function<Result<bool>()>& done, const Gpu& gpu, Deadline deadline) {
  for (int turn = 0;; ++turn) {
    const Result<bool> over = done();
    if (!over) return tl::unexpected(over.error());
    if (*over) return {};
    if (deadline.passed()) return fail(Cause::deadline, fmt::format("{} did not finish in time", gpu.text()));
    const timespec nap{0, 50'000};
    turn < 1000 ? void(sched_yield()) : void(nanosleep(&nap, nullptr));
  }
}

Result<void> wait_for(Stream& stream, const Gpu& gpu, Deadline deadline) {
  return poll([&] { return stream.idle(); }, gpu, deadline);
}

Result<StagingCopier> StagingCopier::make(Device& device) {
  StagingCopier staging;
  staging.gpu_ = &device.gpu();
  for (Buffer& buffer : staging.buffers_) {
    Result<void> made = assign(buffer.memory, device.allocate(MemoryKind::pinned, buffer_bytes));
    if (made) made = assign(buffer.done, device.make_event());
    if (!made) return tl::unexpected(made.error());
  }
  return staging;
}

Result<void> StagingCopier::wait(Buffer& buffer, Deadline deadline) {
  return poll([&] { return buffer.done->reached(); }, *gpu_, deadline);
}

Result<void> StagingCopier::to_gpu(Stream& stream, std::byte* into, const std::byte* from,
                                   std::uint64_t bytes, Deadline deadline) {
  int turn = 0;
  for (std::uint64_t at = 0; at < bytes; at += buffer_bytes, turn ^= 1) {
    const std::uint64_t length = std::min(buffer_bytes, bytes - at);
    Buffer& buffer = buffers_[turn];
    if (auto waited = wait(buffer, deadline); !waited) return waited;
    std::memcpy(buffer.memory->at(), from + at, length);
    if (auto copied = stream.copy(into + at, buffer.memory->at(), length); !copied) return copied;
    if (auto recorded = stream.record(*buffer.done); !recorded) return recorded;
  }
  return wait_for(stream, *gpu_, deadline);
}

Result<void> StagingCopier::to_host(Stream& stream, std::byte* into, const std::byte* from,
                                    std::uint64_t bytes, Deadline deadline) {
  const auto length = [&](std::uint64_t at) { return std::min(buffer_bytes, bytes - at); };
  const auto fetch = [&](std::uint64_t at, Buffer& buffer) -> Result<void> {
    if (auto copied = stream.copy(buffer.memory->at(), from + at, length(at)); !copied) return copied;
    return stream.record(*buffer.done);
  };
  if (!bytes) return {};
  if (auto first = fetch(0, buffers_[0]); !first) return first;
  int turn = 0;
  for (std::uint64_t at = 0; at < bytes; at += buffer_bytes, turn ^= 1) {
    if (bytes - at > buffer_bytes)
      if (auto next = fetch(at + buffer_bytes, buffers_[turn ^ 1]); !next) return next;
    if (auto waited = wait(buffers_[turn], deadline); !waited) return waited;
    std::memcpy(into + at, buffers_[turn].memory->at(), length(at));
  }
  return {};
}

}  // namespace ringtrue::transport::cuda
