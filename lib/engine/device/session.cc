#include "engine/device/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/device/gpus.h"
#include "engine/device/mirror.h"
#include "engine/session/host.h"
#include "run/job.h"
#include "run/member.h"
#include "run/rdma.h"
#include "run/report.h"
#include "transport/cuda/load.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;
using collective::Rank;

namespace {

std::vector<int> processes_of(const run::Job& job, int node) {
  std::set<int> found;
  for (const run::Seat& seat : job.seats)
    if (seat.node == node) found.insert(seat.process);
  return {found.begin(), found.end()};
}

// Behind all that the host session shares.
std::uint64_t control_offset(const run::Job& job, int node) {
  constexpr std::uint64_t page = 4096;
  return (HostSession::shared_bytes(job, node) + page - 1) / page * page;
}

// A process of aggregators alone needs no GPU.
bool holds_data(const run::Job& job, const run::Member& member) {
  const auto workers = job.seats.begin() + std::min<std::ptrdiff_t>(job.workers(), job.ranks());
  return std::any_of(job.seats.begin(), workers, [&](const run::Seat& seat) {
    return seat.node == member.node && seat.process == member.process;
  });
}

// What the host session makes of a job that GPUs play among themselves.
run::Job on_host(const run::Job& job) {
  run::Job host = job;
  if (job.memory == run::Memory::device && job.transport == run::Transport::cuda)
    host.transport = run::Transport::automatic;
  return host;
}

}  // namespace

DeviceSession::DeviceSession(run::Member member, std::unique_ptr<HostSession> host)
    : member_(std::move(member)), host_(std::move(host)), group_(member_) {}

DeviceSession::~DeviceSession() {
  host_->forget_run();  // before what it plays in is not pinned any more
}

std::uint64_t DeviceSession::shared_bytes(const run::Job& job, int node) {
  if (job.memory == run::Memory::host) return HostSession::shared_bytes(job, node);
  return control_offset(job, node) + SharedControl::bytes(int(processes_of(job, node).size()));
}

Result<int> DeviceSession::prepare(const run::Job& job) {
  plays_ = measures_ = false;
  why_not_.clear();
  limits_.clear();
  control_.reset();
  host_->forget_run();  // and what it has of GPUs
  host_->offer_room({});
  pinned_.reset();
  pinning_.reset();
  room_.reset();
  job_ = job;
  if (job.reach || !holds_data(job, member_)) job_.memory = run::Memory::host;
  if (job_.memory == run::Memory::host) {
    group_.close();
    return host_->prepare(on_host(job));
  }
  if (auto valid = host_->validate(on_host(job)); !valid) return tl::unexpected(valid.error());
  node_ = job.nodes[std::size_t(member_.node)];
  if (job.gpu_limits) return prepare_limits(job);
  only_cuda_ = job.transport == run::Transport::cuda;
  processes_ = processes_of(job, member_.node);
  place_ = int(std::find(processes_.begin(), processes_.end(), member_.process) - processes_.begin());
  if (auto taken = take_gpus(job); !taken) return tl::unexpected(taken.error());
  why_not_ = DeviceGroup::why_not(job);
  plays_ = why_not_.empty();
  if (!plays_) {
    group_.close();
    if (may_be_direct()) {
      host_->offer_room([this, gpu = gpus_of_own().front()](std::uint64_t bytes) -> Result<verbs::Buffer> {
        auto made = assign(room_, DeviceRoom::make(*driver_, gpu, bytes));
        if (!made) return tl::unexpected(made.error());
        return room_->buffer();
      });
    }
    if (!only_cuda_) return host_->prepare(job);
    return fail(Cause::bad_input, fmt::format("the GPUs cannot play this among themselves: {}", why_not_), {},
                "use --transport auto, which stages their memory through the host's");
  }
  if (auto opened = open_group(job); !opened) return tl::unexpected(opened.error());
  return processes_.size() > 1 ? host_->prepare(on_host(job)) : Result<int>(0);
}

