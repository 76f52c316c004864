// From the names in --hosts to the daemons behind them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "fleet/fleet.h"

namespace ringtrue::fleet {

struct TargetOptions {
  int port = 7464;  // where a name gives none
  // Name -> address, for nodes that the system's resolver does not know or knows by another address.
  std::map<std::string, std::string> addresses;
  Seconds lookup_deadline{5};
  // Names that stand for no address become targets that say so, in place of an error.
  bool keep_unknown = false;
};

// Names as expand_hostlist gives them: "node3", "node3:7465", "10.0.0.4", "[fd00::4]:7464",
// "unix:/run/r.sock". A target's `node` is its name as given, without the port unless the same host occurs
// more than once; its `host` is the address that the name stands for (an IPv4 one where there is any).
// bad_input: a name that stands for no address, a bad port, the same daemon twice.
Result<std::vector<Target>> make_targets(const std::vector<std::string>& names,
                                         const TargetOptions& options = {});

// The hostlist of the Slurm job that this process is part of, if it is.
std::optional<std::string> slurm_hostlist();

// The name that the target's certificate must carry: its node's, without a port.
std::string certificate_name(const Target& target);
// The word of --hosts that means the target: "node3", "node3:7465", "[fd00::4]", "unix:/run/r.sock".
std::string host_text(const Target& target);
// "node3 (10.77.0.4:7464)", "unix:/run/r.sock": for messages.
std::string to_text(const Target& target);
// "10.77.0.4:7464", "[fd00::4]:7464", "unix:/run/r.sock".
std::string address_text(const Target& target);

}  // namespace ringtrue::fleet
