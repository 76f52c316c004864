#include <fmt/format.h>

#include <cctype>

#include "transport/cuda/module/home.cuh"

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
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorMpsRpcFailure:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

Error error_of(const std::string& what, const std::string& gpu, cudaError_t error) {
  cudaGetLastError();  // what is told here must not be told again by a later call
  Error made{is_fatal(error) ? Cause::peer_lost : Cause::unavailable,
             fmt::format("cannot {} on {}: {} ({})", what, gpu, lower(cudaGetErrorString(error)),
                         cudaGetErrorName(error)),
             {},
             {}};
  if (error == cudaErrorMemoryAllocation) {
    made.next = "smaller sizes or fewer ranks on this GPU; see nvidia-smi for who holds its memory";
  } else if (error == cudaErrorDevicesUnavailable) {
    made.next = "the GPU is in exclusive mode and taken: see nvidia-smi -q -d COMPUTE";
  } else if (is_fatal(error)) {
    made.next = "look for this GPU's errors in dmesg (Xid) and nvidia-smi -q; a new run starts it anew";
  }
  return made;
}

}  // namespace ringtrue::transport::cuda
