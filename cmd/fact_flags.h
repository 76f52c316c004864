// The flags of commands that look into nodes.
#pragma once

#include "cmd/command.h"
#include "operator/facts.h"

namespace ringtrue::cmd {

// --from, --window, --wake-gpus
void add_fact_flags(Command app, ops::FactRequest& flags, bool files = true);

// Errors (bad_input): flags that such facts do not heed.
Result<void> check_facts(const Context& context, const ops::FactRequest& flags, bool hosts);
}  // namespace ringtrue::cmd
