#include "engine/device_gpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

// 0: not known, as of processes in another container.
int parent_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const auto name_ends = text.rfind(')');
  int parent = 0;
  if (name_ends != text.npos) std::sscanf(text.c_str() + name_ends + 1, " %*c %d", &parent);
  return parent;
}

// Not so in a container, where the driver may tell the host's numbers.
bool is_known_here(int pid) {
  return ::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0;
}

bool is_ours(int pid, bool siblings) {
  return pid == ::getpid() || (siblings && parent_of(pid) == ::getppid());
}

}  // namespace

Result<std::vector<int>> deal_gpus(cuda::Driver& driver, const Job& job, int node) {
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
  for (const Seat& seat : job.seats) dealt.push_back(seat.node == node ? chosen[next++ % chosen.size()] : -1);
  return dealt;
}

Result<std::optional<std::string>> check_free(cuda::Driver& driver, const std::set<int>& gpus,
                                              bool siblings) {
  const auto all = driver.gpus();
  if (!all) return tl::unexpected(all.error());
  std::optional<std::string> unknown;
  for (const int gpu : gpus) {
    const auto occupants = driver.occupants(gpu);
    if (!occupants) return occupants.error().what;
    for (const cuda::Occupant& other : *occupants) {
      if (is_ours(other.pid, siblings)) continue;
      if (siblings && !is_known_here(other.pid)) {
        unknown = fmt::format("process {} on {} is not of this container, or one of this run", other.pid,
                              (*all)[std::size_t(gpu)].text());
        continue;
      }
      const std::string who = other.name.empty() ? fmt::format("process {}", other.pid)
                                                 : fmt::format("{} (process {})", other.name, other.pid);
      return fail(Cause::unavailable, fmt::format("{} is used by {}", (*all)[std::size_t(gpu)].text(), who),
                  {}, "wait for it, choose others with --gpus, or say --share-gpus");
    }
  }
  return unknown;
}

}  // namespace ringtrue::engine
