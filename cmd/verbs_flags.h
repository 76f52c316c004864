// The settings of RDMA: flags of what runs on wires, and [verbs] of the configuration under the same names.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "run/rdma.h"

namespace ringtrue::cmd {

struct VerbsFlags {
  std::map<std::string, std::string> given;  // "gid_index": "3"
  run::RdmaSettings defaults{};
};

// For commands that have seconds for many measurements: a packet lost at the end of a message costs a whole
// timeout.
inline run::RdmaSettings short_timeouts() {
  run::RdmaSettings settings;
  settings.timeout = 16;
  return settings;
}

Flags verbs_flags(VerbsFlags& flags);

// Those that were given, as they can be given again.
std::vector<std::string> words_of(const VerbsFlags& flags);

// The first of them, as a flag that does nothing somewhere.
Inapplicables given(const VerbsFlags& flags);

// The flags over the configuration over the defaults. Errors (bad_input) name the value's origin, or a flag
// that does nothing, as the transport cannot be RDMA.
Result<run::RdmaSettings> verbs_settings(const Context& context, const VerbsFlags& flags);

// What to say of them where no hop went over RDMA after all; empty where none was given.
std::string unused(const VerbsFlags& flags);

}  // namespace ringtrue::cmd
