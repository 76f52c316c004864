// How every peer is timed: the same sizes, inputs, batches and output, so that the tables compare like with
// like.
//
// A sample is a batch of calls that takes about 10 ms (one call where that takes longer), as OSU's and
// nccl-tests' loops do; its time is that of the slowest rank, from after a barrier, divided by the batch.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace samples {

struct Plan {
  std::vector<std::size_t> sizes;  // bytes
  int samples = 5;
  int warmup = 2;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// User and system time of this process so far, in seconds.
inline double processor_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// "1K,256M": binary, as nccl-tests counts.
inline std::vector<std::size_t> parse_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const char* at = text.c_str(); *at;) {
    char* end = nullptr;
    std::size_t bytes = std::strtoull(at, &end, 10);
    if (end == at) break;
    if (*end == 'K')
      bytes <<= 10, ++end;
    else if (*end == 'M')
      bytes <<= 20, ++end;
    sizes.push_back(bytes);
    at = *end == ',' ? end + 1 : end;
  }
  return sizes;
}

// Small integers: every order of summation gives the same, exact sum.
inline float input(int rank, std::size_t i) {
  return float((i * 7 + std::size_t(rank) * 3) % 61);
}

inline bool right(const float* data, std::size_t count, int ranks) {
  const std::size_t stride = std::max<std::size_t>(1, count / 997);
  for (std::size_t i = 0; i < count; i += stride) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += input(rank, i);
    if (data[i] != sum) return false;
  }
  return true;
}

// What a library has to offer to be timed.
struct Library {
  int rank = 0;
  int ranks = 1;
  std::function<void()> barrier;
  std::function<void(float* data, std::size_t count)> allreduce;  // in place, sum
  std::function<double(double)> largest;                          // over the ranks, known to all
  std::function<double(double)> total;
};

// Prints, from rank 0, one JSON line a size: {"bytes":..,"batch":..,"time_s":[..],"cpu_s":[..]}; cpu_s is of
// one call over all ranks. Returns false where a result was wrong.
inline bool measure(const Plan& plan, const Library& library) {
  bool all_right = true;
  for (const std::size_t bytes : plan.sizes) {
    const std::size_t count = bytes / sizeof(float);
    std::vector<float> data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = input(library.rank, i);

    double once = 0;
    for (int i = 0; i < std::max(1, plan.warmup);
         ++i) {  // the first call is checked, the last sets the batch
      library.barrier();
      const double begin = now();
      library.allreduce(data.data(), count);
      once = library.largest(now() - begin);
      if (i > 0) continue;
      const bool wrong_somewhere = library.largest(right(data.data(), count, library.ranks) ? 0 : 1) > 0;
      if (wrong_somewhere) all_right = false;
      // Repeated sums in place would overflow: from here on, zeros.
      std::fill(data.begin(), data.end(), 0.0F);
    }
    const int batch = once <= 0 ? 1000 : int(std::clamp(0.010 / once, 1.0, 1000.0));

    std::vector<double> times, cpu;
    for (int i = 0; i < plan.samples; ++i) {
      library.barrier();
      const double begin = now();
      const double cpu_begin = processor_time();
      for (int call = 0; call < batch; ++call) library.allreduce(data.data(), count);
      const double mine = (now() - begin) / batch;
      const double cpu_mine = (processor_time() - cpu_begin) / batch;
      times.push_back(library.largest(mine));
      cpu.push_back(library.total(cpu_mine));
    }
    if (library.rank != 0) continue;
    const auto list = [](const std::vector<double>& values) {
      std::string text;
      for (const double value : values) {
        char number[32];
        std::snprintf(number, sizeof number, "%s%.9g", text.empty() ? "" : ",", value);
        text += number;
      }
      return text;
    };
    std::printf("{\"bytes\":%zu,\"batch\":%d,\"time_s\":[%s],\"cpu_s\":[%s]}\n", bytes, batch,
                list(times).c_str(), list(cpu).c_str());
    std::fflush(stdout);
  }
  if (!all_right && library.rank == 0) std::fprintf(stderr, "wrong result\n");
  return all_right;
}

}  // namespace samples
