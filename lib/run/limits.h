// How much of what a run can have.
#pragma once

#include <cstdint>

namespace ringtrue::run {

inline constexpr int max_nodes = 65'536;
inline constexpr int max_ranks = 1 << 20;
inline constexpr int max_processes = 128;  // on a node

inline constexpr int max_rdma_ports = 64;  // of a rank
inline constexpr int max_block = 1 << 22;  // elements
// Of a call; what a machine allows is far below.
inline constexpr double max_call_bytes = double(std::uint64_t(1) << 50);

}  // namespace ringtrue::run
