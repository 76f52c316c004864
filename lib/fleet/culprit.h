// Who holds a phase up, found from what each node says of it. A pure function.
//
// A node that failed by itself, fell silent or went away is a culprit. A node whose error names another node
// (Error::where) blames that node: it waited for it, or lost it. If that leads, perhaps over further nodes,
// to a culprit, it was only affected. Where no node failed by itself, the one that is blamed most is the
// culprit (losing a peer counts for more than waiting for one), then the one that was blamed first.
#pragma once

#include <string>
#include <vector>

#include "fleet/fleet.h"

namespace ringtrue::fleet {

struct Answer {
  enum class Kind {
    ok,       // did its part
    error,    // said what went wrong
    stopped,  // was told to stop before it had done its part; cancelled: it says so, and perhaps for whom it
              // waited; deadline: it does not answer that
    silent,   // said nothing, although it had the time: `error` says for how long
    gone,     // its stream ended: `error` says how
  };
  std::string node;
  Kind kind = Kind::ok;
  Error error;
  double at = 0;  // when it came, in seconds on any clock
};

// Of a stream that ended or was never there: whether that is how a node that is dead looks from here, or says
// that it stops. One that refuses is not.
constexpr bool looks_dead(Cause cause) {
  return cause == Cause::peer_lost || cause == Cause::unreachable || cause == Cause::deadline ||
         cause == Cause::stopping;
}

// Empty only where no answer is an error, silent or gone. Culprits come first, in order of `answers`. Dead is
// a node that is gone, or silent without any sign of life (unreachable, peer_lost), and one whose own error
// is that it lost its worker (peer_lost).
std::vector<Failure> find_culprits(Phase phase, const std::vector<Answer>& answers);

}  // namespace ringtrue::fleet
