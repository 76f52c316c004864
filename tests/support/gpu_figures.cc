#include "tests/support/gpu_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/gpu_calls.h"
#include "transport/cuda/limits.h"
#include "transport/cuda/staging.h"

namespace ringtrue::test {

using namespace transport::cuda;
using collective::Call;
using collective::Layout;
using collective::Operation;
using collective::Rank;
using collective::Type;

namespace {

constexpr Rank ranks_of_rates = 8;
constexpr Seconds patience{120};

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string size_text(std::uint64_t bytes) {
  return bytes >= 1 << 20   ? fmt::format("{} MiB", bytes >> 20)
         : bytes >= 1 << 10 ? fmt::format("{} KiB", bytes >> 10)
                            : fmt::format("{} B", bytes);
}

class Figures {
 public:
  Figures(Driver& driver, const FigureSettings& settings, const std::function<void(const Figure&)>& tell)
      : driver_(driver), settings_(settings), tell_(tell) {}

  Result<void> operator()() {
    auto device = driver_.open(settings_.gpu);
    if (!device) return tl::unexpected(device.error());
    device_ = std::move(*device);
    using Part = Result<void> (Figures::*)();
    const std::pair<const char*, Part> parts[] = {{"memory", &Figures::memory},
                                                  {"host", &Figures::host},
                                                  {"collectives", &Figures::collectives},
                                                  {"results", &Figures::results}};
    for (const auto& [name, part] : parts) {
      if (settings_.parts.find(name) == std::string::npos) continue;
      if (auto done = (this->*part)(); !done) return done;
    }
    return {};
  }

 private:
  // Seconds of what `work` tells the stream.
  Result<double> time(Stream& stream, const std::function<Result<void>()>& work) {
    auto start = device_->make_event(), stop = device_->make_event();
    for (const auto* event : {&start, &stop})
      if (!*event) return tl::unexpected(event->error());
    std::vector<double> times;
    for (int i = 0; i <= settings_.repeats; ++i) {  // the first one warms up
      Result<void> told = stream.record(**start);
      if (told) told = work();
      if (told) told = stream.record(**stop);
      if (told) told = wait_for(stream, device_->gpu(), Deadline::in(patience));
      if (!told) return tl::unexpected(told.error());
      const auto took = (*stop)->since(**start);
      if (!took) return tl::unexpected(took.error());
      if (i > 0) times.push_back(took->value);
    }
    return median(std::move(times));
  }

  Result<double> time(Group& group, const char* algorithm, std::uint64_t bytes, Calls calls = {}) {
    Call call;
    call.elements = bytes / size_of(call.type);
    std::vector<double> times;
    for (int i = 0; i <= settings_.repeats; ++i) {
      const auto all = group.run(**collective::find_algorithm(algorithm), Layout::one_node(ranks_of_rates),
                                 call, calls, Deadline::in(patience));
      if (!all) return tl::unexpected(all.error());
      if (i > 0) times.push_back(all->slowest.value);
    }
    return median(std::move(times));
  }

  // A rate beside another one that it should reach a share of.
  void rate(std::string what, double rate, double of, double wanted, const char* whose) {
    tell_({std::move(what), fmt::format("{:.1f} GB/s, {:.1f} %", rate / 1e9, rate / of * 100),
           fmt::format(">= {:.0f} % of {}", wanted * 100, whose), rate >= wanted * of});
  }

  // Copies and reductions inside the GPU.
  Result<void> memory() {
    constexpr int count = 3;
    const std::uint64_t bytes = fitting(settings_.large, [](std::uint64_t each) { return count * each; });
    std::vector<std::unique_ptr<Memory>> buffers;
    for (int i = 0; i < count; ++i) {
      auto made = device_->allocate(MemoryKind::device, bytes);
      if (!made) return tl::unexpected(made.error());
      buffers.push_back(std::move(*made));
    }
    auto stream = device_->make_stream();
    if (!stream) return tl::unexpected(stream.error());
    const auto copied =
        time(**stream, [&] { return (*stream)->copy(buffers[0]->at(), buffers[1]->at(), bytes); });
    if (!copied) return tl::unexpected(copied.error());
    copy_rate_ = 2 * double(bytes) / *copied;
    tell_(
        {fmt::format("device copy, {}", size_text(bytes)), fmt::format("{:.1f} GB/s", copy_rate_ / 1e9), {}});
    for (const Type type : collective::all_types) {
      for (const Operation operation : collective::all_operations) {
        if (type != Type::float32 && operation != Operation::sum) continue;
        Reduction job;
        job.into = buffers[0]->at();
        job.with = buffers[1]->at();
        job.source[0] = buffers[2]->at();
        job.sources = 1;
        job.elements = bytes / size_of(type);
        job.type = std::uint8_t(type);
        job.operation = std::uint8_t(operation);
        const auto took = time(**stream, [&] { return (*stream)->run(job); });
        if (!took) return tl::unexpected(took.error());
        rate(fmt::format("reduction, {} {}", key_of(type), key_of(operation)), 3 * double(bytes) / *took,
             copy_rate_, 0.9, "the copy");
      }
    }
    return {};
  }

