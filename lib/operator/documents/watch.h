// What one round of the watch came to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/keys.h"
#include "operator/documents/trouble.h"

namespace ringtrue::ops {

enum class WatchedThing : std::uint8_t { verdict, regression, node };

// From what was told last to what holds now; a hook is run for these alone.
struct WatchTransition {
  WatchedThing of = WatchedThing::verdict;
  std::string subject;                // "node5's sending side", "node5"; of the verdict: empty
  std::string node{};                 // where it is one's
  std::optional<std::string> before;  // nullopt: nothing was told of it yet
  std::string after;
  std::optional<double> ratio{};  // of a regression: to its baseline
};

struct WatchRound {
  struct LeftOut {
    std::string node, why;
    bool absent = false;  // it does not answer
  };
  long number = 0;  // since the watch began, from 1
  std::string fleet;
  std::int64_t started_us = 0;         // wall clock
  std::string skipped;                 // why nothing was measured; empty: it was
  std::vector<std::string> nodes;      // measured
  std::vector<LeftOut> left_out;       // of the hosts
  std::optional<std::string> verdict;  // where it was measured
  int findings = 0;
  double seconds = 0;            // that were measured, what was measured again included
  bool confirmed_again = false;  // what was suspected was measured again at once
  std::vector<WatchTransition> transitions;
  std::vector<std::string> troubles;  // what did not work and changes no verdict: recording, the hook
  std::optional<double> next_s;       // until the next round; nullopt: it was the last

  // Where it was all that was asked for, and came to nothing.
  std::optional<Trouble> error() const {
    if (skipped.empty() || next_s) return std::nullopt;
    return Trouble{Error{Cause::unavailable, "nothing measured: " + skipped, {}, {}}, {}};
  }
};

}  // namespace ringtrue::ops

namespace ringtrue {

template <>
inline constexpr const char* keys_of<ops::WatchedThing>[] = {"verdict", "regression", "node"};

}  // namespace ringtrue
