// What operator and daemon tell each other beside the record of a run, without protobuf, and its limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "run/job.h"
#include "run/limits.h"
#include "run/member.h"

namespace ringtrue::wire {

// Raised whenever an old peer would misunderstand a new one.
inline constexpr std::uint32_t protocol_version = 6;

std::string_view program_version();  // "0.1.0"

// Whether a program of that version and protocol can be talked to: the same protocol and release series
// ("0.1" of "0.1.3"), since figures of different series are not held against each other.
bool compatible(std::string_view their_version, std::uint32_t their_protocol);

inline constexpr int max_message_bytes = 64 << 20;

using run::max_nodes, run::max_ranks, run::max_processes;
// Of a job's own data, all rows: a job has to fit a message.
inline constexpr std::uint64_t max_input_bytes = 48u << 20;

// The first command of a lease, checked.
struct Acquire {
  std::uint32_t protocol = protocol_version;
  std::string version;
  std::string holder;
  std::vector<std::string> nodes;
  run::Member member;  // as all workers of the node begin
  int ranks_per_node = 1;
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

}  // namespace ringtrue::wire
