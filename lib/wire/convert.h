// Plain models <-> protobuf. Whoever includes this header sees protobuf types; nobody further does.
//
// Everything that comes from outside is checked here, once: counts, indices, names, finite numbers. What
// from_wire returns is safe to index with. Its errors are Cause::bad_input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/job.h"
#include "engine/session.h"
#include "wire/node.pb.h"
#include "wire/version.h"

namespace ringtrue::wire {

inline constexpr int default_port = 7464;
inline constexpr int max_message_bytes = 64 << 20;

inline constexpr int max_nodes = 65'536;
inline constexpr int max_ranks = 1 << 20;
inline constexpr int max_processes = 128;
// Of a job's own data, all rows: a job has to fit a message.
inline constexpr std::uint64_t max_input_bytes = 48u << 20;

// The first command of a lease, checked.
struct Acquire {
  std::uint32_t protocol = protocol_version;
  std::string version;
  std::string holder;
  std::string secret;
  std::vector<std::string> nodes;
  int node = 0;
  int processes = 1;
  int ranks_per_node = 1;
  std::string data_interface;
  int port_low = 0, port_high = 0;
  Seconds heartbeat{1};
};

struct Prepared {
  std::vector<int> ports;    // by process
  std::string data_address;  // empty: as the operator reaches the node
};

// By node of the lease and process.
using Addresses = std::vector<std::vector<engine::Address>>;

rpc::Acquire to_wire(const Acquire& acquire);
// Never looks past `protocol` and `version` when the protocol is another one: see version_mismatch().
Result<Acquire> from_wire(const rpc::Acquire& message);
// The refusal that names both versions; `ours` and `theirs` are program versions.
Error version_mismatch(std::string_view ours, std::uint32_t our_protocol, std::string_view theirs,
                       std::uint32_t their_protocol);

// Whether the job's own data fits a message; the error says what to do instead.
Result<void> sendable(const engine::Job& job);
rpc::Job to_wire(const engine::Job& job);
Result<engine::Job> from_wire(const rpc::Job& message);

rpc::Connect to_wire(const Addresses& addresses);
Result<Addresses> from_wire(const rpc::Connect& message);

rpc::Prepared to_wire(const Prepared& prepared);
Result<Prepared> from_wire(const rpc::Prepared& message);

rpc::RunReport to_wire(const engine::RunReport& report);
Result<engine::RunReport> from_wire(const rpc::RunReport& message);

rpc::Error to_wire(const Error& error);
Error from_wire(const rpc::Error& message);  // always some error, its texts cut to one line each

// Without shared_memory and doorbells, which travel as descriptors.
rpc::Open to_wire(const engine::Member& member);
Result<engine::Member> from_wire(const rpc::Open& message);

// "prepare", "connect", ...; "" for a command without a body.
std::string_view phase_name(const rpc::Command& command);

}  // namespace ringtrue::wire
