#include "engine/device/gpus.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "base/file.h"
#include "base/hostlist.h"
#include "transport/cuda/limits.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

// 0: not known, as of processes in another container.
int parent_of(int pid) {
  const std::string text = first_line(fmt::format("/proc/{}/stat", pid));
  const auto name_ends = text.rfind(')');
  int parent = 0;
  if (name_ends != text.npos) std::sscanf(text.c_str() + name_ends + 1, " %*c %d", &parent);
  return parent;
}

bool is_ours(int pid, int siblings) {
  if (pid == ::getpid()) return true;
  const int parent = parent_of(pid);
  return siblings > 0 && parent != 0 && parent == ::getppid();
}

// /proc may hide processes that are there (hidepid): those have a number all the same.
bool is_known_here(int pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

std::vector<int> numa_nodes() {
  const std::string list = first_line("/sys/devices/system/node/has_memory");
  std::vector<int> numbers;
  // "0-1,4": what stands between the brackets of a hostlist.
  if (const auto names = expand_hostlist(fmt::format("node[{}]", list)))
    for (const std::string& name : *names) numbers.push_back(std::stoi(name.substr(4)));
  return numbers;
}

}  // namespace

Result<std::vector<int>> deal_gpus(cuda::Driver& driver, const run::Job& job, int node) {
  const auto all = driver.gpus();
  if (!all) return tl::unexpected(all.error());
  std::vector<int> chosen = job.gpus;
  std::set<int> once;
  for (const int gpu : chosen) {
    if (gpu < 0 || std::size_t(gpu) >= all->size())
      return fail(Cause::bad_input, fmt::format("there is no GPU {}: there are {}", gpu, all->size()), {},
                  fmt::format("--gpus takes numbers from 0 to {}", all->size() - 1));
    if (!once.insert(gpu).second) return fail(Cause::bad_input, fmt::format("GPU {} is given twice", gpu));
  }
  if (chosen.empty())
    for (const cuda::Gpu& gpu : *all) chosen.push_back(gpu.index);
  std::vector<int> dealt;
  std::size_t next = 0;
  for (const run::Seat& seat : job.seats)
    dealt.push_back(seat.node == node ? chosen[next++ % chosen.size()] : -1);
  return dealt;
}

bool has_own_numbers() {
  constexpr ino_t initial = 0xEFFFFFFC;  // of the first pid namespace, in every Linux: linux/proc_ns.h
  struct stat status;
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != initial;
}

Result<std::optional<std::string>> check_free(cuda::Driver& driver, const std::set<int>& gpus, int siblings,
                                              bool own_numbers) {
  const auto all = driver.gpus();
  if (!all) return tl::unexpected(all.error());
  const auto used = [](const std::string& what) {
    return fail(Cause::unavailable, what, {}, "wait for it, choose others with --gpus, or say --share-gpus");
  };
  std::map<int, std::string> unknown;  // by number
  for (const int gpu : gpus) {
    const auto processes = driver.gpu_processes(gpu);
    if (!processes) return processes.error().what;
    for (const cuda::GpuProcess& other : *processes) {
      if (is_ours(other.pid, siblings)) continue;
      const std::string on = (*all)[std::size_t(gpu)].text();
      const bool known = is_known_here(other.pid);
      if (!known && !own_numbers) continue;  // it has just ended
      if (!known && siblings > 0)
        unknown.emplace(other.pid, fmt::format("process {} on {}", other.pid, on));
      else
        return used(other.name.empty()
                        ? fmt::format("{} is used by process {}", on, other.pid)
                        : fmt::format("{} is used by {} (process {})", on, other.name, other.pid));
    }
  }
  if (unknown.empty()) return std::nullopt;
  const std::string& first = unknown.begin()->second;
  if (int(unknown.size()) > siblings)
    return used(
        fmt::format("{} processes that are not of this container use its GPUs, and {} of them can be of "
                    "this run: {} and others",
                    unknown.size(), siblings, first));
  return fmt::format("{} is not of this container, or one of this run", first);
}

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
