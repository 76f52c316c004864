// The settings of RDMA: flags of what runs on wires, and [verbs] of the configuration under the same names.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "transport/verbs/settings.h"

namespace ringtrue::cmd {

struct VerbsFlags {
  std::map<std::string, std::string> given;  // "gid_index": "3"
  transport::verbs::Settings defaults{};
};

// Of what has seconds for many measurements: a packet lost at the end of a message costs a whole timeout.
inline transport::verbs::Settings in_a_hurry() {
  transport::verbs::Settings settings;
  settings.timeout = 16;
  return settings;
}

void add_verbs_flags(Commands& commands, Command app, VerbsFlags& flags);

// Those that were given, as they can be given again.
std::vector<std::string> words_of(const VerbsFlags& flags);

// The flags over the configuration over the defaults. Errors (bad_input) name the value's origin, or a flag
// that does nothing, as the transport cannot be RDMA.
Result<transport::verbs::Settings> verbs_settings(const Context& context, const VerbsFlags& flags);

// What to say of them where no hop went over RDMA after all; empty where none was given.
std::string unused(const VerbsFlags& flags);

}  // namespace ringtrue::cmd
