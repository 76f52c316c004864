#include "engine/device/shared_control.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

namespace ringtrue::engine {

struct SharedControl::Place {
  std::atomic<std::uint64_t> times;  // that the process has come to meet()
  std::uint32_t offered, refused;    // bytes
  std::byte offer[max_offer];
  char refusal[max_refusal];
};

std::uint64_t SharedControl::bytes(int processes) {
  return sizeof(Place) * std::uint64_t(processes);
}

Result<std::unique_ptr<SharedControl>> SharedControl::open(int memfd, std::uint64_t offset, int process,
                                                           int processes) {
  void* const at =
      ::mmap(nullptr, bytes(processes), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, off_t(offset));
  if (at == MAP_FAILED)
    return fail(Cause::unavailable, fmt::format("cannot map shared memory: {}", std::strerror(errno)));
  auto* const places = static_cast<Place*>(at);
  new (&places[process]) Place{};
  return std::unique_ptr<SharedControl>(new SharedControl(places, process, processes));
}

SharedControl::~SharedControl() {
  ::munmap(places_, bytes(processes_));
}

Result<void> SharedControl::offer(std::span<const std::byte> bytes) {
  if (bytes.size() > max_offer) return fail(Cause::internal, "an offer of GPU memory that is too long");
  Place& own = places_[process_];
  std::copy(bytes.begin(), bytes.end(), own.offer);
  own.offered = std::uint32_t(bytes.size());
  return {};
}

std::span<const std::byte> SharedControl::offer_of(int process) const {
  const Place& place = places_[process];
  return {place.offer, std::min<std::size_t>(place.offered, max_offer)};
}

void SharedControl::refuse(const std::string& why) {
  Place& own = places_[process_];
  own.refused = std::uint32_t(why.copy(own.refusal, max_refusal));
}

std::string SharedControl::refusal_of(int process) const {
  const Place& place = places_[process];
  return {place.refusal, std::min<std::size_t>(place.refused, max_refusal)};
}

Result<void> SharedControl::meet(const std::function<bool()>& stop, Deadline deadline) {
  places_[process_].times.store(++times_, std::memory_order_release);
  for (int p = 0, turn = 0; p < processes_; ++turn) {
    if (places_[p].times.load(std::memory_order_acquire) >= times_) {
      ++p;
      continue;
    }
    if (stop()) return fail(Cause::cancelled, "cancelled while processes of the node met");
    if (deadline.passed()) return fail(Cause::deadline, fmt::format("process {} did not come in time", p));
    const timespec nap{0, 50'000};
    turn < 1000 ? void(::sched_yield()) : void(::nanosleep(&nap, nullptr));
  }
  return {};
}

}  // namespace ringtrue::engine
