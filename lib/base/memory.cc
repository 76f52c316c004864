#include "base/memory.h"

#include "base/file.h"

namespace ringtrue {

std::optional<std::uint64_t> available_memory() {
  return kib_field("/proc/meminfo", "MemAvailable");
}

}  // namespace ringtrue
