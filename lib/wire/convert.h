// Plain models <-> protobuf. Whoever includes this header sees protobuf types; nobody further does.
//
// Everything that comes from outside is checked here, once: counts, indices, names, finite numbers. What
// from_wire returns is safe to index with. Its errors are Cause::bad_input. Jobs and reports cross as the
// records that lib/run describes, and are checked by it.
#pragma once

#include <string_view>

#include "base/phase.h"
#include "base/result.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "wire/messages.h"
#include "wire/node.pb.h"

namespace ringtrue::wire {

rpc::Acquire to_wire(const Acquire& acquire);
// Never looks past `protocol` and `version` when the protocol is another one: see version_mismatch().
Result<Acquire> from_wire(const rpc::Acquire& message);
// The refusal that names both versions; `ours` and `theirs` are program versions.
Error version_mismatch(std::string_view ours, std::uint32_t our_protocol, std::string_view theirs,
                       std::uint32_t their_protocol);

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
