// A rank played in a GPU's own memory: RDMA sends straight from there, and what arrives is copied into it.
// For processes all of whose messages go over verbs, and whose ranks are on one GPU.
#pragma once

#include <memory>
#include <mutex>

#include "engine/device/data.h"
#include "engine/session/store.h"
#include "transport/verbs/memory.h"

namespace ringtrue::engine {

// GPU memory that ranks are played in, registered by dma-buf or nvidia_peermem.
class DeviceRoom final : public transport::verbs::Copier {
 public:
  static Result<std::unique_ptr<DeviceRoom>> make(transport::cuda::Driver& driver, int gpu,
                                                  std::uint64_t bytes);

  transport::verbs::Buffer buffer();  // this outlives its use

  // Copier, from any thread
  Result<void> to_host(std::byte* host, const std::byte* from, std::uint64_t bytes) override;
  Result<void> from_host(std::byte* into, const std::byte* host, std::uint64_t bytes) override;

 private:
  DeviceRoom() = default;
  Result<void> copy(std::byte* into, const std::byte* from, std::uint64_t bytes);

  std::mutex mutex_;
  std::unique_ptr<transport::cuda::Device> device_;
  std::unique_ptr<transport::cuda::Memory> memory_;
  std::unique_ptr<transport::cuda::Stream> stream_;
};

class DirectStore final : public Store {
 public:
  // The endpoint's memory is the GPU's.
  static Result<std::unique_ptr<Store>> make(transport::cuda::Driver& driver, int gpu,
                                             const StoreSetup& setup);

  void fill(bool fresh) override;
  Mismatch check(bool everything) override;
  collective::Endpoint& begin_call() override { return setup_.endpoint; }
  collective::NonZeroBlocks* non_zero() override { return nullptr; }

 private:
  explicit DirectStore(const StoreSetup& setup) : setup_(setup) {}

  StoreSetup setup_;
  std::vector<std::byte> host_;  // for values that do not repeat
  std::unique_ptr<DeviceData> data_;
};

}  // namespace ringtrue::engine
