// The other files of the package that this program belongs to.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ringtrue {

// Where one may lie, for a program in `folder`: beside it, in ../libexec/ringtrue or ../lib/ringtrue.
std::vector<std::string> package_places(const std::string& name, const std::string& folder);

// The first of the running program's that there is. Cause::unavailable where there is none.
Result<std::string> find_in_package(const std::string& name);

}  // namespace ringtrue
