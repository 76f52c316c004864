#include "probe/library/nvml_library.h"

#include <fmt/format.h>

#include <string_view>

namespace ringtrue::probe::nvml {

std::string words(Return result) {
  constexpr std::pair<Return, const char*> known[] = {
      {success, "success"},
      {uninitialized, "NVML is not initialised"},
      {invalid_argument, "invalid argument"},
      {not_supported, "not supported"},
      {no_permission, "no permission"},
      {not_found, "not found"},
      {insufficient_size, "more than expected"},
      {insufficient_power, "its power cables are not attached"},
      {driver_not_loaded, "the driver is not loaded"},
      {timeout, "timeout"},
      {irq_issue, "the kernel found an interrupt issue"},
      {library_not_found, "a library of the driver is missing"},
      {function_not_found, "this version of NVML has no such function"},
      {corrupted_inforom, "its infoROM is corrupted"},
      {gpu_is_lost, "the GPU is lost: it fell off the bus"},
      {reset_required, "the GPU needs a reset"},
      {operating_system, "the operating system refused"},
      {lib_rm_version_mismatch, "NVML and the kernel module are of different versions"},
      {memory, "out of memory"},
      {no_data, "no data"},
      {unknown, "unknown error"},
  };
  for (const auto& [number, text] : known)
    if (number == result) return text;
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
      return fail(Cause::unavailable, fmt::format("{} is not NVML: it has no nvmlInit", name));
    default:
      return fail(Cause::unavailable, fmt::format("NVML does not start: {}", words(result)));
  }
}

Library::~Library() {
  if (handle_) (void)call("nvmlShutdown");
}

}  // namespace ringtrue::probe::nvml
