// The driver of a machine's own GPUs, on the CUDA runtime. The runtime is linked statically and opens
// libcuda.so.1 by itself; what it has not got is asked for by name.
#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "transport/cuda/load.h"
#include "transport/cuda/module/device_guard.cuh"
#include "transport/cuda/module/kernels.h"

namespace ringtrue::transport::cuda {
namespace {

class Block final : public Memory {
 public:
  Block(const DeviceGuard& guard, void* at, std::uint64_t bytes, cudaError_t (*free)(void*))
      : guard_(guard), at_(static_cast<std::byte*>(at)), bytes_(bytes), free_(free) {}
  ~Block() override {
    guard_.quietly([&] { return free_(at_); });
  }
  std::byte* at() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  DeviceGuard guard_;
  std::byte* at_;
  std::uint64_t bytes_;
  cudaError_t (*free_)(void*);
};

class RealDevice final : public Device {
 public:
  explicit RealDevice(const DeviceGuard& guard) : guard_(guard) {}

  const Gpu& gpu() const override { return guard_.gpu; }

  Result<Room> room() override {
    std::size_t free = 0, total = 0;
    return guard_.call("ask for memory", [&] { return cudaMemGetInfo(&free, &total); }).map([&] {
      return Room{free, total};
    });
  }

  Result<std::unique_ptr<Memory>> allocate(MemoryKind kind, std::uint64_t bytes) override {
    void* at = nullptr;
    bytes = std::max<std::uint64_t>(bytes, 1);
    if (kind == MemoryKind::pageable) {
      constexpr std::size_t alignment = 256;
      at = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      if (!at) return fail(Cause::unavailable, fmt::format("cannot allocate {} bytes of host memory", bytes));
      return block(
          at, bytes, +[](void* p) { return std::free(p), cudaSuccess; });
    }
    const std::string what =
        fmt::format("allocate {} bytes{}", bytes, kind == MemoryKind::pinned ? " of pinned host memory" : "");
    auto made = guard_.call(what.c_str(), [&] {
      if (kind == MemoryKind::pinned)
        return cudaHostAlloc(&at, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
      if (const cudaError_t error = cudaMalloc(&at, bytes); error != cudaSuccess) return error;
      // Streams of ours do not wait for the default one, on which this is done.
      if (const cudaError_t error = cudaMemset(at, 0, bytes); error != cudaSuccess) return error;
      return cudaStreamSynchronize(nullptr);
    });
    if (!made) {
      if (kind == MemoryKind::device && at) guard_.quietly([&] { return cudaFree(at); });
      return tl::unexpected(made.error());
    }
    if (kind == MemoryKind::pinned) std::memset(at, 0, bytes);
    return block(at, bytes, kind == MemoryKind::pinned ? cudaFreeHost : free_device);
  }

  Result<std::unique_ptr<Memory>> pin(std::byte* at, std::uint64_t bytes) override {
    return guard_
        .call("pin host memory",
              [&] { return cudaHostRegister(at, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped); })
        .map([&] { return block(at, bytes, cudaHostUnregister); });
  }

  Result<std::unique_ptr<Stream>> make_stream() override { return cuda::make_stream(guard_); }
  Result<std::unique_ptr<Event>> make_event() override { return cuda::make_event(guard_); }

  Result<int> resident_blocks(std::uint8_t type, std::uint8_t operation) override {
    int blocks = 0;
    const auto ask = [&] {
      int error = 0;
      blocks = kernels::resident_blocks(type, operation, guard_.gpu.processors, error);
      return error;
    };
    return guard_.call("ask for the kernels' size", ask).map([&] { return blocks; });
  }

  Result<bool> can_access(int peer) override {
    int can = 0;
    const auto ask = [&] { return cudaDeviceCanAccessPeer(&can, guard_.gpu.index, peer); };
    return guard_.call("ask for peer access", ask).map([&] { return can != 0; });
  }
  Result<void> enable_access(int peer) override {
    return guard_.call("enable peer access", [&] {
      const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
      return error == cudaErrorPeerAccessAlreadyEnabled ? cudaGetLastError(), cudaSuccess : error;
    });
  }

  Result<IpcHandle> share(const Memory& memory) override {
    cudaIpcMemHandle_t handle;
    return guard_.call("share memory", [&] { return cudaIpcGetMemHandle(&handle, memory.at()); }).map([&] {
      return std::bit_cast<IpcHandle>(handle);
    });
  }
  Result<std::unique_ptr<Memory>> open_shared(const IpcHandle& bytes, std::uint64_t length) override {
    const auto handle = std::bit_cast<cudaIpcMemHandle_t>(bytes);
    void* at = nullptr;
    const auto open = [&] { return cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess); };
    return guard_.call("open another process's memory", open).map([&] {
      return block(at, length, cudaIpcCloseMemHandle);
    });
  }

