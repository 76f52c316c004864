// What a GPU carries, and what collectives of eight ranks on it make of that: a line a figure, times by the
// GPU's own clock, the median of several runs. Ends with 77 where there is no GPU.
//
// Bytes count what crosses the GPU's memory bus if nothing stays in its caches: each source read once, each
// result written once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "transport/cuda/load.h"
#include "transport/cuda/transport.h"

namespace {

using namespace ringtrue;
using namespace ringtrue::transport::cuda;
using collective::Call;
using collective::Layout;
using collective::Rank;

constexpr std::uint64_t large = 1 << 30;
constexpr Rank ranks = 8;

template <class T>
T need(Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return;
    else
      return std::move(*result);
  }
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(result.error().cause == Cause::unavailable ? 77 : 1);
}

// Seconds of what `work` tells the stream.
double time_of(Device& device, Stream& stream, const std::function<Result<void>()>& work) {
  const auto start = need(device.make_event()), stop = need(device.make_event());
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    need(stream.record(*start));
    need(work());
    need(stream.record(*stop));
    while (!need(stop->reached())) continue;
    if (i > 0) times.push_back(need(stop->since(*start)).value);
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

double time_of(Group& group, const char* algorithm, std::uint64_t bytes, Calls calls) {
  Call call;
  call.elements = bytes / 4;
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    const Times all = need(group.run(**collective::find_algorithm(algorithm), Layout::one_node(ranks), call,
                                     calls, Deadline::in(Seconds{60})));
    if (i > 0) times.push_back(all.slowest.value);
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

}  // namespace

int main() {
  Driver& driver = *need(system_driver());
  const auto device = need(driver.open(0));
  fmt::print("{}, {}\n", device->gpu().name, driver.version());
  const auto stream = need(device->make_stream());

  double copy_rate = 0;
  {
    const auto a = need(device->allocate(MemoryKind::device, large)),
               b = need(device->allocate(MemoryKind::device, large)),
               c = need(device->allocate(MemoryKind::device, large));
    const auto host = need(device->allocate(MemoryKind::pinned, large / 4));
    copy_rate = 2 * large / time_of(*device, *stream, [&] { return stream->copy(a->at(), b->at(), large); });
    fmt::print("device copy               {:8.1f} GB/s\n", copy_rate / 1e9);
    for (const collective::Type type : {collective::Type::float32, collective::Type::bfloat16}) {
      Reduction job;
      job.into = a->at();
      job.with = b->at();
      job.source[0] = c->at();
      job.sources = 1;
      job.elements = large / size_of(type);
      job.type = std::uint8_t(type);
      const double rate = 3 * large / time_of(*device, *stream, [&] { return stream->run(job); });
      fmt::print("reduction, {:<14} {:8.1f} GB/s  {:5.1f} % of the copy\n", name(type), rate / 1e9,
                 rate / copy_rate * 100);
    }
    const double up =
        large / 4 / time_of(*device, *stream, [&] { return stream->copy(a->at(), host->at(), large / 4); });
    const double down =
        large / 4 / time_of(*device, *stream, [&] { return stream->copy(host->at(), a->at(), large / 4); });
    fmt::print("host to device, pinned    {:8.1f} GB/s\ndevice to host, pinned    {:8.1f} GB/s\n", up / 1e9,
               down / 1e9);
  }

  Settings settings;
  settings.seats.assign(std::size_t(ranks), Seat{});
  settings.data_bytes = settings.scratch_bytes = large;
  const auto group = need(Group::open(driver, settings));
  need(group->connect({&group->offer(), 1}));
  for (const std::uint64_t bytes : {std::uint64_t(64) << 20, large}) {
    // A sum of eight sources is written once and read by seven, who write it.
    const double needs = double(bytes) * (ranks + 1 + 2 * (ranks - 1)) / copy_rate;
    const double took = time_of(*group, "two-shot", bytes, {});
    fmt::print("two-shot, 8 ranks, {:4} MiB {:8.3f} ms  {:5.1f} % of what its bytes need\n", bytes >> 20,
               took * 1e3, needs / took * 100);
    for (const char* other : {"ring", "double-tree", "halving-doubling"})
      fmt::print("{:<16} 8 ranks, {:4} MiB {:8.3f} ms\n", other, bytes >> 20,
                 time_of(*group, other, bytes, {}) * 1e3);
  }
  for (const char* name : {"one-shot", "two-shot", "ring"})
    fmt::print("{:<16} 8 ranks, 1 KiB {:8.2f} us, replays of a graph\n", name,
               time_of(*group, name, 1024, {.count = 100, .graph = true}) * 1e6);
}
