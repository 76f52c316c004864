// Which program wrote a page.
#pragma once

#include <cstdint>
#include <string>

#include "metrics/exposition.h"

namespace ringtrue::metrics {

// The commit that this was built from; empty where the build was not told (RINGTRUE_REVISION), as packages
// are.
std::string built_from();

// `protocol`: that it speaks with daemons. Without a label for a revision that is not known.
Family build_info(const std::string& version, std::uint32_t protocol,
                  const std::string& revision = built_from());

}  // namespace ringtrue::metrics
