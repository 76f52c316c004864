// `sweep --gpu`: what GPUs and the ways to them carry, beside what their links allow.
#pragma once

#include <optional>

#include "base/units.h"
#include "cmd/command.h"
#include "cmd/gpu_flags.h"

namespace ringtrue::cmd {

struct GpuSweep {
  std::optional<Bytes> size;  // of a copy
  int repeats = 5;
  GpuFlags gpus;
};

// Of this machine with --local, else of the hosts. Exit code as check's: by the gravest finding.
int sweep_gpus(Context& context, const GpuSweep& what);

}  // namespace ringtrue::cmd
