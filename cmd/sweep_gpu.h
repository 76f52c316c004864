// `sweep --gpu`: what GPUs and the ways to them carry, beside what their links allow.
#pragma once

#include <optional>

#include "base/units.h"
#include "cmd/command.h"
#include "cmd/gpu_flags.h"
#include "cmd/verbs_flags.h"

namespace ringtrue::cmd {

struct GpuSweep {
  std::optional<Bytes> size;  // of a copy
  int repeats = 5;
  GpuFlags gpus;
};

// Errors (bad_input): flags about what lies between nodes, of which GPUs' limits know nothing.
Result<void> refuse_wires(const Context& context, const VerbsFlags& verbs, bool per_port);

// Of this machine with --local, else of the hosts. Exit code as check's: by the gravest finding.
int sweep_gpus(Context& context, const GpuSweep& what);

}  // namespace ringtrue::cmd
