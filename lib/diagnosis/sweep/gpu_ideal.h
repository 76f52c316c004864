// What the links between the GPUs of one node allow a collective on their memory: B (ideal/facts.h) of those
// GPUs that it ran on. Where peers reach each other, all NVLinks of a GPU but those to GPUs outside the run,
// or else its PCIe link; where the data passes through the host, its PCIe link in any case. There is none
// where several ranks share a GPU, or where the host's memory takes part: no fact tells what memories carry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ideal/ideal.h"
#include "run/gpu.h"
#include "topology/model.h"

namespace ringtrue::diagnosis {

struct GpuIdeal {
  std::optional<ideal::Rate> intra;
  std::optional<ideal::Efficiency> efficiency;
  std::string note;  // how it came about, or why there is none
};

// `gpus`: those that a run was on, by process. Why there is none whatever the facts are; empty: they are
// asked.
std::string why_no_ideal(const std::vector<run::GpuUse>& gpus);

// `node`: nullptr where its facts could not be read.
GpuIdeal gpu_ideal(const topology::Node* node, const std::vector<run::GpuUse>& gpus);

}  // namespace ringtrue::diagnosis
