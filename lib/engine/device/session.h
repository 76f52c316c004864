// A session for jobs on either kind of memory. Those on the host's are the host session's alone. Those on GPU
// memory are played by kernels where the ranks' GPUs reach each other (device_group.h), which is known for
// certain once all processes of the node are connected; else by the host session.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/direct.h"
#include "engine/device/group.h"
#include "engine/device/shared_control.h"
#include "engine/session/session.h"
#include "run/gpu.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"

namespace ringtrue::engine {

class HostSession;

class DeviceSession final : public Session {
 public:
  DeviceSession(run::Member member, std::unique_ptr<HostSession> host);
  ~DeviceSession() override;

  Result<int> prepare(const run::Job& job) override;
  Result<void> connect(const std::vector<std::vector<run::Address>>& processes, Deadline deadline) override;
  Result<void> barrier(Deadline deadline) override;
  Result<void> run(Deadline deadline) override;
  Result<run::RunReport> collect() override;
  void abort() override;

  static std::uint64_t shared_bytes(const run::Job& job, int node);  // as Session's

 private:
  Result<int> prepare_limits(const run::Job& job);
  Result<void> open_driver();
  Result<void> take_gpus(const run::Job& job);
  Result<void> open_group(const run::Job& job);
  Result<void> keep_data();  // where the host plays
  bool may_be_direct() const;
  std::vector<int> gpus_of_own() const;
  run::GpuUse use_of(int gpu, run::GpuPlay play) const;
  Result<void> meet(Deadline deadline);

  run::Member member_;
  std::unique_ptr<HostSession> host_;
  DeviceGroup group_;
  std::atomic<bool> aborted_{false};
  transport::cuda::Driver* driver_ = nullptr;
  std::string unknown_use_;  // why it is not known whether others use the GPUs

  // Of the job
  run::Job job_;
  std::string node_;
  std::vector<int> gpus_;       // by rank; -1: on other nodes
  std::vector<int> processes_;  // of this node that have ranks, rising
  int place_ = 0;               // of this process among them
  bool plays_ = false;          // the group
  bool only_cuda_ = false;      // by name: nothing else may
  std::string why_not_;         // why it does not
  bool measures_ = false;       // the GPUs' limits, and nothing is played
  std::vector<run::GpuLimit> limits_;
  std::unique_ptr<SharedControl> control_;  // of a group of several processes
  std::unique_ptr<DeviceRoom> room_;        // of a job that RDMA plays in a GPU's memory
  // Of a mirrored job: what the host session plays in is pinned through any of the GPUs.
  std::unique_ptr<transport::cuda::Device> pinning_;
  std::unique_ptr<transport::cuda::Memory> pinned_;
};

}  // namespace ringtrue::engine
