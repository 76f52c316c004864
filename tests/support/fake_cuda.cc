#include "tests/support/fake_cuda.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <new>
#include <thread>

#include "base/clock.h"
#include "tests/support/fake_cuda_world.h"
#include "transport/cuda/interpret.h"

namespace ringtrue::test {

namespace cuda = transport::cuda;

namespace {

// What the objects of one process on one GPU share.
struct Context {
  explicit Context(FakeMachine& machine) : machine(machine) {}

  FakeMachine& machine;
  cuda::Gpu gpu;
  std::mutex mutex;
  std::set<int> access;  // peers' GPUs
  std::string broken;    // not empty: the first error, which stays

  tl::unexpected<Error> error(const std::string& what) const {
    return fail(Cause::peer_lost, fmt::format("cannot go on with {}: {}", gpu.text(), what));
  }
  Result<void> state() {
    if (machine.lost == gpu.index) return error("GPU has fallen off the bus");
    const std::lock_guard lock(mutex);
    if (!broken.empty()) return error(broken);
    return {};
  }
  void break_with(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (broken.empty()) broken = what;
  }
  // nullopt: nobody allocated these bytes; -1: the host's.
  std::optional<int> owner_of(const void* at, std::uint64_t bytes) const {
    const auto* from = static_cast<const std::byte*>(at);
    const std::lock_guard lock(machine.mutex_);
    auto next = machine.allocations_.upper_bound(from);
    if (next == machine.allocations_.begin()) return std::nullopt;
    const auto& [base, allocation] = *std::prev(next);
    if (from + bytes > base + allocation.bytes) return std::nullopt;
    return allocation.gpu;
  }
  // Whether a kernel may touch these bytes.
  bool reaches(const void* at, std::uint64_t bytes) {
    const auto owner = owner_of(at, bytes);
    const std::lock_guard lock(mutex);
    return owner && (*owner < 0 || *owner == gpu.index || access.count(*owner));
  }
};
using Home = std::shared_ptr<Context>;

class Counted {
 public:
  explicit Counted(Home home) : home_(std::move(home)) { ++home_->machine.alive; }
  ~Counted() { --home_->machine.alive; }
  Counted(const Counted&) = delete;

 protected:
  Home home_;
};

class FakeMemory final : public cuda::Memory, Counted {
 public:
  FakeMemory(Home home, std::uint64_t bytes, int gpu) : Counted(std::move(home)), bytes_(bytes), gpu_(gpu) {
    at_ = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(256)));
    std::memset(at_, 0, bytes);
    const std::lock_guard lock(home_->machine.mutex_);
    home_->machine.allocations_[at_] = {.bytes = bytes, .gpu = gpu};
    if (gpu >= 0) home_->machine.used_[std::size_t(gpu)] += bytes;
  }
  ~FakeMemory() override {
    {
      const std::lock_guard lock(home_->machine.mutex_);
      if (home_->machine.allocations_[at_].opened > 0) ++home_->machine.freed_early;
      home_->machine.allocations_.erase(at_);
      if (gpu_ >= 0) home_->machine.used_[std::size_t(gpu_)] -= bytes_;
    }
    ::operator delete(at_, std::align_val_t(256));
  }
  std::byte* at() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
  int gpu_;
};

// Pinned or pageable: nobody's that a GPU would know.
class OtherMemory final : public cuda::Memory, Counted {
 public:
  OtherMemory(Home home, std::byte* at, std::uint64_t bytes, std::vector<std::byte> own = {})
      : Counted(std::move(home)), own_(std::move(own)), at_(own_.empty() ? at : own_.data()), bytes_(bytes) {}
  std::byte* at() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> own_;
  std::byte* at_;
  std::uint64_t bytes_;
};

struct Marks {  // of an event: how often it was recorded, and reached
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, reached = 0;
  std::int64_t at_ns = 0;
};

class FakeEvent final : public cuda::Event, Counted {
 public:
  explicit FakeEvent(Home home) : Counted(std::move(home)) {}
  Result<bool> reached() override {
    if (auto state = home_->state(); !state) return tl::unexpected(state.error());
    const std::lock_guard lock(marks->mutex);
    return marks->reached == marks->recorded;
  }
  Result<Seconds> since(const Event& earlier) override {
    return Seconds(double(marks->at_ns - static_cast<const FakeEvent&>(earlier).marks->at_ns) * 1e-9);
  }
  std::shared_ptr<Marks> marks = std::make_shared<Marks>();
};

