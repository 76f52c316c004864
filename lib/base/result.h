// Anything that a peer, a device or a user can cause comes back as a Result whose Error a person can act on.
// A broken invariant of our own asserts instead.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/subject.h"

namespace ringtrue {

enum class Cause {
  bad_input,    // what the user typed, or a file that the user named
  unavailable,  // something this machine lacks or forbids: a port in use, no permission, no memory
  unreachable,  // a node or peer that cannot be reached at all
  refused,      // a peer that answered and said no: certificate, role, lease, version
  deadline,     // a peer that did not answer in time
  peer_lost,    // a peer that was there and is gone
  corrupted,    // bytes that cannot have been sent by a healthy peer
  cancelled,    // stopped because somebody asked, or because another part failed first
  internal,     // a fault of our own
  stopping,     // a node whose daemon is being stopped or upgraded, and says so
};

struct Error {
  Cause cause = Cause::internal;
  std::string what;  // one line, lower case, the exact cause: "connection reset by node2 (rank 2)"
  Subject where;     // whom it concerns; may be empty
  std::string next;  // what to do about it; may be empty

  std::string text() const;  // "node3 run: connection reset by node2 (rank 2); try ..."
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Cause cause, std::string what, Subject where = {}, std::string next = {}) {
  return tl::unexpected<Error>(Error{cause, std::move(what), std::move(where), std::move(next)});
}

// Stores what was made; the error, if it was not:
//   if (auto made = assign(stream_, device.make_stream()); !made) return made;
template <class Into, class T>
Result<void> assign(Into& into, Result<T> made) {
  if (!made) return tl::unexpected(std::move(made.error()));
  into = std::move(*made);
  return {};
}

}  // namespace ringtrue
