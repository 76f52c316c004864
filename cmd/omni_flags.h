// The flags of an omnireduce, and of data in which much is zero; run and simulate share them.
#pragma once

#include "cmd/command.h"
#include "operator/omni_request.h"

namespace ringtrue::cmd {

void add_omni_flags(Commands& commands, Command app, ops::OmniRequest& flags);

}  // namespace ringtrue::cmd
