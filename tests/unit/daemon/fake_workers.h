// Workers that do nothing, and remember what they were asked for.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/lease.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"

namespace ringtrue::daemon {

struct Doings {
  std::atomic<int> alive = 0;
  std::atomic<bool> block_run = false;  // until abort
  std::atomic<bool> fail_start = false;
  std::atomic<bool> fail_run = false;
  std::atomic<int> released = 0;
  run::Member member;
  std::vector<run::Hop> hops;  // of the report
};

class FakeWorkers final : public worker::WorkerGroup {
 public:
  FakeWorkers(Doings& doings, worker::Told told) : doings_(doings), told_(std::move(told)) {
    ++doings_.alive;
  }
  ~FakeWorkers() override {
    --doings_.alive;
    if (told_) told_(doings_.fail_run ? worker::End::crashed : worker::End::normal);
  }

  Result<std::vector<int>> prepare(const run::Job&, Deadline) override {
    return std::vector<int>(std::size_t(doings_.member.processes), 7000);
  }
  Result<void> connect(const wire::Addresses&, Deadline) override { return {}; }
  Result<void> barrier(Deadline) override { return {}; }
  Result<void> run(Deadline deadline) override {
    while (doings_.block_run && !aborted_ && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (aborted_) return fail(Cause::cancelled, "stopped on request");
    if (doings_.block_run) return fail(Cause::deadline, "nobody came");
    if (doings_.fail_run) return fail(Cause::peer_lost, "the worker was killed by signal 9 in phase run");
    return {};
  }
  Result<run::RunReport> collect(Deadline) override {
    run::RunReport report;
    report.transports = {run::Transport::shm};
    report.rejected_connections = 3;
    report.trace.hops = doings_.hops;
    return report;
  }
  void abort() override { aborted_ = true; }
  void release() override { ++doings_.released; }
  std::vector<int> pids() const override { return {}; }

 private:
  Doings& doings_;
  const worker::Told told_;
  std::atomic<bool> aborted_ = false;
};

// For leases and for their manager.
inline auto fakes(Doings& doings) {
  return [&doings](const run::Member& member, Deadline,
                   worker::Told told = {}) -> Result<std::unique_ptr<worker::WorkerGroup>> {
    if (doings.fail_start) return fail(Cause::unavailable, "no worker");
    doings.member = member;
    return std::make_unique<FakeWorkers>(doings, std::move(told));
  };
}

// With the network that command_of("connect") speaks of.
inline Limits some_limits() {
  Limits limits;
  limits.peers = Peers({*parse_network("10.0.0.0/24")});
  return limits;
}

inline wire::Acquire some_acquire(const std::string& holder = "alice@login1 (run)") {
  wire::Acquire a;
  a.holder = holder;
  a.member.secret = std::string(32, 's');
  a.nodes = {"node0", "node1"};
  a.member.node = 0;
  a.member.processes = 1;
  a.ranks_per_node = 2;
  return a;
}

inline run::Job some_job() {
  run::Job job;
  job.nodes = {"node0", "node1"};
  job.seats = {{0, 0, 0}, {1, 0, 0}};
  job.call.elements = 256;
  return job;
}

inline rpc::Command command_of(const char* phase, std::uint64_t sequence = 1, double deadline_s = 5) {
  rpc::Command command;
  command.set_sequence(sequence);
  command.set_deadline_s(deadline_s);
  const std::string name = phase;
  if (name == "prepare") *command.mutable_prepare()->mutable_job() = wire::to_wire(some_job());
  if (name == "connect")
    *command.mutable_connect() = wire::to_wire(wire::Addresses{{{"10.0.0.1", 7000}}, {{"10.0.0.2", 7000}}});
  if (name == "barrier") command.mutable_barrier();
  if (name == "run") command.mutable_run();
  if (name == "collect") command.mutable_collect();
  if (name == "release") command.mutable_release();
  if (name == "abort") command.mutable_abort();
  return command;
}

}  // namespace ringtrue::daemon
