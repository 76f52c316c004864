#include "engine/device/direct.h"

#include "transport/cuda/staging.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;
namespace verbs = transport::verbs;

namespace {

constexpr Seconds patience{60};  // for one copy

}  // namespace

Result<std::unique_ptr<DeviceRoom>> DeviceRoom::make(cuda::Driver& driver, int gpu, std::uint64_t bytes) {
  std::unique_ptr<DeviceRoom> room(new DeviceRoom());
  constexpr std::uint64_t page = 2 << 20;  // a dma-buf is whole pages of the GPU
  bytes = (bytes + page - 1) / page * page;
  auto made = assign(room->device_, driver.open(gpu));
  if (made) made = assign(room->memory_, room->device_->allocate(cuda::MemoryKind::device, bytes));
  if (made) made = assign(room->stream_, room->device_->make_stream());
  if (!made) return tl::unexpected(made.error());
  return room;
}

verbs::Buffer DeviceRoom::buffer() {
  return {memory_->at(), memory_->bytes(), true,
          [this]() -> Result<verbs::Buffer::Dmabuf> {
            const auto descriptor = device_->dma_buf(memory_->at(), memory_->bytes());
            if (!descriptor) return tl::unexpected(descriptor.error());
            return verbs::Buffer::Dmabuf{OwnedFd(*descriptor), 0};
          },
          this};
}

Result<void> DeviceRoom::copy(std::byte* into, const std::byte* from, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto told = stream_->copy(into, from, bytes); !told) return told;
  return cuda::wait_for(*stream_, device_->gpu(), Deadline::in(patience));
}

Result<void> DeviceRoom::to_host(std::byte* host, const std::byte* from, std::uint64_t bytes) {
  return copy(host, from, bytes);
}

Result<void> DeviceRoom::from_host(std::byte* into, const std::byte* host, std::uint64_t bytes) {
  return copy(into, host, bytes);
}

Result<std::unique_ptr<Store>> DirectStore::make(cuda::Driver& driver, int gpu, const StoreSetup& setup) {
  std::unique_ptr<DirectStore> made(new DirectStore(setup));
  const collective::Rank rank = setup.endpoint.rank();
  if (!setup.values.pattern(rank)) made->host_.resize(setup.job.call.bytes());
  auto data =
      DeviceData::make(driver, gpu, setup.job, setup.values, rank, made->host_.data(), setup.endpoint.data());
  if (auto done = assign(made->data_, std::move(data)); !done) return tl::unexpected(done.error());
  return made;
}

void DirectStore::fill(bool) {
  if (auto filled = data_->fill(); !filled) setup_.listener.failed(filled.error());
}

Mismatch DirectStore::check(bool everything) {
  const auto found = data_->check(everything);
  if (!found) setup_.listener.failed(found.error());
  return found.value_or(Mismatch{});
}

}  // namespace ringtrue::engine
