// One rank's data in a GPU's memory, for a rank that is played in the host's: filled and compared there, and
// copied to and fro.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "engine/values/job.h"
#include "run/job.h"
#include "transport/cuda/driver.h"

namespace ringtrue::engine {

class DeviceData {
 public:
  // `host`: the rank's place in pinned host memory, as long as its data. It, job and values outlive this.
  // `at`: where its data is, on the GPU; nullptr: in memory of its own.
  static Result<std::unique_ptr<DeviceData>> make(transport::cuda::Driver& driver, int gpu,
                                                  const run::Job& job, const JobValues& values,
                                                  collective::Rank rank, std::byte* host,
                                                  std::byte* at = nullptr);

  // Done on return. What repeats is written and compared by the GPU; other values pass through the host's
  // memory.
  Result<void> fill();
  Result<Mismatch> check(bool everything);

  // Between the two memories, at the same offset; in order, on a stream for each direction.
  Result<void> down(std::uint64_t offset, std::uint64_t length);
  Result<void> up(std::uint64_t offset, std::uint64_t length);
  transport::cuda::Stream& down_stream() { return *down_; }
  transport::cuda::Stream& up_stream() { return *up_; }
  transport::cuda::Device& device() { return *device_; }
  std::byte* at() const { return at_; }
  const std::byte* host() const { return host_; }

 private:
  DeviceData(const run::Job& job, const JobValues& values, collective::Rank rank, std::byte* host,
             std::byte* at)
      : job_(job), values_(values), rank_(rank), host_(host), at_(at) {}
  Result<void> open(transport::cuda::Driver& driver, int gpu);
  Result<void> wait(transport::cuda::Stream& stream);
  std::byte* table(int which) const;  // 0: input, 1: expected, 2: poison, 3: what was found

  const run::Job& job_;
  const JobValues& values_;
  collective::Rank rank_;
  std::byte *host_, *at_;
  std::optional<JobValues::Pattern> pattern_;
  std::unique_ptr<transport::cuda::Device> device_;
  std::unique_ptr<transport::cuda::Memory> memory_, tables_;
  std::unique_ptr<transport::cuda::Stream> down_, up_;  // these go first
};

}  // namespace ringtrue::engine
