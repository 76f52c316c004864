#include "probe/library/nvml_library.h"

#include <fmt/format.h>

#include <string_view>

namespace ringtrue::topology::nvml {

std::string words(Return result) {
  switch (result) {
    case success:
      return "success";
    case uninitialized:
      return "NVML is not initialised";
    case invalid_argument:
      return "invalid argument";
    case not_supported:
      return "not supported";
    case no_permission:
      return "no permission";
    case not_found:
      return "not found";
    case insufficient_size:
      return "more than expected";
    case insufficient_power:
      return "its power cables are not attached";
    case driver_not_loaded:
      return "the driver is not loaded";
    case timeout:
      return "timeout";
    case irq_issue:
      return "the kernel found an interrupt issue";
    case library_not_found:
      return "a library of the driver is missing";
    case function_not_found:
      return "this version of NVML has no such function";
    case corrupted_inforom:
      return "its infoROM is corrupted";
    case gpu_is_lost:
      return "the GPU is lost: it fell off the bus";
    case reset_required:
      return "the GPU needs a reset";
    case operating_system:
      return "the operating system refused";
    case lib_rm_version_mismatch:
      return "NVML and the kernel module are of different versions";
    case memory:
      return "out of memory";
    case no_data:
      return "no data";
    case unknown:
      return "unknown error";
  }
  return fmt::format("error {}", unsigned(result));
}

Result<Library> Library::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = ::dlerror();
    const std::string_view why = text ? text : "";
    if (why.empty() || why.find("No such file") != why.npos)
      return fail(Cause::unavailable, fmt::format("no NVIDIA driver: {} is not installed", name), {},
                  "install NVIDIA's driver, or give the container its libraries");
    return fail(Cause::unavailable, fmt::format("NVML cannot be loaded: {}", why));
  }
  Library library(handle);
  Return result = library.call("nvmlInitWithFlags", init_without_gpus);
  if (result == function_not_found) result = library.call("nvmlInit_v2");
  if (result == function_not_found) result = library.call("nvmlInit");
  switch (result) {
    case success:
      return library;
    case driver_not_loaded:
      return fail(Cause::unavailable, "no NVIDIA driver: its kernel module is not loaded", {},
                  "modprobe nvidia");
    case lib_rm_version_mismatch:
      return fail(Cause::unavailable, "NVML and NVIDIA's kernel module are of different versions", {},
                  "reboot, or reload the module, after an update of the driver");
    case no_permission:
      return fail(Cause::refused, "NVML may not talk to the driver: no permission for /dev/nvidiactl", {},
                  "run as root or as a member of the group of /dev/nvidiactl");
    case function_not_found:
      return fail(Cause::unavailable, fmt::format("{} is no NVML: it has no nvmlInit", name));
    default:
      return fail(Cause::unavailable, fmt::format("NVML does not start: {}", words(result)));
  }
}

Library::~Library() {
  if (handle_) (void)call("nvmlShutdown");
}

}  // namespace ringtrue::topology::nvml
