// Commands to go on with, as they can be pasted into a shell.
#pragma once

#include <vector>

#include "cmd/command.h"
#include "cmd/verbs_flags.h"
#include "diagnosis/report.h"
#include "fleet/targets.h"

namespace ringtrue::cmd {

// Gives findings the command that looks at their nodes again, reached as this time.
void add_commands(const Context& context, const VerbsFlags& verbs, const std::vector<fleet::Target>& targets,
                  std::vector<diagnosis::Finding>& findings);

}  // namespace ringtrue::cmd
