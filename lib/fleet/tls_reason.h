// Why a daemon cannot be talked to. gRPC says "unavailable" to almost everything; this makes one connection
// and one TLS handshake of its own and tells what went wrong, and what to do.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "fleet/fleet.h"
#include "fleet/pki.h"

namespace ringtrue::fleet {

// `credentials`: null for --insecure. Nullopt where connection and handshake are as they should be. Blocks
// until it knows, at most until `deadline`. The error's `where` is the target's node.
std::optional<Error> why_unreachable(const Target& target, const PemBundle* credentials, Deadline deadline);

}  // namespace ringtrue::fleet
