// Finds and opens the CUDA module, libringtrue-cuda.so. The program needs neither the module nor CUDA: what
// is missing is said in one line.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

// Rises when driver.h or jobs.h change: a module of another build is refused.
inline constexpr std::uint32_t abi = 5;

// What the module exports as ringtrue_cuda_entry. `make` returns nullptr and says why in `error`.
struct Entry {
  std::uint32_t abi;
  Driver* (*make)(Error& error);
};
using EntryFunction = const Entry* (*)();
inline constexpr const char* entry_name = "ringtrue_cuda_entry";
inline constexpr const char* module_name = "libringtrue-cuda.so";

// Opens `module`, for GPUs that `driver_library` drives. All errors are `unavailable`.
Result<std::unique_ptr<Driver>> load(const std::string& module,
                                     const std::string& driver_library = "libcuda.so.1");

// The machine's own driver, opened when it is first asked; of the process, thread-safe. RINGTRUE_CUDA=off
// refuses it.
Result<Driver*> system_driver();

}  // namespace ringtrue::transport::cuda
