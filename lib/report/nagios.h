// The one line of a monitoring plug-in (Monitoring Plugins development guidelines): "STATUS: text | data".
#pragma once

#include <string>

#include "report/documents.h"

namespace ringtrue::report {

// One line. Goes with the check's exit code, which is Nagios' own: 0 ok, 1 warning, 2 critical, 3 unknown.
std::string nagios(const ops::CheckDocument& document);

}  // namespace ringtrue::report
