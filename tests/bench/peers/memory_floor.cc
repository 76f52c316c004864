// memory_floor KIND BYTES RANKS SAMPLES: what this machine's memory alone allows a shared-memory allreduce.
//
// KIND  fused    every block is summed from all ranks' buffers and written to all of them: each element is
//                read once and written once per rank, the least that any algorithm with its inputs and
//                outputs in the ranks' own buffers can move
//       fused-nt the same with stores that bypass the caches
//       ring     a ring's loads and stores: 2(ranks - 1) steps over chunks of 1/ranks
//
// No messages, no synchronisation: one thread a core. Prints the JSON line of samples.h.
#include <immintrin.h>
#include <sys/mman.h>

#include <memory>
#include <thread>

#include "samples.h"

namespace {

constexpr std::size_t kBlock = 16384;  // floats: 64 KiB, which stays in a core's second-level cache

using Buffers = std::vector<float*>;

float* allocate(std::size_t count) {
  void* memory =
      mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("memory_floor: mmap");
    std::exit(3);
  }
  auto* floats = static_cast<float*>(memory);
  std::fill(floats, floats + count, 1.0F);
  return floats;
}

void add(float* __restrict to, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

void store_around_caches(float* to, const float* from, std::size_t count) {
  std::size_t i = 0;
#ifdef __AVX__
  for (; i + 8 <= count; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#else
  for (; i + 4 <= count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#endif
  for (; i < count; ++i) to[i] = from[i];
  _mm_sfence();
}

void fused(const Buffers& buffers, std::size_t begin, std::size_t end, bool around_caches) {
  const std::unique_ptr<float[]> sum(new float[kBlock]);
  for (std::size_t at = begin; at < end; at += kBlock) {
    const std::size_t count = std::min(kBlock, end - at);
    std::copy_n(buffers[0] + at, count, sum.get());
    for (std::size_t rank = 1; rank < buffers.size(); ++rank) add(sum.get(), buffers[rank] + at, count);
    const float share = 1.0F / float(buffers.size());  // keeps repeated sums finite
    for (std::size_t i = 0; i < count; ++i) sum[i] *= share;
    for (float* buffer : buffers) {
      if (around_caches)
        store_around_caches(buffer + at, sum.get(), count);
      else
        std::copy_n(sum.get(), count, buffer + at);
    }
  }
}

void ring(const Buffers& buffers, std::size_t count, std::size_t first, std::size_t last) {
  const std::size_t ranks = buffers.size(), chunk = count / ranks;
  for (std::size_t step = 0; step + 1 < ranks; ++step)
    for (std::size_t rank = first; rank < last; ++rank) {
      const std::size_t at = (rank + 2 * ranks - step - 1) % ranks * chunk;
      add(buffers[rank] + at, buffers[(rank + ranks - 1) % ranks] + at, chunk);
    }
  for (std::size_t step = 0; step + 1 < ranks; ++step)
    for (std::size_t rank = first; rank < last; ++rank) {
      const std::size_t at = (rank + 2 * ranks - step) % ranks * chunk;
      std::copy_n(buffers[(rank + ranks - 1) % ranks] + at, chunk, buffers[rank] + at);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "memory_floor fused|fused-nt|ring BYTES RANKS SAMPLES\n");
    return 3;
  }
  const std::string kind = argv[1];
  const std::size_t bytes = samples::parse_sizes(argv[2]).at(0), count = bytes / sizeof(float);
  const std::size_t ranks = std::size_t(std::max(1, std::atoi(argv[3])));
  const int repeats = std::atoi(argv[4]);
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  Buffers buffers;
  for (std::size_t rank = 0; rank < ranks; ++rank) buffers.push_back(allocate(count));

  const auto part = [&](std::size_t thread) {
    // Whole blocks a thread, so that aligned stores stay aligned.
    const std::size_t share = (count / threads + kBlock - 1) / kBlock * kBlock;
    const std::size_t begin = std::min(count, thread * share), end = std::min(count, begin + share);
    if (kind == "ring")
      ring(buffers, count, ranks * thread / threads, ranks * (thread + 1) / threads);
    else
      fused(buffers, begin, end, kind == "fused-nt");
  };
  std::string times, cpu;
  for (int i = -1; i < repeats; ++i) {  // the first warms up
    const double begin = samples::now(), cpu_begin = samples::processor_time();
    std::vector<std::thread> others;
    for (std::size_t thread = 1; thread < threads; ++thread) others.emplace_back(part, thread);
    part(0);
    for (auto& other : others) other.join();
    if (i < 0) continue;
    const char* comma = times.empty() ? "" : ",";
    times += comma + std::to_string(samples::now() - begin);
    cpu += comma + std::to_string(samples::processor_time() - cpu_begin);
  }
  std::printf("{\"bytes\":%zu,\"batch\":1,\"time_s\":[%s],\"cpu_s\":[%s]}\n", bytes, times.c_str(),
              cpu.c_str());
  return 0;
}