// Another process's, opened by IPC.
class OpenedMemory final : public cuda::Memory, Counted {
 public:
  OpenedMemory(Home home, std::byte* at, std::uint64_t bytes)
      : Counted(std::move(home)), at_(at), bytes_(bytes) {}
  ~OpenedMemory() override {
    const std::lock_guard lock(home_->machine.mutex_);
    const auto owned = home_->machine.allocations_.find(at_);
    if (owned != home_->machine.allocations_.end()) --owned->second.opened;
  }
  std::byte* at() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
};

using Task = std::function<void()>;

class FakeStream;
class FakeGraph final : public cuda::Graph, Counted {
 public:
  FakeGraph(Home home, std::vector<Task> tasks) : Counted(std::move(home)), tasks_(std::move(tasks)) {}
  Result<void> launch(cuda::Stream& stream) override;

 private:
  std::vector<Task> tasks_;
};

class FakeStream final : public cuda::Stream, Counted {
 public:
  explicit FakeStream(Home home) : Counted(std::move(home)), thread_([this] { serve(); }) {}
  ~FakeStream() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Result<void> copy(std::byte* into, const std::byte* from, std::uint64_t bytes) override {
    ++home_->machine.copies;
    for (const std::byte* at : {static_cast<const std::byte*>(into), from})
      if (home_->owner_of(at, bytes) && !home_->reaches(at, bytes)) ++home_->machine.staged;
    return add([into, from, bytes] {
      if (bytes > 0) std::memmove(into, from, bytes);
    });
  }
  Result<void> run(const cuda::Interpretation& job) override {
    ++home_->machine.launches;
    if (!home_->gpu.cooperative) return home_->error("operation not supported");
    if (int(job.works * job.blocks) > home_->machine.gpus_[std::size_t(home_->gpu.index)].resident_blocks)
      return home_->error("too many blocks in cooperative launch");
    return add([this, job] { play(job); });
  }
  Result<void> run(const cuda::Reduction& job) override {
    ++home_->machine.reductions;
    const std::uint64_t size = job.type == 2 || job.type == 3 ? 2 : job.type == 0 || job.type == 4 ? 4 : 8;
    std::vector<Touched> touched = {{job.into, job.elements * size}};
    if (job.move != cuda::Move::store) touched.emplace_back(job.with, job.elements * size);
    for (std::uint32_t s = 0; s < job.sources; ++s) touched.emplace_back(job.source[s], job.elements * size);
    return kernel(touched, [job] {
      cuda::for_number(job.type, job.operation, [&](auto number, auto operation) {
        HostWorld world;
        cuda::reduce<decltype(number), decltype(operation)>(world, job);
      });
    });
  }
  Result<void> run(const cuda::Fill& job) override {
    return kernel({{job.data, job.elements * job.size}, {job.table, std::uint64_t(job.period) * job.size}},
                  [job] {
                    HostWorld world;
                    job.size == 2   ? cuda::fill<std::uint16_t>(world, job)
                    : job.size == 4 ? cuda::fill<std::uint32_t>(world, job)
                                    : cuda::fill<std::uint64_t>(world, job);
                  });
  }
  Result<void> run(const cuda::Check& job) override {
    return kernel({{job.data, job.elements * job.size}, {job.found, sizeof *job.found}}, [job] {
      HostWorld world;
      job.size == 2   ? cuda::check<std::uint16_t>(world, job)
      : job.size == 4 ? cuda::check<std::uint32_t>(world, job)
                      : cuda::check<std::uint64_t>(world, job);
    });
  }
  Result<void> run(const cuda::Bitmap& job) override {
    return kernel({}, [job] {
      HostWorld world;
      job.type == 2 || job.type == 3   ? cuda::bitmap<std::uint16_t>(world, job)
      : job.type == 0 || job.type == 4 ? cuda::bitmap<std::uint32_t>(world, job)
                                       : cuda::bitmap<std::uint64_t>(world, job);
    });
  }
  Result<void> record(cuda::Event& event) override {
    auto marks = static_cast<FakeEvent&>(event).marks;
    std::uint64_t number;
    {
      const std::lock_guard lock(marks->mutex);
      number = ++marks->recorded;
    }
    return add([marks, number] {
      const std::lock_guard lock(marks->mutex);
      marks->reached = number;
      marks->at_ns = now_ns();
      marks->changed.notify_all();
    });
  }
  Result<void> wait(const cuda::Event& event) override {
    auto marks = static_cast<const FakeEvent&>(event).marks;
    std::uint64_t number;
    {
      const std::lock_guard lock(marks->mutex);
      number = marks->recorded;
    }
    return add([marks, number] {
      std::unique_lock lock(marks->mutex);
      marks->changed.wait(lock, [&] { return marks->reached >= number; });
    });
  }
  Result<bool> idle() override {
    if (auto state = home_->state(); !state) return tl::unexpected(state.error());
    const std::lock_guard lock(mutex_);
    return tasks_.empty() && !busy_;
  }
  Result<void> begin_capture() override {
    capturing_ = true;
    return {};
  }
  Result<std::unique_ptr<cuda::Graph>> end_capture() override {
    capturing_ = false;
    return std::make_unique<FakeGraph>(home_, std::exchange(captured_, {}));
  }
  void* native() override { return static_cast<cuda::Stream*>(this); }

