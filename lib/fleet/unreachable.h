// Why a daemon cannot be reached, read from gRPC's status text, and what to do.
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/fleet.h"
#include "pki/pki.h"

namespace ringtrue::fleet {

// `credentials`: null for --insecure. `status`: the message of gRPC's UNAVAILABLE. The error's `where` is the
// target's node.
Error why_unreachable(const Target& target, const pki::PemBundle* credentials, const std::string& status);

}  // namespace ringtrue::fleet
