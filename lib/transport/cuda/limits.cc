#include "transport/cuda/limits.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/statistics.h"
#include "transport/cuda/staging.h"

namespace ringtrue::transport::cuda {

using run::GpuLimit;
using Kind = GpuLimit::Kind;

namespace {

// Host memory on one NUMA node, pinned.
class NodeMemory final : public Memory {
 public:
  static Result<std::unique_ptr<Memory>> make(Device& device, std::uint64_t bytes, int node) {
    auto made = std::make_unique<NodeMemory>();
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return fail(Cause::unavailable, fmt::format("no {} bytes of host memory", bytes));
    made->at_ = static_cast<std::byte*>(at);
    made->bytes_ = bytes;
    constexpr int bits = 8 * sizeof(unsigned long), max_nodes = 1024;
    unsigned long nodes[max_nodes / bits] = {};
    if (node < 0 || node >= max_nodes) return fail(Cause::bad_input, fmt::format("no NUMA node {}", node));
    nodes[node / bits] = 1ul << node % bits;
    if (::syscall(SYS_mbind, at, bytes, MPOL_BIND, nodes, max_nodes + 1, 0) != 0)
      return fail(Cause::unavailable,
                  fmt::format("no memory on NUMA node {}: {}", node, std::strerror(errno)));
    std::memset(at, 0, bytes);
    auto pinned = device.pin(made->at_, bytes);
    if (!pinned) return tl::unexpected(pinned.error());
    made->pinned_ = std::move(*pinned);
    return made;
  }
  ~NodeMemory() override {
    pinned_.reset();
    if (at_) ::munmap(at_, bytes_);
  }
  std::byte* at() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Memory> pinned_;
};

// A GPU under measurement.
struct Bench {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream, other;
  std::unique_ptr<Event> start, stop, joined;
  std::unique_ptr<Memory> a, b;

  static Result<Bench> make(Driver& driver, int gpu, std::uint64_t bytes) {
    Bench bench;
    Result<void> done = assign(bench.device, driver.open(gpu));
    for (auto* stream : {&bench.stream, &bench.other})
      if (done) done = assign(*stream, bench.device->make_stream());
    for (auto* event : {&bench.start, &bench.stop, &bench.joined})
      if (done) done = assign(*event, bench.device->make_event());
    for (auto* memory : {&bench.a, &bench.b})
      if (done) done = assign(*memory, bench.device->allocate(MemoryKind::device, bytes));
    if (!done) return tl::unexpected(done.error());
    return bench;
  }
};

using Work = std::function<Result<void>(Stream&)>;

Work copying(std::byte* into, const std::byte* from, std::uint64_t bytes) {
  return [=](Stream& stream) { return stream.copy(into, from, bytes); };
}

// A kernel that copies.
Work copying_kernel(std::byte* into, const std::byte* from, std::uint64_t bytes) {
  Reduction job;
  job.into = into;
  job.source[0] = from;
  job.sources = 1;
  job.elements = bytes / 4;
  job.move = Move::store;
  return [job](Stream& stream) { return stream.run(job); };
}

// One thing to measure.
struct Trial {
  Kind kind;
  std::uint64_t bytes = 0;  // that it moves
  Work work;
  Work small = {};  // the same of 8 bytes, for the latency; empty: there is none
  struct Beside {   // what another stream does meanwhile
    Stream* stream = nullptr;
    Event* joined = nullptr;
    Work work = {};
  } beside = {};
  std::string why_not = {};  // as in run::GpuLimit; without `work` it cannot be measured
};

class Measurement {
 public:
  Measurement(Driver& driver, const LimitSettings& settings, Deadline deadline)
      : driver_(driver), settings_(settings), deadline_(deadline) {}

  Result<std::vector<GpuLimit>> run() {
    auto measured = measure();
    // What is queued on the GPUs still needs its memory: it is given back once they have done it.
    const Deadline deadline = Deadline::in(grace);
    for (Bench& bench : benches_) {
      for (auto* stream : {&bench.stream, &bench.other}) {
        const auto idle = wait_for(**stream, bench.device->gpu(), deadline);
        if (idle || idle.error().cause != Cause::deadline) continue;
        // All of it: what hangs may be reading from any of the others.
        static auto* const kept = new std::vector<std::pair<std::vector<Bench>, std::unique_ptr<Memory>>>;
        kept->emplace_back(std::move(benches_), std::move(host_));
        return tl::unexpected(idle.error());
      }
    }
    return measured;
  }