Result<int> DeviceSession::prepare_limits(const run::Job& job) {
  group_.close();
  measures_ = true;
  if (auto opened = open_driver(); !opened) return tl::unexpected(opened.error());
  const auto all = driver_->gpus();
  if (!all) return tl::unexpected(all.error());
  run::Job one_each = job;  // a rank for every GPU
  one_each.seats.assign(job.gpus.empty() ? all->size() : job.gpus.size(), {member_.node, member_.process, 0});
  if (auto taken = take_gpus(one_each); !taken) return tl::unexpected(taken.error());
  return 0;
}

Result<void> DeviceSession::open_driver() {
  if (driver_) return {};
  return assign(driver_, member_.cuda ? Result<cuda::Driver*>(member_.cuda) : cuda::system_driver());
}

// The GPUs of this process's ranks, unless others use them.
Result<void> DeviceSession::take_gpus(const run::Job& job) {
  if (auto opened = open_driver(); !opened) return opened;
  if (auto dealt = assign(gpus_, deal_gpus(*driver_, job, member_.node)); !dealt) return dealt;
  std::set<int> fresh;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
    if (gpus_[rank] >= 0 && job.seats[rank].process == member_.process &&
        !driver_->taken.contains(gpus_[rank]))
      fresh.insert(gpus_[rank]);
  if (job.share_gpus || fresh.empty()) return {};
  auto is_free =
      check_free(*driver_, fresh, member_.processes - 1, member_.own_numbers.value_or(has_own_numbers()));
  if (!is_free) return tl::unexpected(is_free.error());
  unknown_use_ = is_free->value_or("");
  driver_->taken.merge(fresh);
  return {};
}

Result<void> DeviceSession::open_group(const run::Job& job) {
  if (auto ready = group_.prepare(*driver_, job, gpus_); !ready || processes_.size() == 1) return ready;
  auto opened = assign(control_, SharedControl::open(member_.shared_memory, control_offset(job, member_.node),
                                                     place_, int(processes_.size())));
  return opened ? control_->offer(cuda::encode(group_.offer())) : opened;
}

Result<void> DeviceSession::connect(const std::vector<std::vector<run::Address>>& processes,
                                    Deadline deadline) {
  if (measures_) return {};
  if (plays_ && !group_.connected()) {
    std::vector<cuda::Offer> offers;
    if (!control_) offers.push_back(group_.offer());
    for (int place = 0; control_ && place < int(processes_.size()); ++place)
      if (auto offer = cuda::decode(control_->offer_of(place))) offers.push_back(std::move(*offer));
    const auto connected = group_.connect(offers);
    if (!connected && (connected.error().cause != Cause::unavailable || !control_)) return connected;
    if (!connected) control_->refuse(connected.error().what);
  }
  return plays_ && processes_.size() == 1 ? Result<void>() : host_->connect(processes, deadline);
}

// Where the GPUs of one process do not reach all others, the whole node plays through the host.
Result<void> DeviceSession::barrier(Deadline deadline) {
  if (measures_ || (plays_ && processes_.size() == 1)) return {};
  if (auto met = host_->barrier(deadline); !met) return met;
  if (control_) {
    if (auto met = meet(deadline); !met) return met;
    for (int place = 0; place < int(processes_.size()) && why_not_.empty(); ++place)
      why_not_ = control_->refusal_of(place);
    plays_ = why_not_.empty();
    if (!plays_) {
      group_.disconnect();
      if (auto met = meet(deadline); !met) return met;
      group_.close();
    }
    if (!plays_ && only_cuda_)
      return fail(Cause::unavailable, why_not_, {},
                  "use --transport auto, which stages GPU memory through the host's");
  }
  return plays_ || job_.memory == run::Memory::host ? Result<void>() : keep_data();
}

// The ranks' memory is registered as one piece, of one GPU; packets are for memory that the processor
// reaches.
bool DeviceSession::may_be_direct() const {
  const std::vector<int> gpus = gpus_of_own();
  return job_.transport == run::Transport::verbs && job_.algorithm != collective::AlgorithmId::omnireduce &&
         job_.verbs.registration != run::Registration::staged &&
         std::all_of(gpus.begin(), gpus.end(), [&](int gpu) { return gpu == gpus.front(); });
}

