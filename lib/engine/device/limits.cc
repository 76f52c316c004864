#include "engine/device/limits.h"

#include <charconv>
#include <fstream>

#include "transport/cuda/limits.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

// The numbers of a kernel's list, "0-1,4"; at most as many as machines have NUMA nodes.
std::vector<int> numbers_of(const std::string& list) {
  constexpr int most = 1024;
  std::vector<int> numbers;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end && int(numbers.size()) < most) {
    int first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc()) break;
    int last = first;
    if (next < end && *next == '-') next = std::from_chars(next + 1, end, last).ptr;
    for (int n = first; n <= last && int(numbers.size()) < most; ++n) numbers.push_back(n);
    at = next + 1;  // past the comma
  }
  return numbers;
}

std::vector<int> numa_nodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string list;
  std::getline(file, list);
  return numbers_of(list);
}

}  // namespace

Result<std::vector<run::GpuLimit>> measure_gpus(cuda::Driver& driver, const run::Job& job,
                                                const std::string& node, Deadline deadline,
                                                const std::function<bool()>& stop) {
  cuda::LimitSettings settings;
  settings.bytes = job.call.bytes();
  settings.repeats = job.iterations;
  settings.gpus = job.gpus;
  settings.numa_nodes = numa_nodes();
  settings.stop = stop;
  settings.node = node;
  const int left_ms = deadline.left_ms();  // and what was measured has to arrive
  if (left_ms >= 0) deadline = Deadline::in(Seconds(left_ms * 0.9e-3));
  return cuda::measure_limits(driver, settings, deadline);
}

}  // namespace ringtrue::engine
