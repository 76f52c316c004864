// The grid of the paper: 2, 4, 8 workers, 10 and 100 Gbit/s, densities from 1 to 0.01, 100 MB.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/documents/grid.h"
#include "operator/omni_request.h"
#include "operator/setup.h"
#include "sim/fabric.h"

namespace ringtrue::ops {

struct GridTask {
  collective::Call call;               // elements, type, operation
  sim::Fabric fabric;                  // its latency and overhead; nodes and rate are the grid's
  std::optional<BytesPerSecond> rate;  // instead of the grid's two
  std::uint64_t seed = 1;
};

inline constexpr std::uint64_t grid_bytes = 100'000'000;
inline constexpr Seconds grid_latency{5e-6};

// Flags that are given replace what the grid goes through, or would choose.
Result<GridDocument> play_grid(const GridTask& task, const OmniRequest& flags, const Control& control);

}  // namespace ringtrue::ops