  Result<void> add(Task task) {
    if (auto state = home_->state(); !state) return state;
    if (capturing_) {
      captured_.push_back(std::move(task));
      return {};
    }
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return {};
  }

 private:
  using Touched = std::pair<const void*, std::uint64_t>;

  Result<void> kernel(std::vector<Touched> touched, Task body) {
    return add([this, touched = std::move(touched), body = std::move(body)] {
      for (const auto& [at, bytes] : touched)
        if (!home_->reaches(at, bytes)) return home_->break_with("an illegal memory access was encountered");
      body();
    });
  }

  // Whether a rank touches only what its GPU may.
  bool legal(const cuda::Work& work) {
    for (std::uint32_t i = 0; i < work.count; ++i) {
      const cuda::Instruction& now = work.instructions[i];
      const auto reaches = [&](std::uint32_t rank, std::uint32_t space, std::uint64_t offset) {
        return !now.length || home_->reaches(work.peers[rank].space[space] + offset, now.length);
      };
      if (!reaches(work.rank, now.into_space, now.into)) return false;
      for (std::uint32_t s = 0; s < now.sources; ++s) {
        const cuda::Source& source = work.sources[now.first_source + s];
        if (!reaches(source.rank, source.space, source.offset)) return false;
      }
      for (std::uint32_t r = 0; r < work.ranks; ++r)
        if (now.signals >> r & 1 && !home_->reaches(work.peers[r].progress, 8)) return false;
    }
    return true;
  }

