// What it takes to talk to daemons, and why some cannot be talked to.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "fleet/pki.h"

namespace ringtrue::fleet {

// Without TLS over TCP there are none; over Unix sockets none are needed.
Result<std::optional<PemBundle>> credentials_for(const std::vector<Target>& targets, const Options& options);

// Why `which` of the targets cannot be talked to, asked of several at once on a few threads; nullopt where
// that could not be found out in `time`.
std::vector<std::optional<Error>> explain(const std::vector<Target>& targets, const std::vector<int>& which,
                                          const std::optional<PemBundle>& credentials, Seconds time);

}  // namespace ringtrue::fleet
