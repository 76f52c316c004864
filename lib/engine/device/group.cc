#include "engine/device/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collective/recorder.h"
#include "engine/device/reference.h"
#include "run/job.h"
#include "run/report.h"
#include "transport/cuda/dataflow.h"

namespace ringtrue::engine {

namespace cuda = transport::cuda;
using collective::Rank;

namespace {

std::uint64_t scratch_of(const collective::Algorithm& algorithm, const collective::Layout& layout,
                         collective::Call call) {
  std::uint64_t max_bytes = 0;
  call = cuda::sliced(call, layout.ranks());
  for (const std::uint64_t slice : {call.slice_bytes, std::min<std::uint64_t>(call.slice_bytes, 1 << 20)}) {
    call.slice_bytes = slice;
    for (Rank rank = 0; rank < layout.ranks(); ++rank)
      max_bytes = std::max(max_bytes, algorithm.scratch_bytes(layout, rank, call));
  }
  return max_bytes;
}

}  // namespace

std::string DeviceGroup::why_not(const run::Job& job) {
  const auto elsewhere = [&](const run::Seat& seat) { return seat.node != job.seats.front().node; };
  if (job.transport != run::Transport::automatic && job.transport != run::Transport::cuda)
    return fmt::format("{} was asked for", key_of(job.transport));
  if (std::any_of(job.seats.begin(), job.seats.end(), elsewhere)) return "its ranks are on several nodes";
  if (job.algorithm == collective::AlgorithmId::omnireduce)
    return "omnireduce sends what the data says, which no kernel interprets";
  if (!job.fault.empty()) return "faults are those of messages";
  if (job.ranks() > cuda::max_ranks)
    return fmt::format("{} ranks are more than the {} of a group", job.ranks(), cuda::max_ranks);
  return {};
}

Result<void> DeviceGroup::prepare(cuda::Driver& driver, const run::Job& job, const std::vector<int>& gpus) {
  const collective::Algorithm& algorithm = collective::algorithm_of(job.algorithm);
  layout_ = job.layout();
  cuda::Settings wanted;
  wanted.process = process_;
  wanted.data_bytes = job.call.bytes();
  wanted.scratch_bytes = scratch_of(algorithm, layout_, job.call);
  for (Rank rank = 0; rank < job.ranks(); ++rank)
    wanted.seats.push_back({job.seats[std::size_t(rank)].process, gpus[std::size_t(rank)]});
  const bool enough = group_ && settings_.seats == wanted.seats &&
                      settings_.data_bytes >= wanted.data_bytes &&
                      settings_.scratch_bytes >= wanted.scratch_bytes;
  if (!enough) {
    close();  // before more is asked for
    settings_ = wanted;
    auto opened = cuda::Group::open(driver, std::move(wanted));
    if (!opened) return tl::unexpected(opened.error());
    const std::lock_guard lock(mutex_);
    group_ = std::move(*opened);
    if (aborted_) group_->abort();
  }
  job_ = job;
  algorithm_ = &algorithm;
  values_ = values_of(job, algorithm.allreduce);
  ranks_.clear();
  patterns_.clear();
  stopwatch_.clear();
  reference_.reset();
  for (Rank rank = 0; rank < job.ranks(); ++rank) {
    if (job.seats[std::size_t(rank)].process != process_) continue;
    ranks_.push_back({});
    ranks_.back().rank = rank;
    ranks_.back().batch = batch_of(algorithm, job.call);
    if (auto pattern = values_->pattern(rank)) patterns_.push_back(std::move(*pattern));
  }
  return {};
}

void DeviceGroup::close() {
  const std::lock_guard lock(mutex_);
  group_.reset();
  connected_ = false;
}

void DeviceGroup::disconnect() {
  if (group_) group_->disconnect();
  connected_ = false;
}

void DeviceGroup::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (group_) group_->abort();
}

Result<void> DeviceGroup::connect(std::span<const cuda::Offer> offers) {
  if (auto done = group_->connect(offers); !done) return done;
  connected_ = true;
  return {};
}

Result<void> DeviceGroup::fill(Deadline deadline) {
  const auto size = std::uint32_t(size_of(job_.call.type));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Result<void> filled;
    if (!patterns_.empty()) {
      filled = group_->fill(ranks_[i].rank, patterns_[i].input, size, job_.call.elements, deadline);
    } else {
      std::vector<std::byte> data(job_.call.bytes());
      values_->fill(ranks_[i].rank, data.data(), true);
      filled = group_->upload(ranks_[i].rank, 0, data, deadline);
    }
    if (!filled) return filled;
  }
  return {};
}

Result<std::vector<Mismatch>> DeviceGroup::compare(Deadline deadline) {
  std::vector<Mismatch> all;
  const auto size = std::uint32_t(size_of(job_.call.type));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank rank = ranks_[i].rank;
    Mismatch& found = all.emplace_back();
    if (!patterns_.empty()) {
      const auto& [input, expected, poison] = patterns_[i];
      const auto compared = group_->check(rank, expected, poison, size, job_.call.elements, deadline);
      if (!compared) return tl::unexpected(compared.error());
      if (compared->count > 0) found = {compared->count, compared->first};
    } else {
      std::vector<std::byte> data(job_.call.bytes());
      if (auto got = group_->download(rank, 0, data, deadline); !got) return tl::unexpected(got.error());
      found = values_->check(rank, data.data(), true);
    }
  }
  return all;
}

