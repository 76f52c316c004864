// simulate: the sizes one after the other, printed as one document.
#pragma once

#include "cmd/command.h"
#include "cmd/simulate_task.h"

namespace ringtrue::cmd {

// The command's exit code.
int simulate(Context& context, const SimulateFlags& flags);

}  // namespace ringtrue::cmd