  void play(const cuda::Interpretation& job) {
    std::vector<std::thread> blocks;
    for (std::uint32_t w = 0; w < job.works; ++w) {
      const cuda::Work& work = job.work[w];
      if (!legal(work)) {
        home_->break_with("an illegal memory access was encountered");
        continue;
      }
      for (std::uint32_t b = 0; b < job.blocks; ++b) {
        blocks.emplace_back([this, &work, job, b] {
          const FakeMachine& machine = home_->machine;
          HostWorld world;
          world.block = b;
          world.blocks = job.blocks;
          if (machine.stuck_rank == int(work.rank)) {
            while (machine.deaf ? !machine.released : !world.load_relaxed(job.abort)) sched_yield();
            return;
          }
          cuda::for_number(job.type, job.operation, [&](auto number, auto operation) {
            cuda::interpret<decltype(number), decltype(operation)>(world, work, job.abort,
                                                                   job.operation == cuda::average);
          });
        });
      }
    }
    for (std::thread& block : blocks) block.join();
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      while (home_->machine.held) sched_yield();
      if (home_->state()) task();
      lock.lock();
      busy_ = false;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false, over_ = false, capturing_ = false;
  std::vector<Task> captured_;
  std::thread thread_;
};

Result<void> FakeGraph::launch(cuda::Stream& stream) {
  for (const Task& task : tasks_)
    if (auto added = static_cast<FakeStream&>(stream).add(task); !added) return added;
  ++home_->machine.launches;
  return {};
}

class FakeDevice final : public cuda::Device, Counted {
 public:
  explicit FakeDevice(Home home) : Counted(std::move(home)) {}
  const cuda::Gpu& gpu() const override { return home_->gpu; }
  Result<cuda::Room> room() override {
    const std::uint64_t total = home_->gpu.memory;
    return cuda::Room{total - home_->machine.used(home_->gpu.index), total};
  }
  Result<std::unique_ptr<cuda::Memory>> allocate(cuda::MemoryKind kind, std::uint64_t bytes) override {
    if (auto state = home_->state(); !state) return tl::unexpected(state.error());
    if (kind == cuda::MemoryKind::pageable)
      return std::make_unique<OtherMemory>(home_, nullptr, bytes, std::vector<std::byte>(bytes));
    if (kind == cuda::MemoryKind::pinned) {
      if (home_->machine.no_pinned) return fail(Cause::unavailable, "cannot pin host memory: out of memory");
      return std::make_unique<FakeMemory>(home_, bytes, -1);
    }
    if (bytes > room()->free)
      return fail(Cause::unavailable,
                  fmt::format("cannot allocate {} bytes on {}: out of memory", bytes, home_->gpu.text()));
    auto memory = std::make_unique<FakeMemory>(home_, bytes, home_->gpu.index);
    if (home_->machine.allocated) home_->machine.allocated(memory->at(), bytes);
    return memory;
  }
  Result<std::unique_ptr<cuda::Memory>> pin(std::byte* at, std::uint64_t bytes) override {
    return std::make_unique<OtherMemory>(home_, at, bytes);
  }
  Result<std::unique_ptr<cuda::Stream>> make_stream() override { return std::make_unique<FakeStream>(home_); }
  Result<std::unique_ptr<cuda::Event>> make_event() override { return std::make_unique<FakeEvent>(home_); }
  Result<int> resident_blocks(std::uint8_t, std::uint8_t) override {
    return home_->machine.gpus_[std::size_t(home_->gpu.index)].resident_blocks;
  }
  Result<bool> can_access(int peer) override {
    return !home_->machine.no_access.count({home_->gpu.index, peer});
  }
  Result<void> enable_access(int peer) override {
    if (!*can_access(peer) || home_->machine.not_enabled.count({home_->gpu.index, peer}))
      return fail(Cause::unavailable, fmt::format("{} has no access to GPU {}", home_->gpu.text(), peer));
    const std::lock_guard lock(home_->mutex);
    home_->access.insert(peer);
    return {};
  }
  Result<cuda::IpcHandle> share(const cuda::Memory& memory) override {
    if (home_->machine.no_ipc)
      return fail(Cause::unavailable,
                  fmt::format("cannot share memory of {}: operation not supported", home_->gpu.text()));
    cuda::IpcHandle handle{};
    std::byte* const at = memory.at();
    std::memcpy(handle.data(), &at, sizeof at);
    return handle;
  }
  Result<std::unique_ptr<cuda::Memory>> open_shared(const cuda::IpcHandle& handle,
                                                    std::uint64_t bytes) override {
    std::byte* at;
    std::memcpy(&at, handle.data(), sizeof at);
    const std::lock_guard lock(home_->machine.mutex_);
    const auto found = home_->machine.allocations_.find(at);
    if (found == home_->machine.allocations_.end() || found->second.bytes != bytes)
      return fail(Cause::unavailable, "cannot open shared memory: invalid argument");
    if (home_->machine.no_access.count({home_->gpu.index, found->second.gpu}))
      return fail(Cause::unavailable, "cannot open shared memory: peer access is not supported");
    const std::lock_guard own(home_->mutex);
    home_->access.insert(found->second.gpu);
    ++found->second.opened;
    return std::make_unique<OpenedMemory>(home_, at, bytes);
  }
  Result<int> dma_buf(std::byte*, std::uint64_t) override {
    if (home_->machine.dmabuf) return ::memfd_create("dmabuf", MFD_CLOEXEC);
    return fail(Cause::unavailable, fmt::format("{} exports no dma-buf", home_->gpu.text()));
  }
};

class FakeDriver final : public cuda::Driver {
 public:
  explicit FakeDriver(FakeMachine& machine) {
    for (std::size_t i = 0; i < machine.gpus_.size(); ++i) {
      auto home = std::make_shared<Context>(machine);
      home->gpu = {.index = int(i),
                   .name = "Fake GPU",
                   .uuid = fmt::format("GPU-{}", i),
                   .pci = fmt::format("0000:{:02x}:00.0", i),
                   .major = 9,
                   .processors = 4,
                   .memory = machine.gpus_[i].memory,
                   .cooperative = machine.gpus_[i].cooperative};
      homes_.push_back(home);
    }
  }
  Result<std::vector<cuda::Gpu>> gpus() override {
    std::vector<cuda::Gpu> all;
    for (const Home& home : homes_) all.push_back(home->gpu);
    if (all.empty()) return fail(Cause::unavailable, "no NVIDIA GPU");
    return all;
  }
  Result<std::unique_ptr<cuda::Device>> open(int index) override {
    const Home& home = homes_.at(std::size_t(index));
    if (auto state = home->state(); !state) return tl::unexpected(state.error());
    return std::make_unique<FakeDevice>(home);
  }
  Result<std::vector<cuda::GpuProcess>> gpu_processes(int index) override {
    FakeMachine& machine = homes_.at(std::size_t(index))->machine;
    if (machine.no_nvml) return fail(Cause::unavailable, "NVML cannot be asked");
    const auto found = machine.gpu_processes.find(index);
    return found == machine.gpu_processes.end() ? std::vector<cuda::GpuProcess>{} : found->second;
  }
  std::string version() const override { return "fake CUDA"; }

 private:
  std::vector<Home> homes_;
};

}  // namespace

std::unique_ptr<cuda::Driver> FakeMachine::process() {
  return std::make_unique<FakeDriver>(*this);
}

std::uint64_t FakeMachine::used(int gpu) const {
  const std::lock_guard lock(mutex_);
  return used_[std::size_t(gpu)];
}

}  // namespace ringtrue::test
