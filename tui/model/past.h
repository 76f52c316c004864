// Earlier checks, from the file of the history.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tui/model/moment.h"

namespace ringtrue::tui {

struct Past {
  Moments moments;
  std::vector<History::Mark> marks;  // what people did and saw
};

// The latest checks of the fleet that the last one was of. `file`: empty: the usual one. Errors: no such
// file, none of ours.
Result<Past> read_past(const std::string& file);

}  // namespace ringtrue::tui
