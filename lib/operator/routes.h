// Routes from files.
#pragma once

#include <string>
#include <vector>

#include "operator/documents/routes.h"
#include "operator/setup.h"
#include "topology/routes.h"

namespace ringtrue::ops {

// Forwarding tables (formats/forwarding.h) and the output of ibnetdiscover, in files of any order; tables may
// be of any length. Errors: bad_input, with the file and its line.
Result<topology::Routes> read_routes(const std::vector<std::string>& files);

// `between`: two nodes whose ways to each other are wanted; empty: none.
Outcome<RoutesDocument> routes(const std::vector<std::string>& files,
                               const std::vector<std::string>& between);

}  // namespace ringtrue::ops
