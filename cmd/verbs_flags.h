// The settings of RDMA: flags of what runs on wires, and [verbs] of the configuration under the same names.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "operator/reproduce.h"
#include "run/rdma.h"

namespace ringtrue::cmd {

struct VerbsFlags {
  std::map<std::string, std::string> given;  // "gid_index": "3"; empty: not given
};

Flags verbs_flags(VerbsFlags& flags);

// Those that were given, as they can be given again.
std::vector<std::string> words_of(const VerbsFlags& flags);

// The first of them, as a flag that does nothing somewhere.
Inapplicables given(const VerbsFlags& flags);

// Those that were given, for ops::Setup.
std::map<std::string, std::string> settings_of(const VerbsFlags& flags);

// What was typed, as a next command needs it again; the environment and the usual files hold for that as
// well.
ops::ReproduceWords words_again(const Common& common, const VerbsFlags& verbs);

}  // namespace ringtrue::cmd