Result<void> DeviceGroup::check(Deadline deadline) {
  const auto all = compare(deadline);
  if (!all) return tl::unexpected(all.error());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if ((*all)[i].count > 0 && ranks_[i].wrong == 0) ranks_[i].first_wrong = (*all)[i].first;
    ranks_[i].wrong += (*all)[i].count;
  }
  return {};
}

Result<void> DeviceGroup::play(cuda::Calls calls, bool timed, Deadline deadline) {
  if (timed) stopwatch_.start();
  const auto times = group_->run(*algorithm_, layout_, job_.call, calls, deadline);
  if (timed) stopwatch_.stop();
  if (!times) return tl::unexpected(times.error());
  if (!timed) return {};
  std::map<int, Seconds> by_gpu;  // Times has them in the order in which the group's ranks first name them
  for (const run::RankReport& report : ranks_) {
    const int gpu = settings_.seats[std::size_t(report.rank)].gpu;
    by_gpu.emplace(gpu, by_gpu.size() < times->by_gpu.size() ? times->by_gpu[by_gpu.size()] : Seconds());
  }
  for (run::RankReport& report : ranks_)
    report.time_s.push_back(by_gpu.at(settings_.seats[std::size_t(report.rank)].gpu).value);
  return {};
}

// Short calls are timed in rows, replayed by the GPU alone, each on what the one before left; before each row
// there is a call whose result is compared.
Result<void> DeviceGroup::run(const std::function<Result<void>()>& meet, Deadline deadline) {
  const int batch = batch_of(*algorithm_, job_.call);
  const auto once = [&](cuda::Calls calls, bool timed) -> Result<void> {
    if (auto filled = fill(deadline); !filled) return filled;
    if (auto met = meet(); !met) return met;
    return play(calls, timed, deadline);
  };
  for (int sample = -job_.warmup; sample < job_.iterations; ++sample) {
    const bool timed = sample >= 0;
    if (job_.check || batch == 1)
      if (auto done = once({}, timed && batch == 1); !done) return done;
    if (job_.check)
      if (auto done = check(deadline); !done) return done;
    if (batch > 1)
      if (auto done = once({batch, true}, timed); !done) return done;
  }
  return job_.reference.empty() ? Result<void>() : refer(deadline);
}

Result<void> DeviceGroup::refer(Deadline deadline) {
  std::vector<int> gpus;
  for (const cuda::Seat& seat : settings_.seats) gpus.push_back(seat.gpu);
  const auto wrong = [&]() -> Result<std::uint64_t> {
    if (!job_.check) return 0;
    const auto all = compare(deadline);
    if (!all) return tl::unexpected(all.error());
    std::uint64_t sum = 0;
    for (const Mismatch& found : *all) sum += found.count;
    return sum;
  };
  auto reference = play_reference({*group_, job_, gpus, nccl_, algorithm_->allreduce,
                                   batch_of(*algorithm_, job_.call), [&] { return fill(deadline); }, wrong},
                                  deadline);
  return assign(reference_, std::move(reference));
}

run::RunReport DeviceGroup::collect() const {
  run::RunReport report;
  report.transports = {run::Transport::cuda};
  report.reference = reference_;
  report.ranks = ranks_;
  report.cpu_s = stopwatch_.seconds() / double(job_.iterations * batch_of(*algorithm_, job_.call));
  add_hops(report.trace);
  std::set<int> gpus;
  for (const run::RankReport& rank : ranks_) gpus.insert(settings_.seats[std::size_t(rank.rank)].gpu);
  for (const int gpu : gpus) report.gpus.push_back(use_of(gpu));
  if (!group_->choices().why.empty())
    report.remarks.push_back({run::Remark::Kind::copied, name_of_node(), {}, group_->choices().why});
  return report;
}

// What each rank's peers read of it, by the schedule. How long that took is known of the whole call alone.
void DeviceGroup::add_hops(run::Trace& trace) const {
  const auto calls = std::uint64_t(job_.iterations) * std::uint64_t(batch_of(*algorithm_, job_.call));
  const collective::Call call = cuda::sliced(job_.call, job_.ranks());
  for (const run::RankReport& report : ranks_) {
    std::map<Rank, run::Hop> hops;
    collective::record(*algorithm_, layout_, report.rank, call, [&](const collective::Step& step) {
      if (step.kind != collective::Step::Kind::send) return;
      run::Hop& hop = hops[step.peer];
      hop.source = report.rank;
      hop.destination = step.peer;
      hop.messages += calls;
      hop.bytes += Bytes(step.slice.length * calls);
    });
    for (const auto& [peer, hop] : hops) trace.hops.push_back(hop);
  }
}

run::GpuUse DeviceGroup::use_of(int gpu) const {
  run::GpuUse use;
  use.node = name_of_node();
  use.play = group_->choices().play;
  std::set<run::GpuWay> ways;
  for (const run::RankReport& report : ranks_) {
    if (settings_.seats[std::size_t(report.rank)].gpu != gpu) continue;
    use.ranks.push_back(report.rank);
    for (Rank other = 0; other < job_.ranks(); ++other)
      if (other != report.rank) ways.insert(group_->choices().of(report.rank, other).way);
  }
  use.ways.assign(ways.begin(), ways.end());
  const cuda::Gpu& it = group_->device(use.ranks.front()).gpu();
  use.index = it.index;
  use.name = it.name;
  use.uuid = it.uuid;
  return use;
}

}  // namespace ringtrue::engine
