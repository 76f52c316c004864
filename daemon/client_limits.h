// What clients may take of the daemon, whoever they are. All of it together stays below 200 MB.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace ringtrue::daemon {

// ---- before a client has said anything

inline constexpr Seconds opening_time{5};        // for its first bytes
inline constexpr std::size_t max_waiting = 256;  // the oldest goes when there are more
inline constexpr std::size_t max_waiting_of_source = 64;
inline constexpr int accepts_at_once = 64;
// The kernel gives the lowest free number. Below 1024, which a process may open without asking; what is left
// between the two is the Unix socket's alone, and beyond it the files', pipes and workers of this daemon.
inline constexpr int highest_tcp_fd = 700, highest_local_fd = 850;

// ---- connections. Each costs three descriptors and, with TLS, some 100 KiB.

// An operator has one; several may share a machine.
inline constexpr std::size_t max_of_source = 16;
// Of them without calls; of more the oldest makes room for a new one.
inline constexpr std::size_t max_kept_of_source = 8;
inline constexpr std::size_t max_tcp = 128, max_local = 32;
// A connection that no permitted call has come over, from accept(2) on; handshakes may take half of it.
inline constexpr Seconds unproven_time{10};
inline constexpr Seconds idle_time{60};     // one without calls, since the last
inline constexpr Seconds farewell_time{1};  // to flush what was for a client that is being dropped

// What a connection may send at once, and each second from then on. A request takes 35 bytes at least, for
// which gRPC needs up to 12 KiB, also where it is withdrawn at once; and gRPC gathers a whole message before
// it looks how long it is.
struct Allowance {
  std::size_t burst, per_second;
};
// A TLS handshake takes 3 KiB, an acquire for 4,000 nodes 60 KiB.
inline constexpr Allowance unproven{16 << 10, 16 << 10};
inline constexpr Allowance proven{64 << 10, 64 << 10};
// Of a lease: beside that, as much again as the messages that it has sent.
inline constexpr Allowance leasing{1 << 20, 64 << 10};

// ---- calls

inline constexpr int max_streams = 16;  // of a connection at once
inline constexpr Seconds first_command_time{5};
inline constexpr Seconds longest_heartbeat{3};  // a lease outlives three that stay away
inline constexpr Seconds parting_time{1};       // for a client to take our last words
inline constexpr Seconds describe_time{5};      // until its answer has been taken
inline constexpr Seconds inspect_time{40};      // likewise, beside the window

// ---- readings of this node. Each takes some tenths of a second of a core, at a low priority.

// Of one identity: at once; in a row, and one more each `inspection_pause` from then on.
inline constexpr int max_inspections_of_identity = 4;
inline constexpr int max_inspections_in_a_row = 32;
inline constexpr Seconds inspection_pause{2};
inline constexpr std::size_t max_askers = 64;    // of one reading
inline constexpr std::size_t max_windows = 8;    // readings that take as long as their askers chose
inline constexpr std::size_t max_readings = 16;  // with those that are being ended

// ---- lines in the log, of clients that were refused or dropped

inline constexpr int max_lines = 8, max_lines_of_source = 3;
inline constexpr Seconds lines_window{10};

}  // namespace ringtrue::daemon
