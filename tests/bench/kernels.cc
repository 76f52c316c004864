// The reduction kernels next to what the memory gives: memcpy and a loop that only reads.
//
// Bytes per second count what crosses the memory bus if every buffer lies outside the caches: read once each
// source, written once the result (an ordinary store also reads its line first; that read is not counted).
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "collective/types.h"
#include "engine/kernels/reduce.h"
#include "engine/kernels/simd.h"
#include "engine/values/values.h"

namespace {

using ringtrue::collective::Operation;
using ringtrue::collective::Type;
namespace engine = ringtrue::engine;

// Memory as the engine has it: mapped, in large pages where the system gives them, touched.
class Buffer {
 public:
  explicit Buffer(std::uint64_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) std::abort();
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 0, bytes_);
  }
  Buffer(Buffer&& other) noexcept : bytes_(other.bytes_), data_(other.data_) { other.data_ = nullptr; }
  ~Buffer() {
    if (data_) munmap(data_, bytes_);
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  std::uint64_t bytes_;
  void* data_;
};

std::vector<Buffer> buffers(int count, std::uint64_t bytes) {
  std::vector<Buffer> all;
  for (int i = 0; i < count; ++i) all.emplace_back(bytes);
  return all;
}

void rate(benchmark::State& state, std::uint64_t bytes) {
  state.SetBytesProcessed(std::int64_t(bytes) * std::int64_t(state.iterations()));
}

void read_loop(benchmark::State& state) {
  const auto bytes = std::uint64_t(state.range(0));
  const Buffer buffer(bytes);
  for (auto _ : state) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.data());
    std::uint64_t sum[8] = {};
    for (std::uint64_t i = 0; i < bytes / 8; i += 8) {
      for (int k = 0; k < 8; ++k) sum[k] ^= words[i + std::uint64_t(k)];
    }
    benchmark::DoNotOptimize(sum);
  }
  rate(state, bytes);
}

void memcpy_(benchmark::State& state) {
  const auto bytes = std::uint64_t(state.range(0));
  const Buffer from(bytes), into(bytes);
  for (auto _ : state) std::memcpy(into.data(), from.data(), bytes), benchmark::ClobberMemory();
  rate(state, 2 * bytes);
}

void copy_stream(benchmark::State& state) {
  const auto bytes = std::uint64_t(state.range(0));
  const Buffer from(bytes), into(bytes);
  for (auto _ : state) engine::copy_stream(into.data(), from.data(), bytes);
  rate(state, 2 * bytes);
}

void reduce_many(benchmark::State& state, Type type, Operation operation, int sources, std::uint64_t slice) {
  const auto bytes = std::uint64_t(state.range(0));
  const auto from = buffers(sources - 1, bytes);
  const Buffer into(bytes);
  for (auto _ : state) {
    for (std::uint64_t at = 0; at < bytes; at += slice) {
      const void* incoming[engine::reduce_many_limit];
      for (std::size_t i = 0; i < from.size(); ++i) incoming[i] = from[i].data() + at;
      const std::uint64_t length = std::min(slice, bytes - at);
      engine::reduce_many(type, operation, into.data() + at, incoming, sources - 1, length / size_of(type));
    }
    benchmark::ClobberMemory();
  }
  rate(state, std::uint64_t(sources + 1) * bytes);
}

// The same with the result in a slice that stays in cache: only reads reach the memory.
void reduce_from(benchmark::State& state, Type type, int sources) {
  const auto bytes = std::uint64_t(state.range(0));
  const std::uint64_t slice = 128 << 10;
  const auto from = buffers(sources, bytes);
  const Buffer into(slice);
  for (auto _ : state) {
    for (std::uint64_t at = 0; at < bytes; at += slice) {
      const void* incoming[engine::reduce_many_limit];
      for (std::size_t i = 0; i < from.size(); ++i) incoming[i] = from[i].data() + at;
      engine::reduce_many(type, Operation::sum, into.data(), incoming[0], incoming + 1, sources - 1,
                          slice / size_of(type));
    }
    benchmark::ClobberMemory();
  }
  rate(state, std::uint64_t(sources) * bytes);
}

void fill(benchmark::State& state) {
  const auto bytes = std::uint64_t(state.range(0));
  const Buffer buffer(bytes);
  const engine::Values values(Type::float32, Operation::sum, 8, 1);
  for (auto _ : state) values.fill(3, buffer.data(), bytes / 4), benchmark::ClobberMemory();
  rate(state, bytes);
}

void check(benchmark::State& state, bool poison) {
  const auto bytes = std::uint64_t(state.range(0));
  const Buffer buffer(bytes);
  const engine::Values values(Type::float32, Operation::sum, 1, 1);
  values.fill(0, buffer.data(), bytes / 4);
  for (auto _ : state) {
    const auto mismatch = values.check(buffer.data(), bytes / 4, poison);
    benchmark::DoNotOptimize(mismatch);
    if (poison) {
      state.PauseTiming();
      values.fill(0, buffer.data(), bytes / 4);
      state.ResumeTiming();
    }
  }
  rate(state, bytes);
}

void values(benchmark::State& state) {
  for (auto _ : state) {
    const engine::Values values(Type::float32, Operation::sum, int(state.range(0)), 1);
    benchmark::DoNotOptimize(values);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t large = 64 << 20, small = 256 << 10;
  for (const std::int64_t bytes : {small, large}) {
    benchmark::RegisterBenchmark("read", read_loop)->Arg(bytes);
    benchmark::RegisterBenchmark("memcpy", memcpy_)->Arg(bytes);
    benchmark::RegisterBenchmark("copy_stream", copy_stream)->Arg(bytes);
  }
  for (const int sources : {2, 8}) {
    const std::string name = "reduce/" + std::to_string(sources) + '/';
    for (const Type type : ringtrue::collective::all_types) {
      benchmark::RegisterBenchmark((name + std::string(ringtrue::key_of(type))).c_str(), reduce_many, type,
                                   Operation::sum, sources, std::uint64_t(large))
          ->Arg(large);
    }
    benchmark::RegisterBenchmark((name + "float32/max").c_str(), reduce_many, Type::float32, Operation::max,
                                 sources, std::uint64_t(large))
        ->Arg(large);
    benchmark::RegisterBenchmark((name + "float32/128K-slices").c_str(), reduce_many, Type::float32,
                                 Operation::sum, sources, std::uint64_t(128 << 10))
        ->Arg(large);
    benchmark::RegisterBenchmark((name + "float32/in-cache").c_str(), reduce_many, Type::float32,
                                 Operation::sum, sources, std::uint64_t(large))
        ->Arg(16 << 10);
    benchmark::RegisterBenchmark((name + "float32/into-cache").c_str(), reduce_from, Type::float32, sources)
        ->Arg(large);
    benchmark::RegisterBenchmark((name + "bfloat16/into-cache").c_str(), reduce_from, Type::bfloat16, sources)
        ->Arg(large);
  }
  benchmark::RegisterBenchmark("fill", fill)->Arg(large);
  benchmark::RegisterBenchmark("check", check, false)->Arg(large);
  benchmark::RegisterBenchmark("check+poison", check, true)->Arg(large)->Iterations(20);
  benchmark::RegisterBenchmark("values", values)->Arg(8)->Arg(4096);

  benchmark::AddCustomContext("kernels", engine::kernels::best().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