Result<void> DeviceSession::keep_data() {
  if (host_->in_room()) {
    return host_->keep_data([&](const StoreSetup& setup) {
      return DirectStore::make(*driver_, gpus_[std::size_t(setup.endpoint.rank())], setup);
    });
  }
  const std::span<std::byte> memory = host_->memory();
  if (memory.empty()) return {};
  if (auto opened = assign(pinning_, driver_->open(gpus_of_own().front())); !opened) return opened;
  constexpr std::uintptr_t page = 4096;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) + page - 1) / page * page;
  auto pinned = assign(pinned_, pinning_->pin(reinterpret_cast<std::byte*>(begin), end - begin));
  if (!pinned) return pinned;
  const collective::Algorithm& algorithm = collective::algorithm_of(job_.algorithm);
  return host_->keep_data([&](const StoreSetup& setup) {
    return Mirror::make(*driver_, gpus_[std::size_t(setup.endpoint.rank())], setup, algorithm);
  });
}

// By rank, of those that hold data here.
std::vector<int> DeviceSession::gpus_of_own() const {
  std::vector<int> own;
  for (Rank rank = 0; rank < job_.workers(); ++rank) {
    const run::Seat& seat = job_.seats[std::size_t(rank)];
    if (seat.node == member_.node && seat.process == member_.process) own.push_back(gpus_[std::size_t(rank)]);
  }
  return own;
}

Result<void> DeviceSession::meet(Deadline deadline) {
  return control_ ? control_->meet([this] { return aborted_.load(); }, deadline) : Result<void>();
}

Result<void> DeviceSession::run(Deadline deadline) {
  if (measures_)
    return assign(limits_, measure_gpus(*driver_, job_, node_, deadline, [this] { return aborted_.load(); }));
  if (!plays_) return host_->run(deadline);
  if (aborted_) return fail(Cause::cancelled, "cancelled before the run");
  return group_.run([&] { return meet(deadline); }, deadline);
}

Result<run::RunReport> DeviceSession::collect() {
  Result<run::RunReport> report = run::RunReport();
  report->gpu_limits = limits_;
  if (!measures_) report = plays_ ? Result<run::RunReport>(group_.collect()) : host_->collect();
  if (plays_ && processes_.size() > 1)
    group_.disconnect();  // the next prepare() may free what others have open
  if (!report) return report;
  if (!why_not_.empty()) {
    if (!job_.reference.empty())
      report->reference =
          run::Reference{.why_not = fmt::format("the GPUs do not play this among themselves: {}", why_not_)};
    const bool direct = host_->in_room();
    if (!direct) {
      const std::string& no_room = host_->why_no_room();
      report->remarks.push_back({run::Remark::Kind::mirrored,
                                 node_,
                                 {},
                                 no_room.empty() ? why_not_ : fmt::format("{}, and {}", why_not_, no_room)});
    }
    const std::vector<int> own = gpus_of_own();
    for (const int gpu : std::set<int>(own.begin(), own.end()))
      report->gpus.push_back(use_of(gpu, direct ? run::GpuPlay::direct : run::GpuPlay::mirror));
  }
  if (!unknown_use_.empty())
    report->remarks.push_back({run::Remark::Kind::unknown_use, node_, {}, unknown_use_});
  std::vector<run::RunReport> one;
  one.push_back(std::move(*report));
  return merge(std::move(one));
}

// Of a job that the host plays.
run::GpuUse DeviceSession::use_of(int gpu, run::GpuPlay play) const {
  run::GpuUse use;
  use.node = node_;
  use.index = gpu;
  use.play = play;
  if (const auto all = driver_->gpus()) {
    use.name = (*all)[std::size_t(gpu)].name;
    use.uuid = (*all)[std::size_t(gpu)].uuid;
  }
  for (Rank rank = 0; rank < job_.workers(); ++rank)
    if (gpus_[std::size_t(rank)] == gpu && job_.seats[std::size_t(rank)].process == member_.process)
      use.ranks.push_back(rank);
  return use;
}

void DeviceSession::abort() {
  aborted_ = true;
  host_->abort();
  group_.abort();
}

}  // namespace ringtrue::engine
