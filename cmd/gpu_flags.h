// The flags of what runs on GPU memory.
#pragma once

#include <string_view>
#include <vector>

#include "cmd/command.h"
#include "operator/gpu_request.h"

namespace ringtrue::cmd {

void add_gpu_flags(Command app, ops::GpuRequest& flags);

// "0,2,4-7": each once. Errors: bad_input.
Result<std::vector<int>> parse_gpus(std::string_view text);

}  // namespace ringtrue::cmd
