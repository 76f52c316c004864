#include "engine/device/data.h"

#include <algorithm>

#include "transport/cuda/staging.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

constexpr Seconds patience{60};  // for a fill, a check, or one copy
constexpr std::uint64_t max_table = 64 * 1024;

}  // namespace

Result<std::unique_ptr<DeviceData>> DeviceData::make(cuda::Driver& driver, int gpu, const run::Job& job,
                                                     const JobValues& values, collective::Rank rank,
                                                     std::byte* host, std::byte* at) {
  std::unique_ptr<DeviceData> made(new DeviceData(job, values, rank, host, at));
  if (auto opened = made->open(driver, gpu); !opened) return tl::unexpected(opened.error());
  return made;
}

Result<void> DeviceData::open(cuda::Driver& driver, int gpu) {
  Result<void> done = assign(device_, driver.open(gpu));
  const std::uint64_t bytes = std::max<std::uint64_t>(job_.call.bytes(), 256);
  if (done && !at_) done = assign(memory_, device_->allocate(cuda::MemoryKind::device, bytes));
  if (done && memory_) at_ = memory_->at();
  if (done) done = assign(tables_, device_->allocate(cuda::MemoryKind::device, 3 * max_table + 256));
  for (auto* stream : {&down_, &up_})
    if (done) done = assign(*stream, device_->make_stream());
  pattern_ = values_.pattern(rank_);
  if (!done || !pattern_) return done;
  int which = 0;
  for (const auto* each : {&pattern_->input, &pattern_->expected, &pattern_->poison})
    if (done) done = up_->copy(table(which++), each->data(), each->size());
  return done ? wait(*up_) : done;
}

std::byte* DeviceData::table(int which) const {
  return tables_->at() + std::uint64_t(which) * max_table;
}

Result<void> DeviceData::wait(cuda::Stream& stream) {
  return cuda::wait_for(stream, device_->gpu(), Deadline::in(patience));
}

Result<void> DeviceData::fill() {
  const auto size = std::uint32_t(size_of(job_.call.type));
  Result<void> told;
  if (job_.call.elements == 0) return told;
  if (pattern_) {
    told = up_->run(
        cuda::Fill{at(), table(0), job_.call.elements, std::uint32_t(pattern_->input.size() / size), size});
  } else {
    values_.fill(rank_, host_, true);
    told = up(0, job_.call.bytes());
  }
  return told ? wait(*up_) : told;
}

Result<Mismatch> DeviceData::check(bool everything) {
  const auto size = std::uint32_t(size_of(job_.call.type));
  if (job_.call.elements == 0) return Mismatch{};
  Result<void> told;
  cuda::Found found;
  auto* const bytes = reinterpret_cast<std::byte*>(&found);
  if (pattern_) {
    told = down_->copy(table(3), bytes, sizeof found);
    if (told)
      told =
          down_->run(cuda::Check{at(), table(1), table(2), reinterpret_cast<cuda::Found*>(table(3)),
                                 job_.call.elements, std::uint32_t(pattern_->expected.size() / size), size});
    if (told) told = down_->copy(bytes, table(3), sizeof found);
  } else {
    told = down(0, job_.call.bytes());
  }
  if (told) told = wait(*down_);
  if (!told) return tl::unexpected(told.error());
  if (!pattern_) return values_.check(rank_, host_, everything);
  return found.count > 0 ? Mismatch{found.count, found.first} : Mismatch{};
}

Result<void> DeviceData::down(std::uint64_t offset, std::uint64_t length) {
  return down_->copy(host_ + offset, at() + offset, length);
}

Result<void> DeviceData::up(std::uint64_t offset, std::uint64_t length) {
  return up_->copy(at() + offset, host_ + offset, length);
}

}  // namespace ringtrue::engine
