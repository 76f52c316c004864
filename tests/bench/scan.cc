// The scan for blocks that are not zero beside a loop that only reads, in turns, in the same memory: a table
// of both for one thread and several, and of the scan where it finds something.
//
//   bench_scan [MiB per thread, default 256]
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/memory.h"
#include "collective/types.h"
#include "engine/kernels/nonzero.h"
#include "engine/kernels/simd.h"

namespace {

using ringtrue::collective::Type;
namespace engine = ringtrue::engine;

constexpr int rounds = 9;
constexpr std::uint32_t block = 256;

// Memory as the engine has it.
char* mapped(std::uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::perror("mmap"), std::exit(1);
  madvise(at, bytes, MADV_HUGEPAGE);
  std::memset(at, 0, bytes);
  return static_cast<char*>(at);
}

// All of it, as fast as this processor reads: whole vectors, nothing but "or".
using Wide = std::uint64_t __attribute__((vector_size(64), aligned(1), may_alias));
[[gnu::target_clones("default", "avx2", "arch=x86-64-v4")]] std::uint64_t read_all(const char* from,
                                                                                   std::uint64_t bytes) {
  Wide all[4] = {};
  const Wide* words = reinterpret_cast<const Wide*>(from);
  for (std::uint64_t i = 0; i < bytes / sizeof(Wide); i += 4)
    for (std::uint64_t k = 0; k < 4; ++k) all[k] |= words[i + k];
  const Wide sum = all[0] | all[1] | all[2] | all[3];
  return sum[0] | sum[1] | sum[2] | sum[3] | sum[4] | sum[5] | sum[6] | sum[7];
}

volatile std::uint64_t sink;

void scan(Type type, const char* from, std::uint64_t bytes) {
  thread_local engine::NonZeroScanner scanner;
  scanner.start(type, reinterpret_cast<const std::byte*>(from), bytes / size_of(type), block);
  while (scanner.known() < scanner.blocks()) scanner.look_further();
  sink = scanner[scanner.blocks() - 1];
}

// Every 100 / percent -th block holds a one, in its middle.
void plant(char* into, std::uint64_t bytes, std::uint64_t percent) {
  std::memset(into, 0, bytes);
  const std::uint64_t length = block * 4;
  for (std::uint64_t k = 0; percent > 0 && k < bytes / length; ++k)
    if (k * percent / 100 != (k + 1) * percent / 100) into[k * length + length / 2] = 1;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Measured {
  double read = 0, scan = 0;  // bytes per second, all threads
  double share = 0;           // scan / read, median of the rounds
};

Measured measure(const std::vector<char*>& memory, std::uint64_t bytes, Type type) {
  const auto threads = std::ptrdiff_t(memory.size());
  std::vector<double> reads, scans, shares;
  std::barrier together(threads);
  const auto work = [&](std::size_t t) {
    using Clock = std::chrono::steady_clock;
    for (int round = -1; round < rounds; ++round) {
      together.arrive_and_wait();
      const auto began = Clock::now();
      sink = read_all(memory[t], bytes);
      together.arrive_and_wait();
      const auto between = Clock::now();
      scan(type, memory[t], bytes);
      together.arrive_and_wait();
      const auto ended = Clock::now();
      if (t != 0 || round < 0) continue;
      const double all = double(bytes) * double(threads);
      reads.push_back(all / std::chrono::duration<double>(between - began).count());
      scans.push_back(all / std::chrono::duration<double>(ended - between).count());
      shares.push_back(scans.back() / reads.back());
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < memory.size(); ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
  return {median(reads), median(scans), median(shares)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) << 20;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto available = ringtrue::available_memory();
  if (bytes == 0 || (available && bytes * cores > *available / 2)) {
    std::fprintf(stderr, "bench_scan: %u times %llu MiB is not possible here\n", cores,
                 static_cast<unsigned long long>(bytes >> 20));
    return 1;
  }
  std::vector<char*> memory;
  std::printf("blocks of %u, %llu MiB a thread, %s, medians of %d\n", block,
              static_cast<unsigned long long>(bytes >> 20), engine::kernels::best().name, rounds);
  std::printf("threads  type      non-zero   read GB/s   scan GB/s   share\n");
  for (unsigned threads = 1; threads <= cores; threads *= 2) {
    while (memory.size() < threads) memory.push_back(mapped(bytes));
    for (const auto& [type, percent] :
         {std::pair(Type::float32, 0), std::pair(Type::float16, 0), std::pair(Type::int64, 0),
          std::pair(Type::float32, 1), std::pair(Type::float32, 10), std::pair(Type::float32, 100)}) {
      for (char* at : memory) plant(at, bytes, std::uint64_t(percent));
      const Measured m = measure(memory, bytes, type);
      std::printf("%7u  %-8s  %6d %%  %10.2f  %10.2f  %5.1f %%\n", threads,
                  std::string(ringtrue::key_of(type)).c_str(), percent, m.read / 1e9, m.scan / 1e9,
                  m.share * 100);
      std::fflush(stdout);
    }
  }
  return 0;
}
