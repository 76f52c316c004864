// What it takes to talk to daemons.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "pki/pki.h"

namespace ringtrue::fleet {

// Without TLS over TCP there are none; over Unix sockets none are needed.
Result<std::optional<pki::PemBundle>> credentials_for(const std::vector<Target>& targets,
                                                      const Options& options);

// How long a connection may take where its answer has to be there by `deadline`: some of it is left to say
// why there is none.
constexpr Seconds connect_time(Seconds deadline) {
  return Seconds(0.8 * deadline.value);
}

}  // namespace ringtrue::fleet
