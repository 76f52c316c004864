// The flags of what runs on GPU memory.
#pragma once

#include <vector>

#include "base/result.h"
#include "cmd/command.h"
#include "engine/job.h"

namespace ringtrue::cmd {

struct GpuFlags {
  std::vector<int> gpus;  // of each node, as CUDA counts them; empty: all
  bool share = false;
};

void add_gpu_flags(Command app, GpuFlags& flags);

// "0,2,4-7": each once. Errors: bad_input.
Result<std::vector<int>> parse_gpus(std::string_view text);

// Errors (bad_input): flags or a transport that are about GPU memory where the data is in the host's.
Result<void> check_memory(const Context& context, const GpuFlags& flags);

engine::Memory memory_of(const Context& context);

}  // namespace ringtrue::cmd
