// Whether an omnireduce sends blocks or (key, value) pairs of what is not zero: as asked for, or what takes
// fewer bytes of the data at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collective/omnireduce/weigh.h"
#include "operator/omni_request.h"
#include "run/job.h"

namespace ringtrue::ops {

// What the job's workers hold: job.input, or what its sparsity draws. The job's input outlives it.
collective::ValuesIn values_of(const run::Job& job);

struct FormatChoice {
  std::uint32_t key_bytes = 0;           // of pairs; 0: blocks
  std::string why;                       // of `auto`; empty: as asked for
  std::optional<collective::Held> held;  // of what the workers hold, where anything but blocks was asked for
};

// `job`: its call's elements and type, workers, and the data. Errors, bad_input: pairs of data on GPUs, keys
// that are too short.
Result<FormatChoice> format_of(const OmniRequest& flags, const run::Job& job, Placement placement);

}  // namespace ringtrue::ops