  Result<int> dma_buf(std::byte* at, std::uint64_t bytes) override {
    using Get = CUresult (*)(void*, CUdeviceptr, std::size_t, CUmemRangeHandleType, unsigned long long);
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    auto asked = guard_.call("export a dma-buf", [&] {
      return cudaGetDriverEntryPointByVersion("cuMemGetHandleForAddressRange", &function, 11070,
                                              cudaEnableDefault, &found);
    });
    if (!asked) return tl::unexpected(asked.error());
    if (!function || found != cudaDriverEntryPointSuccess)
      return fail(Cause::unavailable, fmt::format("the driver of {} exports no dma-buf", guard_.gpu.text()),
                  {}, "use nvidia_peermem, or a driver from 515 on");
    int descriptor = -1;
    const CUresult got = reinterpret_cast<Get>(function)(&descriptor, reinterpret_cast<CUdeviceptr>(at),
                                                         bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    if (got != CUDA_SUCCESS)
      return fail(Cause::unavailable,
                  fmt::format("{} exports no dma-buf (CUresult {})", guard_.gpu.text(), int(got)), {},
                  "the open kernel modules of the driver are needed, or nvidia_peermem");
    return descriptor;
  }

 private:
  static cudaError_t free_device(void* at) { return cudaFree(at); }
  std::unique_ptr<Memory> block(void* at, std::uint64_t bytes, cudaError_t (*free)(void*)) const {
    return std::make_unique<Block>(guard_, at, bytes, free);
  }

  DeviceGuard guard_;
};

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

class RealDriver final : public Driver {
 public:
  RealDriver(std::vector<Gpu> gpus, int driver, int runtime)
      : gpus_(std::move(gpus)), driver_(driver), runtime_(runtime) {}
  Result<std::vector<Gpu>> gpus() override { return gpus_; }
  Result<std::unique_ptr<Device>> open(int index) override {
    if (index < 0 || std::size_t(index) >= gpus_.size())
      return fail(Cause::bad_input, fmt::format("no GPU {}: there are {}", index, gpus_.size()));
    const DeviceGuard guard{gpus_[std::size_t(index)]};
    // The first call that needs it makes the context: here, so that its error is told by its name.
    if (auto context = guard.call("make a context", [] { return cudaFree(nullptr); }); !context)
      return tl::unexpected(context.error());
    return std::make_unique<RealDevice>(guard);
  }
  Result<std::vector<GpuProcess>> gpu_processes(int index) override {
    return gpu_processes_of(gpus_[std::size_t(index)]);
  }
  std::string version() const override {
    return fmt::format("CUDA {}, driver {}", version_text(runtime_), version_text(driver_));
  }

 private:
  std::vector<Gpu> gpus_;
  int driver_, runtime_;
};

Driver* make(Error& error) {
  // GPU 1 is to be the one that nvidia-smi calls so, also among unlike ones. (What it is set to is
  // respected.)
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  // Kernels wait for those of other GPUs here: a launch that waits for its kernel would not let them come.
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && count == 0)) {
    error = {Cause::unavailable, "no NVIDIA GPU here", {}, "see nvidia-smi -L and CUDA_VISIBLE_DEVICES"};
    return nullptr;
  }
  if (counted == cudaErrorInsufficientDriver) {
    error = {Cause::unavailable,
             driver ? fmt::format("the NVIDIA driver is too old: it is for CUDA {}, and {} is needed",
                                  version_text(driver), version_text(runtime))
                    : "no NVIDIA driver",
             {},
             "install a newer driver"};
    return nullptr;
  }
  if (counted != cudaSuccess) {
    error = error_of("count GPUs", "this node", counted);
    return nullptr;
  }
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (const cudaError_t asked = cudaGetDeviceProperties(&properties, i); asked != cudaSuccess) {
      error = error_of("ask for its properties", fmt::format("GPU {}", i), asked);
      return nullptr;
    }
    Gpu gpu;
    gpu.index = i;
    gpu.name = properties.name;
    gpu.uuid = uuid_text(properties.uuid);
    gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID,
                          properties.pciDeviceID);
    gpu.major = properties.major;
    gpu.minor = properties.minor;
    gpu.processors = properties.multiProcessorCount;
    gpu.memory = properties.totalGlobalMem;
    gpu.cooperative = properties.cooperativeLaunch != 0;
    gpus.push_back(std::move(gpu));
  }
  return new RealDriver(std::move(gpus), driver, runtime);
}

}  // namespace
}  // namespace ringtrue::transport::cuda

extern "C" [[gnu::visibility("default")]] const ringtrue::transport::cuda::Entry* ringtrue_cuda_entry() {
  static constexpr ringtrue::transport::cuda::Entry entry{ringtrue::transport::cuda::abi,
                                                          ringtrue::transport::cuda::make};
  return &entry;
}
