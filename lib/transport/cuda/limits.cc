#include "transport/cuda/limits.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "base/statistics.h"
#include "run/gpu_limit.h"
#include "transport/cuda/staging.h"

namespace ringtrue::transport::cuda {

std::string_view name(Limit::Kind kind) {
  constexpr std::string_view names[] = {"host-to-device", "device-to-host", "host-both-ways",
                                        "device-copy",    "peer-copy",      "peer-read",
                                        "peer-write",     "peer-both-ways"};
  return names[int(kind)];
}

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
    constexpr int bits = 8 * sizeof(unsigned long), most = 1024;
    unsigned long nodes[most / bits] = {};
    if (node < 0 || node >= most) return fail(Cause::bad_input, fmt::format("no NUMA node {}", node));
    nodes[node / bits] = 1ul << node % bits;
    if (::syscall(SYS_mbind, at, bytes, MPOL_BIND, nodes, most + 1, 0) != 0)
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
    const auto take = [](auto& into, auto made) -> Result<void> {
      if (!made) return tl::unexpected(made.error());
      into = std::move(*made);
      return {};
    };
    Result<void> done = take(bench.device, driver.open(gpu));
    for (auto* stream : {&bench.stream, &bench.other})
      if (done) done = take(*stream, bench.device->make_stream());
    for (auto* event : {&bench.start, &bench.stop, &bench.joined})
      if (done) done = take(*event, bench.device->make_event());
    for (auto* memory : {&bench.a, &bench.b})
      if (done) done = take(*memory, bench.device->allocate(MemoryKind::device, bytes));
    if (!done) return tl::unexpected(done.error());
    return bench;
  }
};

using Work = std::function<Result<void>(Stream&)>;

class Measurement {
 public:
  Measurement(Driver& driver, const LimitSettings& settings, Deadline deadline)
      : driver_(driver), settings_(settings), deadline_(deadline) {}

