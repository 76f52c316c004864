// What an omnireduce adds to a result. For lib/report's json*.cc only.
#pragma once

#include "report/json/value.h"

namespace ringtrue::report {

// The protocol's counts, beside a result's other keys or at the top of a document.
void add_omni_counts(Json& out, const OmniResult& omni, bool simulated);
// results[i].omnireduce
Json omni_value(const OmniResult& omni);

}  // namespace ringtrue::report
