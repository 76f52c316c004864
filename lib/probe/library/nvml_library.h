// NVIDIA's management library, loaded while running: its types and numbers as its interface has them (no
// header of it is packaged), and calls by name. A function that the installed version lacks answers
// function_not_found.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace ringtrue::probe::nvml {

enum Return : unsigned {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
  insufficient_power = 8,
  driver_not_loaded = 9,
  timeout = 10,
  irq_issue = 11,
  library_not_found = 12,
  function_not_found = 13,
  corrupted_inforom = 14,
  gpu_is_lost = 15,
  reset_required = 16,
  operating_system = 17,
  lib_rm_version_mismatch = 18,
  memory = 20,
  no_data = 21,
  unknown = 999,
};
std::string words(Return result);  // "the GPU is lost: it fell off the bus"

using Device = struct DeviceHandle*;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned device_and_vendor, subsystem;
  char bus_id[32];
};

struct Memory {
  unsigned long long total, free, used;
};

struct Utilization {
  unsigned gpu, memory;  // percent
};

struct FieldValue {
  unsigned field, scope;  // scope: of NVLink's fields the link
  long long timestamp, latency_us;
  unsigned type, result;
  union {
    double d;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
    long long ll;
    int i;
    unsigned short us;
  } value;
};
static_assert(sizeof(PciInfo) == 68 && sizeof(FieldValue) == 40);

inline constexpr unsigned init_without_gpus = 1;  // do not fail where there are none
inline constexpr unsigned clock_sm = 1;
inline constexpr unsigned temperature_of_gpu = 0;
inline constexpr unsigned ecc_corrected = 0, ecc_uncorrected = 1, ecc_volatile = 0;
inline constexpr unsigned remote_gpu = 0, remote_npu = 1, remote_switch = 2;

class Library {
 public:
  // Errors: unavailable, where it is not installed or finds no driver.
  static Result<Library> open(const std::string& name);
  Library(Library&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Library& operator=(Library&&) = delete;
  ~Library();  // shuts it down

  // The arguments' types must be those of the function.
  template <class... Arguments>
  Return call(const char* function, Arguments... arguments) const {
    const auto found = reinterpret_cast<Return (*)(Arguments...)>(::dlsym(handle_, function));
    return found ? found(arguments...) : function_not_found;
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace ringtrue::probe::nvml
