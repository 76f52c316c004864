// What a daemon has done since it began, counted without locks: a scrape waits for nobody who measures, and
// nobody for a scrape.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/keys.h"
#include "base/result.h"
#include "run/transport.h"
#include "worker/group.h"

namespace ringtrue::daemon {

enum class LeaseEnd : std::uint8_t {
  released,  // by its operator
  lost,      // the operator went away
  expired,   // it lasted as long as this node allows
  stopped,   // with the daemon
  failed,    // the workers did not start
  refused,   // there was none: another has the node, or the daemon stops
};

}  // namespace ringtrue::daemon

namespace ringtrue {

template <>
inline constexpr const char* keys_of<daemon::LeaseEnd>[] = {"released", "lost",   "expired",
                                                            "stopped",  "failed", "refused"};

}  // namespace ringtrue

namespace ringtrue::daemon {

struct Tally {
  std::atomic<bool> held = false;
  std::array<std::atomic<std::uint64_t>, std::size(keys_of<LeaseEnd>)> leases{};
  std::atomic<std::uint64_t> runs = 0;  // that were played to their end here
  // Phases that failed here, and not elsewhere in the fleet, by their cause.
  std::array<std::atomic<std::uint64_t>, std::size(keys_of<Cause>)> failures{};
  std::array<std::atomic<std::uint64_t>, std::size(keys_of<worker::End>)>
      workers{};  // processes, by their end
  std::array<std::atomic<std::uint64_t>, std::size(keys_of<run::Transport>)>
      sent{};                                // bytes of runs, from here
  std::atomic<std::uint64_t> strangers = 0;  // data connections that leases' workers dropped

  void add(LeaseEnd end) { ++leases[std::size_t(end)]; }
  void add(worker::End end) { ++workers[std::size_t(end)]; }
  void add(Cause cause) { ++failures[std::size_t(cause)]; }
};

}  // namespace ringtrue::daemon
