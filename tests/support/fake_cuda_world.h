// The world of kernels on host threads (transport/cuda/interpret.h): a block is one thread.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "transport/cuda/bodies.h"

namespace ringtrue::test {

struct HostWorld {
  static constexpr int packs = 4;
  std::uint32_t thread = 0, threads = 1, block = 0, blocks = 1, lane = 0, lanes = 1;
  const std::byte* sources[transport::cuda::max_ranks] = {};

  bool any_lane(bool value) const { return value; }
  bool any(bool value) const { return value; }
  void sync() const {}

  // As on a GPU, where 16 bytes at any other address end the context.
  static void expect_aligned(const std::byte* at) {
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof(transport::cuda::Pack) != 0) std::abort();
  }
  static transport::cuda::Pack load(const std::byte* from) {
    expect_aligned(from);
    transport::cuda::Pack pack;
    std::memcpy(&pack, from, sizeof pack);
    return pack;
  }
  static void store(std::byte* into, transport::cuda::Pack pack) {
    expect_aligned(into);
    std::memcpy(into, &pack, sizeof pack);
  }

  static void add(std::uint64_t* at, std::uint64_t n) { std::atomic_ref(*at).fetch_add(n); }
  static void minimum(std::uint64_t* at, std::uint64_t n) {
    std::atomic_ref all(*at);
    for (std::uint64_t was = all.load(); n < was && !all.compare_exchange_weak(was, n);) continue;
  }

  // Host threads order more than a GPU's do, so that a publish() which is not there would not show.
  bool published = false;
  std::uint32_t arrive(std::uint32_t* at) {
    published = false;
    return std::atomic_ref(*at).fetch_add(1, std::memory_order_acq_rel);
  }
  void publish() { published = true; }
  void signal(std::uint64_t* at, std::uint64_t n) const {
    if (!published) {
      std::fputs("a block signalled what it had not published\n", stderr);
      std::abort();
    }
    store_release(at, n);
  }
  static void store_release(std::uint64_t* at, std::uint64_t n) {
    std::atomic_ref(*at).store(n, std::memory_order_release);
  }
  static std::uint64_t load_acquire(const std::uint64_t* at) {
    return std::atomic_ref(const_cast<std::uint64_t&>(*at)).load(std::memory_order_acquire);
  }
  static std::uint32_t load_relaxed(const std::uint32_t* at) {
    return std::atomic_ref(const_cast<std::uint32_t&>(*at)).load(std::memory_order_acquire);
  }
  static void pause(std::uint32_t) { sched_yield(); }
};

}  // namespace ringtrue::test
