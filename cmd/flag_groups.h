// Flags that several commands take.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/command.h"
#include "operator/call_request.h"
#include "operator/fabric_request.h"
#include "operator/facts.h"
#include "operator/omni_request.h"

namespace ringtrue::cmd {

// A call and its sizes; with `barrier`, that is an algorithm, too.
Flags call_flags(ops::CallRequest& call, bool barrier = false);
// --fault, between ranks.
Flag fault_flag(std::string& fault, const std::string& help);

// An omnireduce, and data in which much is zero.
Flags omni_flags(ops::OmniRequest& omni);

// GPU memory.
Flags gpu_flags(ops::GpuRequest& gpus);
// "0,2,4-7": each once. Errors: bad_input.
Result<std::vector<int>> parse_gpus(std::string_view text);

// The modelled cluster of `simulate`: a preset, a topology, a file and single settings.
Flags fabric_flags(ops::FabricRequest& fabric);

// What looks into nodes: --window, whose default is `window`, --wake-gpus, and where `files`, --from.
Flags fact_flags(ops::FactRequest& facts, const std::string& window = "0", bool files = true);
// Errors (bad_input): flags that do nothing for such facts.
Result<void> check_facts(const Context& context, const ops::FactRequest& facts, bool hosts);

std::vector<std::string> algorithm_names();

}  // namespace ringtrue::cmd
