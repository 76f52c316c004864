// Who computes on a GPU: NVML knows, whose library comes with the driver and is opened for this alone.
#include <dlfcn.h>
#include <fmt/format.h>

#include "transport/cuda/module/device_guard.cuh"

namespace ringtrue::transport::cuda {
namespace {

// As nvml.h has them, which does not come with CUDA.
using Handle = void*;
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned instance, compute_instance;
};
constexpr int insufficient_size = 7;
constexpr unsigned max_processes = 4096;

class Nvml {
 public:
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    open_ = library_ && call("nvmlInit_v2") == 0;
  }
  ~Nvml() {
    if (open_) call("nvmlShutdown");
    if (library_) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;

  bool open() const { return open_; }
  bool knows(const char* function) const { return ::dlsym(library_, function); }
  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const {
    const auto it = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, function));
    return it ? it(arguments...) : -1;
  }

 private:
  void* library_;
  bool open_ = false;
};

}  // namespace

Result<std::vector<GpuProcess>> gpu_processes_of(const Gpu& gpu) {
  const Nvml nvml;
  if (!nvml.open()) return fail(Cause::unavailable, "NVML cannot be asked: libnvidia-ml.so.1 does not start");
  Handle device = nullptr;
  if (const int got = nvml.call("nvmlDeviceGetHandleByUUID", gpu.uuid.c_str(), &device); got != 0)
    return fail(Cause::unavailable, fmt::format("NVML does not know {} (error {})", gpu.text(), got));
  const char* const ask = nvml.knows("nvmlDeviceGetComputeRunningProcesses_v3")
                              ? "nvmlDeviceGetComputeRunningProcesses_v3"
                              : "nvmlDeviceGetComputeRunningProcesses_v2";
  std::vector<Process> processes(64);
  for (;;) {
    auto count = unsigned(processes.size());
    const int got = nvml.call(ask, device, &count, processes.data());
    if (got == 0) {
      processes.resize(std::min<std::size_t>(count, processes.size()));
      break;
    }
    if (got != insufficient_size || processes.size() >= max_processes)
      return fail(Cause::unavailable,
                  fmt::format("NVML does not tell who computes on {} (error {})", gpu.text(), got));
    processes.resize(processes.size() * 4);
  }
  std::vector<GpuProcess> found;
  for (const Process& process : processes) {
    GpuProcess one{int(process.pid), {}, process.bytes == ~0ull ? 0 : process.bytes};
    char name[256] = "";
    if (nvml.call("nvmlSystemGetProcessName", process.pid, name, unsigned(sizeof name - 1)) == 0)
      one.name = name;
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace ringtrue::transport::cuda
