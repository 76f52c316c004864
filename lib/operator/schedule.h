// Who sends what to whom, on paper; of an omnireduce, how it comes about.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "operator/documents/schedule.h"
#include "operator/omni_request.h"

namespace ringtrue::ops {

// Above so many ranks, steps are left out unless they are asked for.
inline constexpr int max_with_steps = 64;
inline constexpr int usual_ranks = 8;

struct ScheduleRequest {
  collective::AlgorithmId algorithm{};
  std::optional<int> ranks, lanes, shift;
  std::optional<Bytes> size, slice;
  int ranks_per_node = 1;
  bool steps = false, no_steps = false;
  bool edges = false;   // of an omnireduce: who sends to whom, nothing else
  std::string bitmaps;  // a file's name; an example if empty
  OmniRequest omni;
};

// An omnireduce is explained, unless its edges are asked for.
using Schedule = std::variant<ScheduleDocument, ExplainDocument>;
Result<Schedule> schedule(const ScheduleRequest& request);

}  // namespace ringtrue::ops
