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
};

void add_verbs_flags(Commands& commands, CLI::App& app, VerbsFlags& flags);

// The flags over the configuration over the built-in values. Errors (bad_input) name the value's origin.
Result<transport::verbs::Settings> verbs_settings(const Context& context, const VerbsFlags& flags);

}  // namespace ringtrue::cmd