 private:
  Result<std::vector<GpuLimit>> measure() {
    const auto all = driver_.gpus();
    if (!all) return tl::unexpected(all.error());
    std::vector<int> gpus = settings_.gpus;
    if (gpus.empty())
      for (const Gpu& gpu : *all) gpus.push_back(gpu.index);
    for (const int gpu : gpus) {
      auto bench = Bench::make(driver_, gpu, settings_.bytes);
      if (!bench) return tl::unexpected(bench.error());
      benches_.push_back(std::move(*bench));
    }
    for (Bench& bench : benches_)
      if (auto done = alone(bench); !done) return tl::unexpected(done.error());
    for (Bench& bench : benches_)
      for (Bench& peer : benches_)
        if (&bench != &peer)
          if (auto done = pair(bench, peer); !done) return tl::unexpected(done.error());
    if (left_out_ > 0) {
      if (left_out_ > 1) ended_ += fmt::format(", as were {} more", left_out_ - 1);
      first_left_out_.why_not = fmt::format("{} {}", run::left_out, ended_);
      limits_.push_back(std::move(first_left_out_));
    }
    return std::move(limits_);
  }

  bool over() {
    if (!ended_.empty()) return true;
    if (settings_.stop && settings_.stop())
      ended_ = "the measurement was stopped";
    else if (deadline_.passed())
      ended_ = "the time was up";
    return !ended_.empty();
  }
  void leave_out(const GpuLimit& limit, std::span<const Kind> kinds) {
    for (const Kind kind : kinds) {
      if (left_out_++ > 0) continue;
      first_left_out_ = limit;
      first_left_out_.kind = kind;
    }
  }

  // Until the stream has done all. False: over before.
  Result<bool> finish(Bench& bench) {
    for (;;) {
      const auto done = wait_for(*bench.stream, bench.device->gpu(), Deadline::in(glance));
      if (done) return true;
      if (done.error().cause != Cause::deadline) return tl::unexpected(done.error());
      if (over()) return false;
    }
  }

  // Seconds of `work`, the median; nullopt: over before.
  Result<std::optional<double>> time(Bench& bench, const Work& work, const Trial::Beside& beside = {}) {
    std::vector<double> times;
    for (int i = 0; i <= settings_.repeats; ++i) {  // the first one warms up
      if (over()) return std::nullopt;
      Stream* const other = beside.stream;
      Result<void> queued = bench.stream->record(*bench.start);
      if (other && queued) queued = other->wait(*bench.start);
      if (queued) queued = work(*bench.stream);
      if (other && queued) queued = beside.work(*other);
      if (other && queued) queued = other->record(*beside.joined);
      if (other && queued) queued = bench.stream->wait(*beside.joined);
      if (queued) queued = bench.stream->record(*bench.stop);
      if (!queued) return tl::unexpected(queued.error());
      const auto finished = finish(bench);
      if (!finished) return tl::unexpected(finished.error());
      if (!*finished) return std::nullopt;
      const auto took = bench.stop->since(*bench.start);
      if (!took) return tl::unexpected(took.error());
      if (i > 0) times.push_back(took->value);
    }
    return upper_median(std::move(times));
  }

  // Notes each one's limit.
  Result<void> note(GpuLimit limit, Bench& bench, std::span<const Trial> trials) {
    for (const Trial& trial : trials) {
      limit.kind = trial.kind;
      limit.why_not = trial.why_not;
      limit.rate = {};
      limit.latency = {};
      if (!trial.work) {
        limits_.push_back(limit);
        continue;
      }
      const auto took = time(bench, trial.work, trial.beside);
      if (!took) return tl::unexpected(took.error());
      if (!*took) {
        leave_out(limit, std::array{trial.kind});
        continue;
      }
      if (**took > 0) limit.rate = BytesPerSecond(double(trial.bytes) / **took);
      if (trial.small) {
        constexpr int row = 64;
        const auto all = time(bench, [&](Stream& stream) {
          Result<void> queued;
          for (int i = 0; i < row && queued; ++i) queued = trial.small(stream);
          return queued;
        });
        if (!all) return tl::unexpected(all.error());
        if (*all) limit.latency = Seconds(**all / row);
      }
      limits_.push_back(limit);
    }
    return {};
  }

  GpuLimit limit_of(const Bench& bench) const {
    GpuLimit limit;
    limit.node = settings_.node;
    limit.gpu = end_of(bench);
    return limit;
  }
  static GpuLimit::End end_of(const Bench& bench) {
    const Gpu& gpu = bench.device->gpu();
    return {gpu.index, gpu.uuid, gpu.pci};
  }

