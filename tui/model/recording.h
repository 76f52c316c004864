// Snapshots as lines of JSON, to be played again.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tui/model/model.h"

namespace ringtrue::tui {

std::string to_line(const Snapshot& snapshot);
// Errors (bad_input): no such line. What is missing keeps its default.
Result<Snapshot> read_line(std::string_view line);

// Writes what changes of a model to a file, while it is shown. Errors (bad_input): the file is there already,
// or cannot be written.
Result<std::unique_ptr<Model>> record(std::unique_ptr<Model> model, const std::string& file);

// Space pauses it, + and - change its speed, the session before and after jump.
Result<std::unique_ptr<Model>> replay(const std::string& file);

}  // namespace ringtrue::tui
