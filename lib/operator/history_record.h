// From a check to what the history keeps of it: of a document that was just made, or of its JSON.
#pragma once

#include <string>
#include <string_view>

#include "history/types.h"
#include "operator/documents/check.h"
#include "topology/model.h"

namespace ringtrue::ops {

struct RecordedBy {
  std::string fleet, version;
};

// Without its document.
history::Record record_of(const CheckDocument& document, const RecordedBy& by);
// Of the JSON of a check. What has no time in it took place at `otherwise_us`. The uuid follows from the
// text, so that it is known when it comes again. Errors: bad_input.
Result<history::Record> record_of_json(std::string_view text, const RecordedBy& by,
                                       std::int64_t otherwise_us);

// What of the nodes changes seldom, and then matters: kernels, drivers, firmware, rates of ports.
std::vector<history::Fact> facts_to_record(const topology::Cluster& cluster);

history::SubjectKey subject_of(const diagnosis::Scope& scope);

}  // namespace ringtrue::ops
