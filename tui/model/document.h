// Documents of `ringtrue ... --json` as the dashboard has them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tui/model/moment.h"

namespace ringtrue::tui {

// What a document had: one of these.
struct Document {
  std::shared_ptr<const Moment> moment{};  // of check and sweep
  std::optional<Run> run{};                // of run and simulate
};

// "check" of {"schema": "ringtrue.check/1"}; "" of anything else.
std::string schema_of(std::string_view text);

// `when` it was written; `name` of the file, in errors. Errors (bad_input): no such document.
Result<Document> read_document(std::string_view text, double when, const std::string& name);

}  // namespace ringtrue::tui
