// The flags of the modelled cluster of `simulate`: a preset, a topology, a file and single settings.
#pragma once

#include "cmd/command.h"
#include "operator/fabric_request.h"

namespace ringtrue::cmd {

void add_fabric_flags(Commands& commands, Command app, ops::FabricRequest& flags);

}  // namespace ringtrue::cmd
