#include <fmt/format.h>

#include <cctype>

#include "transport/cuda/module/device_guard.cuh"

namespace ringtrue::transport::cuda {
namespace {

std::string lower(std::string text) {
  if (!text.empty()) text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// After these the context is of no use any more.
bool is_fatal(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContextIsDestroyed:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorExternalDevice:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

// What to do about it; empty: nothing that is known.
const char* next_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "smaller sizes or fewer ranks on this GPU; see nvidia-smi for who holds its memory";
    case cudaErrorDevicesUnavailable:
      return "the GPU is in exclusive mode and taken: see nvidia-smi -q -d COMPUTE";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "build ringtrue for its compute capability (RINGTRUE_CUDA_ARCHITECTURES); see nvidia-smi "
             "--query-gpu=compute_cap --format=csv";
    case cudaErrorSystemNotReady:
      return "its NVSwitches are not set up: see systemctl status nvidia-fabricmanager, and nvidia-smi -q";
    case cudaErrorSystemDriverMismatch:
      return "the driver was replaced while its kernel module stayed: load the new module, or restart the "
             "machine";
    case cudaErrorInitializationError:
      return "see that /dev/nvidia-uvm is there: nvidia-modprobe -u -c 0 makes it";
    default:
      return is_fatal(error)
                 ? "look for this GPU's errors in dmesg (Xid) and nvidia-smi -q; a new run starts it anew"
                 : "";
  }
}

}  // namespace

Error error_of(const std::string& what, const std::string& gpu, cudaError_t error) {
  cudaGetLastError();  // what is told here must not be told again by a later call
  return {is_fatal(error) ? Cause::peer_lost : Cause::unavailable,
          fmt::format("cannot {} on {}: {} ({})", what, gpu, lower(cudaGetErrorString(error)),
                      cudaGetErrorName(error)),
          {},
          next_of(error)};
}

}  // namespace ringtrue::transport::cuda
