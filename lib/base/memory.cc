#include "base/memory.h"

#include <cstdio>

namespace ringtrue {

std::optional<std::uint64_t> available_memory() {
  std::optional<std::uint64_t> bytes;
  if (FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    while (std::fgets(line, sizeof line, file))
      if (unsigned long long kib; std::sscanf(line, "MemAvailable: %llu", &kib) == 1) bytes = kib * 1024;
    std::fclose(file);
  }
  return bytes;
}

}  // namespace ringtrue
