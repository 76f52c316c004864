// The flags of a call and its sizes, which run and simulate share.
#pragma once

#include "cmd/command.h"
#include "operator/call_request.h"

namespace ringtrue::cmd {

// Without `faults` there is no --fault.
void add_call_flags(Commands& commands, Command app, ops::CallRequest& flags, bool faults = true);

}  // namespace ringtrue::cmd