  // What `sweep --gpu` measures, beside a plain loop over pinned memory.
  Result<void> host() {
    constexpr int row = 8;
    const std::uint64_t bytes = fitting(settings_.medium, [](std::uint64_t each) { return 2 * each; });
    LimitSettings settings;
    settings.bytes = bytes;
    settings.gpus = {settings_.gpu};
    const auto limits = measure_limits(driver_, settings, Deadline::in(patience));
    if (!limits) return tl::unexpected(limits.error());
    auto pinned = device_->allocate(MemoryKind::pinned, bytes),
         memory = device_->allocate(MemoryKind::device, bytes);
    for (const auto* made : {&pinned, &memory})
      if (!*made) return tl::unexpected(made->error());
    auto stream = device_->make_stream();
    if (!stream) return tl::unexpected(stream.error());
    for (const run::GpuLimit& limit : *limits) {
      const bool up = limit.kind == run::GpuLimit::Kind::to_device;
      if ((!up && limit.kind != run::GpuLimit::Kind::to_host) || limit.host != run::GpuLimit::Host::pinned)
        continue;
      std::byte* const into = (up ? *memory : *pinned)->at();
      const std::byte* const from = (up ? *pinned : *memory)->at();
      const auto took = time(**stream, [&] {
        Result<void> told;
        for (int i = 0; i < row && told; ++i) told = (*stream)->copy(into, from, bytes);
        return told;
      });
      if (!took) return tl::unexpected(took.error());
      const double plain = row * double(bytes) / *took, swept = limit.rate ? limit.rate->value : 0;
      tell_({fmt::format("{}, pinned", key_of(limit.kind)),
             fmt::format("{:.1f} GB/s, plain loop {:.1f} GB/s", swept / 1e9, plain / 1e9),
             "within 5 % of the loop", std::abs(swept / plain - 1) <= 0.05});
    }
    return {};
  }

  Result<void> collectives() {
    const std::uint64_t large = fitting(ranks_of_rates);
    const auto group = group_on(driver_, settings_.gpu, ranks_of_rates, large);
    if (!group) return tl::unexpected(group.error());
    for (const std::uint64_t bytes : {std::min(settings_.medium, large), large}) {
      // A sum of eight sources is written once and read by seven, who write it.
      const double needs = double(bytes) * (ranks_of_rates + 1 + 2 * (ranks_of_rates - 1)) / copy_rate_;
      const auto took = time(**group, "two-shot", bytes);
      if (!took) return tl::unexpected(took.error());
      tell_({fmt::format("two-shot, 8 ranks, {}", size_text(bytes)),
             fmt::format("{:.3f} ms, {:.1f} %", *took * 1e3, needs / *took * 100),
             ">= 80 % of what its bytes need", needs >= 0.8 * *took});
      for (const char* other : {"ring", "double-tree", "halving-doubling"}) {
        const auto others = time(**group, other, bytes);
        if (!others) return tl::unexpected(others.error());
        tell_({fmt::format("{}, 8 ranks, {}", other, size_text(bytes)),
               fmt::format("{:.3f} ms", *others * 1e3),
               {}});
      }
    }
    for (const char* algorithm : {"one-shot", "two-shot", "ring"}) {
      const auto took = time(**group, algorithm, 1024, {.count = 100, .graph = true});
      if (!took) return tl::unexpected(took.error());
      const bool counts = std::string_view(algorithm) == "one-shot";
      tell_({fmt::format("{}, 8 ranks, 1 KiB, replays of a graph", algorithm),
             fmt::format("{:.2f} us", *took * 1e6), counts ? "< 15 us" : "", !counts || *took < 15e-6});
    }
    return {};
  }

  // Every algorithm, type and operation, of 1 to 8 ranks, from nothing to the largest buffers.
  Result<void> results() {
    for (const Rank ranks : settings_.ranks) {
      const std::uint64_t large = fitting(ranks);
      const auto group = group_on(driver_, settings_.gpu, ranks, large);
      if (!group) return tl::unexpected(group.error());
      std::uint64_t calls = 0, wrong = 0;
      for (const std::uint64_t bytes : {std::uint64_t(0), std::uint64_t(8), std::uint64_t(8168),
                                        std::uint64_t(1) << 18, settings_.medium, large}) {
        if (bytes > large) continue;
        for (const collective::Algorithm* algorithm : algorithms_on_gpus()) {
          for (const Type type : collective::all_types) {
            for (const Operation operation : collective::all_operations) {
              Call call;
              call.type = type;
              call.operation = operation;
              call.elements = bytes / size_of(type);
              const auto found = wrong_of(**group, ranks, *algorithm, call);
              if (!found) return tl::unexpected(found.error());
              ++calls;
              wrong += *found;
            }
          }
        }
      }
      tell_({fmt::format("{} rank{}, every algorithm, type and operation, to {}", ranks,
                         ranks == 1 ? "" : "s", size_text(large)),
             fmt::format("{} calls, wrong = {}", calls, wrong), "wrong = 0", wrong == 0});
    }
    return {};
  }

  // `bytes`, halved until the GPU has room for what `needs` says of them.
  std::uint64_t fitting(std::uint64_t bytes, const std::function<std::uint64_t(std::uint64_t)>& needs) {
    const auto room = device_->room();
    while (room && bytes > 4096 && needs(bytes) > room->free / 10 * 9) bytes /= 2;
    return bytes;
  }
  std::uint64_t fitting(Rank ranks) {
    return fitting(settings_.large, [&](std::uint64_t bytes) { return bytes_of_group(ranks, bytes); });
  }

  Driver& driver_;
  const FigureSettings& settings_;
  const std::function<void(const Figure&)>& tell_;
  std::unique_ptr<Device> device_;
  double copy_rate_ = 0;
};

}  // namespace

Result<void> tell_figures(Driver& driver, const FigureSettings& settings,
                          const std::function<void(const Figure&)>& tell) {
  return Figures(driver, settings, tell)();
}

}  // namespace ringtrue::test
