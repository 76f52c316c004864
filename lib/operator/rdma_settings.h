// RDMA's settings for a use case: what was given for this once over the configuration over the defaults.
#pragma once

#include <string>

#include "operator/setup.h"
#include "run/rdma.h"

namespace ringtrue::ops {

// For use cases that have seconds for many measurements: a packet lost at the end of a message costs a whole
// timeout.
run::RdmaSettings short_timeouts();

// Errors (bad_input) name the value's origin, or a setting that does nothing, as the transport cannot be
// RDMA.
Result<run::RdmaSettings> rdma_settings(const Setup& setup, run::RdmaSettings defaults = {});

// What to note of settings that were given for this once where no hop went over RDMA after all; empty where
// none was.
std::string unused_rdma(const Setup& setup);

}  // namespace ringtrue::ops