  Result<std::vector<Limit>> run() {
    auto measured = measure();
    // What the GPUs are still told to do needs its memory: it is given back once they have done it.
    const Deadline patience = Deadline::in(grace);
    for (Bench& bench : benches_) {
      for (auto* stream : {&bench.stream, &bench.other}) {
        const auto idle = wait_for(**stream, bench.device->gpu(), patience);
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
  Result<std::vector<Limit>> measure() {
    std::vector<int> gpus = settings_.gpus;
    if (gpus.empty()) {
      const auto all = driver_.gpus();
      if (!all) return tl::unexpected(all.error());
      for (const Gpu& gpu : *all) gpus.push_back(gpu.index);
    }
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
  void leave_out(const Limit& limit, const std::vector<Limit::Kind>& kinds) {
    for (const Limit::Kind kind : kinds) {
      ++left_out_;
      if (left_out_ > 1) continue;
      first_left_out_ = limit;
      first_left_out_.kind = kind;
    }
  }
  void leave_out(const Limit& limit) { leave_out(limit, {limit.kind}); }

  // Until the stream has done what it was told. False: over before.
  Result<bool> finish(Bench& bench) {
    for (;;) {
      const auto done = wait_for(*bench.stream, bench.device->gpu(), Deadline::in(glance));
      if (done) return true;
      if (done.error().cause != Cause::deadline) return tl::unexpected(done.error());
      if (over()) return false;
    }
  }

  // Seconds of `work`, the median; nullopt: over before. `beside`, if there is any, runs on another stream
  // meanwhile.
  Result<std::optional<double>> time(Bench& bench, const Work& work, Stream* other = nullptr,
                                     const Work& beside = {}) {
    std::vector<double> times;
    for (int i = 0; i <= settings_.repeats; ++i) {  // the first one warms up
      if (over()) return std::nullopt;
      Result<void> told = bench.stream->record(*bench.start);
      if (other && told) told = other->wait(*bench.start);
      if (told) told = work(*bench.stream);
      if (other && told) told = beside(*other);
      if (other && told) told = join(bench, *other);
      if (told) told = bench.stream->record(*bench.stop);
      if (!told) return tl::unexpected(told.error());
      const auto finished = finish(bench);
      if (!finished) return tl::unexpected(finished.error());
      if (!*finished) return std::nullopt;
      const auto took = bench.stop->since(*bench.start);
      if (!took) return tl::unexpected(took.error());
      if (i > 0) times.push_back(took->value);
    }
    return upper_median(std::move(times));
  }
  Result<void> join(Bench& bench, Stream& other) {
    if (&other == bench.other.get()) {
      if (auto recorded = other.record(*bench.joined); !recorded) return recorded;
      return bench.stream->wait(*bench.joined);
    }
    if (auto recorded = other.record(*peer_->joined); !recorded) return recorded;
    return bench.stream->wait(*peer_->joined);
  }

  // Notes what `work` of so many bytes takes, and in a row of 8 bytes each.
  Result<void> note(Limit limit, Bench& bench, std::uint64_t bytes, const Work& work, const Work& small = {},
                    Stream* other = nullptr, const Work& beside = {}) {
    if (over()) return leave_out(limit), Result<void>();
    const auto took = time(bench, work, other, beside);
    if (!took) return tl::unexpected(took.error());
    if (!*took) return leave_out(limit), Result<void>();
    if (**took > 0) limit.rate = BytesPerSecond(double(bytes) / **took);
    if (small) {
      constexpr int row = 64;
      const auto all = time(bench, [&](Stream& stream) {
        Result<void> told;
        for (int i = 0; i < row && told; ++i) told = small(stream);
        return told;
      });
      if (!all) return tl::unexpected(all.error());
      if (*all) limit.latency = Seconds(**all / row);
    }
    limits_.push_back(std::move(limit));
    return {};
  }

  static Work copy(std::byte* into, const std::byte* from, std::uint64_t bytes) {
    return [=](Stream& stream) { return stream.copy(into, from, bytes); };
  }

  // False: there is no such memory.
  Result<bool> host(Bench& bench, MemoryKind kind, int node) {
    const std::uint64_t bytes = settings_.bytes;
    Limit limit;
    limit.gpu = bench.device->gpu().index;
    limit.host = kind;
    limit.numa = node;
    std::vector<Limit::Kind> kinds = {Limit::Kind::to_device, Limit::Kind::to_host};
    if (kind == MemoryKind::pinned) kinds.push_back(Limit::Kind::host_both);
    if (over()) return leave_out(limit, kinds), true;
    host_.reset();
    auto memory =
        node < 0 ? bench.device->allocate(kind, bytes) : NodeMemory::make(*bench.device, bytes, node);
    if (!memory) {
      if (memory.error().cause == Cause::peer_lost) return tl::unexpected(memory.error());
      limit.why_not = memory.error().what;
      for (const auto each : kinds) {
        limit.kind = each;
        limits_.push_back(limit);
      }
      return false;
    }
    host_ = std::move(*memory);
    std::byte *const near = host_->at(), *const far = bench.a->at();
    const std::uint64_t half = bytes / 2;  // of both at once, each has its own part of the host's memory
    for (const auto each : kinds) {
      limit.kind = each;
      const auto done = each == Limit::Kind::to_device
                            ? note(limit, bench, bytes, copy(far, near, bytes), copy(far, near, 8))
                        : each == Limit::Kind::to_host
                            ? note(limit, bench, bytes, copy(near, far, bytes), copy(near, far, 8))
                            : note(limit, bench, 2 * half, copy(far, near, half), {}, bench.other.get(),
                                   copy(near + half, bench.b->at(), half));
      if (!done) return tl::unexpected(done.error());
    }
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
    Limit limit;
    limit.kind = Limit::Kind::device_copy;
    limit.gpu = bench.device->gpu().index;
    return note(limit, bench, 2 * settings_.bytes, copy(bench.a->at(), bench.b->at(), settings_.bytes));
  }

  // A kernel on the bench's GPU that copies.
  Work kernel(std::byte* into, const std::byte* from) const {
    Reduction job;
    job.into = into;
    job.source[0] = from;
    job.sources = 1;
    job.elements = settings_.bytes / 4;
    job.move = Move::store;
    return [job](Stream& stream) { return stream.run(job); };
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
    const std::uint64_t bytes = settings_.bytes;
    Limit limit;
    limit.gpu = bench.device->gpu().index;
    limit.peer = peer.device->gpu().index;
    if (over()) {
      leave_out(limit, {Limit::Kind::peer_copy, Limit::Kind::peer_both, Limit::Kind::peer_read,
                        Limit::Kind::peer_write});
      return {};
    }
    peer_ = &peer;
    const auto why_not = let_reach(bench, peer);
    if (!why_not) return tl::unexpected(why_not.error());
    // The other one's copies at the same time need no more than the way back.
    const auto why_not_back = let_reach(peer, bench);
    if (!why_not_back) return tl::unexpected(why_not_back.error());

    limit.kind = Limit::Kind::peer_copy;
    if (auto done = note(limit, bench, bytes, copy(bench.a->at(), peer.a->at(), bytes),
                         copy(bench.a->at(), peer.a->at(), 8));
        !done)
      return done;
    limit.kind = Limit::Kind::peer_both;
    if (!why_not_back->empty()) limit.why_not = fmt::format("back through the host: {}", *why_not_back);
    if (auto done = note(limit, bench, 2 * bytes, copy(bench.a->at(), peer.a->at(), bytes), {},
                         peer.stream.get(), copy(peer.b->at(), bench.b->at(), bytes));
        !done)
      return done;
    for (const auto& [kind, work] :
         {std::pair{Limit::Kind::peer_read, kernel(bench.a->at(), peer.a->at())},
          std::pair{Limit::Kind::peer_write, kernel(peer.a->at(), bench.a->at())}}) {
      limit.kind = kind;
      limit.why_not = *why_not;
      if (!why_not->empty()) {
        limits_.push_back(limit);
      } else if (auto done = note(limit, bench, bytes, work); !done) {
        return done;
      }
    }
    return {};
  }

  static constexpr Seconds grace{2}, glance{0.05};

  Driver& driver_;
  const LimitSettings& settings_;
  const Deadline deadline_;
  std::vector<Bench> benches_;
  std::unique_ptr<Memory> host_;  // under measurement
  Bench* peer_ = nullptr;
  std::vector<Limit> limits_;
  std::string ended_;  // why nothing more is measured
  Limit first_left_out_;
  int left_out_ = 0;
};

}  // namespace

Result<std::vector<Limit>> measure_limits(Driver& driver, const LimitSettings& settings, Deadline deadline) {
  if (settings.bytes < 4096 || settings.repeats < 1 || settings.bytes > std::uint64_t(1) << 36)
    return fail(Cause::bad_input, "limits are measured with 4 KiB to 64 GiB, at least once");
  return Measurement(driver, settings, deadline).run();
}

}  // namespace ringtrue::transport::cuda