  // False: there is no such memory.
  Result<bool> host(Bench& bench, MemoryKind kind, int node) {
    const bool pinned = kind == MemoryKind::pinned;
    constexpr Kind all_kinds[] = {Kind::to_device, Kind::to_host, Kind::host_both};
    const auto kinds = std::span(all_kinds).first(pinned ? 3 : 2);
    GpuLimit limit = limit_of(bench);
    limit.host = pinned ? GpuLimit::Host::pinned : GpuLimit::Host::pageable;
    limit.numa = node;
    if (over()) return leave_out(limit, kinds), true;
    host_.reset();
    const std::uint64_t bytes = settings_.bytes;
    auto memory =
        node < 0 ? bench.device->allocate(kind, bytes) : NodeMemory::make(*bench.device, bytes, node);
    if (!memory) {
      if (memory.error().cause == Cause::peer_lost) return tl::unexpected(memory.error());
      limit.why_not = memory.error().what;
      for (const Kind each : kinds) {
        limit.kind = each;
        limits_.push_back(limit);
      }
      return false;
    }
    host_ = std::move(*memory);
    std::byte *const near = host_->at(), *const far = bench.a->at();
    const std::uint64_t half = bytes / 2;  // of both at once, each has its own part of the host's memory
    const Trial trials[] = {
        {kinds[0], bytes, copying(far, near, bytes), copying(far, near, 8)},
        {kinds[1], bytes, copying(near, far, bytes), copying(near, far, 8)},
        {all_kinds[2],
         2 * half,
         copying(far, near, half),
         {},
         {bench.other.get(), bench.joined.get(), copying(near + half, bench.b->at(), half)}},
    };
    if (auto done = note(limit, bench, std::span(trials).first(kinds.size())); !done)
      return tl::unexpected(done.error());
    return true;
  }

  Result<void> alone(Bench& bench) {
    bool pinned = false;
    for (const int node : settings_.numa_nodes) {
      const auto there = host(bench, MemoryKind::pinned, node);
      if (!there) return tl::unexpected(there.error());
      pinned |= *there;
    }
    // Containers mostly forbid to choose a node; some rate is better than none.
    if (!pinned)
      if (auto done = host(bench, MemoryKind::pinned, -1); !done) return tl::unexpected(done.error());
    if (auto done = host(bench, MemoryKind::pageable, -1); !done) return tl::unexpected(done.error());
    if (ended_.empty()) host_.reset();  // else copies may be under way
    const Trial inside{Kind::device_copy, 2 * settings_.bytes,
                       copying(bench.a->at(), bench.b->at(), settings_.bytes)};
    return note(limit_of(bench), bench, std::span(&inside, 1));
  }

  // Lets kernels on `from`'s GPU reach `to`'s memory, and its copies go straight; the reason where they
  // cannot.
  static Result<std::string> let_reach(Bench& from, Bench& to) {
    const Gpu &near = from.device->gpu(), &far = to.device->gpu();
    const auto can = from.device->can_access(far.index);
    if (!can) return tl::unexpected(can.error());
    if (!*can) return fmt::format("no peer access from {} to {}", near.text(), far.text());
    const auto enabled = from.device->enable_access(far.index);
    return enabled ? "" : enabled.error().what;
  }

  Result<void> pair(Bench& bench, Bench& peer) {
    constexpr Kind kinds[] = {Kind::peer_copy, Kind::peer_both, Kind::peer_read, Kind::peer_write};
    GpuLimit limit = limit_of(bench);
    limit.peer = end_of(peer);
    if (over()) return leave_out(limit, kinds), Result<void>();
    const auto why_not = let_reach(bench, peer);
    if (!why_not) return tl::unexpected(why_not.error());
    // The other one's copies at the same time need no more than the way back.
    const auto why_not_back = let_reach(peer, bench);
    if (!why_not_back) return tl::unexpected(why_not_back.error());

    const std::uint64_t bytes = settings_.bytes;
    std::byte *const near = bench.a->at(), *const far = peer.a->at();
    const bool reaches = why_not->empty();
    const Trial trials[] = {
        {kinds[0], bytes, copying(near, far, bytes), copying(near, far, 8)},
        {kinds[1],
         2 * bytes,
         copying(near, far, bytes),
         {},
         {peer.stream.get(), peer.joined.get(), copying(peer.b->at(), bench.b->at(), bytes)},
         why_not_back->empty() ? "" : fmt::format("back through the host: {}", *why_not_back)},
        {kinds[2], bytes, reaches ? copying_kernel(near, far, bytes) : Work(), {}, {}, *why_not},
        {kinds[3], bytes, reaches ? copying_kernel(far, near, bytes) : Work(), {}, {}, *why_not},
    };
    return note(limit, bench, trials);
  }

  static constexpr Seconds grace{2}, glance{0.05};

  Driver& driver_;
  const LimitSettings& settings_;
  const Deadline deadline_;
  std::vector<Bench> benches_;
  std::unique_ptr<Memory> host_;  // under measurement
  std::vector<GpuLimit> limits_;
  std::string ended_;  // why nothing more is measured
  GpuLimit first_left_out_;
  int left_out_ = 0;
};

}  // namespace

Result<std::vector<GpuLimit>> measure_limits(Driver& driver, const LimitSettings& settings,
                                             Deadline deadline) {
  if (settings.bytes < 4096 || settings.repeats < 1 || settings.bytes > std::uint64_t(1) << 36)
    return fail(Cause::bad_input, "limits are measured with 4 KiB to 64 GiB, at least once");
  return Measurement(driver, settings, deadline).run();
}

}  // namespace ringtrue::transport::cuda
