// A file that another program, such as node_exporter, reads at any time: always whole.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::metrics {

// Written beside it, synced and renamed; mode 0644. Where that fails the old one stays. Errors: bad_input
// where `path` does not end in .prom, which collectors ask for; unavailable with the reason.
Result<void> write_textfile(const std::string& path, std::string_view text);
Result<void> fits_textfile(const std::string& path);

}  // namespace ringtrue::metrics
