// The lines about an omnireduce below the table. For lib/report's text*.cc only.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

std::string omni_text(const RunResult& result, const Style& style);

}  // namespace ringtrue::report
