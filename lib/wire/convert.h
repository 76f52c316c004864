// What operator and daemon tell each other beside the record of a run, its limits, and plain models <->
// protobuf. Whoever includes this header sees protobuf types; nobody further does.
//
// Everything that comes from outside is checked here, once: counts, indices, names, finite numbers. What
// from_wire returns is safe to index with. Its errors are Cause::bad_input. Jobs and reports cross as the
// records that lib/run describes, and are checked by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/phase.h"
#include "base/result.h"
#include "base/units.h"
#include "run/job.h"
#include "run/limits.h"
#include "run/member.h"
#include "run/report.h"
#include "wire/node.pb.h"
#include "wire/versions.h"

namespace ringtrue::wire {

inline constexpr int max_message_bytes = 64 << 20;

using run::max_nodes, run::max_ranks, run::max_processes;
// Of a job's own data, all rows: a job has to fit a message.
inline constexpr std::uint64_t max_input_bytes = 48u << 20;

// The first command of a lease, checked.
struct Acquire {
  Program program = this_program();
  std::string holder;
  std::vector<std::string> nodes;
  run::Member member;  // as all workers of the node begin
  int ranks_per_node = 1;
  int spare_ranks = 0;  // further ones, as many of them as the node allows
  std::string data_interface;
  Seconds heartbeat{1};
};

struct Prepared {
  std::vector<int> ports;    // by process
  std::string data_address;  // empty: as the operator reaches the node
};

// By node of the lease and process.
using Addresses = std::vector<std::vector<run::Address>>;

// Whether the job's own data fits a message; the error says what to do instead.
Result<void> sendable(const run::Job& job);

rpc::Acquire to_wire(const Acquire& acquire);
Result<Acquire> from_wire(const rpc::Acquire& message);
// Before anything else of a message is looked at: what it means depends on it.
Program program_of(const rpc::Acquire& message);
Program program_of(const rpc::Acquired& message);
Program program_of(const rpc::DescribeReply& message);

rpc::Job to_wire(const run::Job& job);
Result<run::Job> from_wire(const rpc::Job& message);

rpc::Connect to_wire(const Addresses& addresses);
Result<Addresses> from_wire(const rpc::Connect& message);

rpc::Prepared to_wire(const Prepared& prepared);
Result<Prepared> from_wire(const rpc::Prepared& message);

rpc::RunReport to_wire(const run::RunReport& report);
Result<run::RunReport> from_wire(const rpc::RunReport& message);

rpc::Subject to_wire(const Subject& subject);
Subject from_wire(const rpc::Subject& message);

rpc::Error to_wire(const Error& error);
Error from_wire(const rpc::Error& message);  // always some error, its texts cut to one line each

// Without shared_memory and doorbells, which travel as descriptors.
rpc::Member to_wire(const run::Member& member);
Result<run::Member> from_wire(const rpc::Member& message);

// A command that says no more than its phase: barrier, run, collect, release, heartbeat, abort.
rpc::Command plain_command(Phase phase);
Phase phase_of(const rpc::Command& command);  // none: a command without a body

}  // namespace ringtrue::wire
