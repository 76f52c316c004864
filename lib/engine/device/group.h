// A job whose ranks are all on one node, on the memory of its GPUs: what one process plays of it
// (transport/cuda/transport.h).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/program.h"
#include "engine/values/job.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "run/trace.h"
#include "transport/cuda/transport.h"

namespace ringtrue::engine {

class DeviceGroup {
 public:
  // Why no group can play the job, as far as the job tells; empty: it can.
  static std::string why_not(const run::Job& job);

  explicit DeviceGroup(const run::Member& member)
      : node_(member.node), process_(member.process), nccl_(member.nccl) {}

  // Memory for the job's calls on `gpus`, by rank; that of earlier runs is kept where it is enough, and where
  // one process plays all ranks its connections with it.
  Result<void> prepare(transport::cuda::Driver& driver, const run::Job& job, const std::vector<int>& gpus);
  // Gives it back.
  void close();
  bool connected() const { return connected_; }
  const transport::cuda::Offer& offer() const { return group_->offer(); }
  // Errors, unavailable: what the ways between the GPUs do not allow, which the host's transports can stage.
  Result<void> connect(std::span<const transport::cuda::Offer> offers);
  // `meet`: returns when all processes have come as often.
  Result<void> run(const std::function<Result<void>()>& meet, Deadline deadline);
  run::RunReport collect() const;
  void disconnect();  // see transport/cuda/transport.h

  // From any thread, at any time.
  void abort();

 private:
  Result<void> fill(Deadline deadline);
  Result<std::vector<Mismatch>> compare(Deadline deadline);  // by index in ranks_
  Result<void> check(Deadline deadline);
  Result<void> play(transport::cuda::Calls calls, bool timed, Deadline deadline);
  Result<void> refer(Deadline deadline);
  const std::string& name_of_node() const { return job_.nodes[std::size_t(node_)]; }
  void add_hops(run::Trace& trace) const;
  run::GpuUse use_of(int gpu) const;

  int node_, process_;
  std::string nccl_;
  transport::cuda::Settings settings_;
  std::mutex mutex_;  // of the next two
  std::unique_ptr<transport::cuda::Group> group_;
  bool aborted_ = false;
  bool connected_ = false;

  run::Job job_;
  const collective::Algorithm* algorithm_ = nullptr;
  collective::Layout layout_;
  std::unique_ptr<JobValues> values_;
  std::vector<run::RankReport> ranks_;        // of this process
  std::vector<JobValues::Pattern> patterns_;  // by index in ranks_; empty: values do not repeat
  Stopwatch stopwatch_;                       // around timed calls
  std::optional<run::Reference> reference_;
};

}  // namespace ringtrue::engine
