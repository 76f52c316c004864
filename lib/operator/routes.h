// Routes from files, or read live.
#pragma once

#include <string>
#include <vector>

#include "operator/documents/routes.h"
#include "operator/setup.h"
#include "topology/routes.h"

namespace ringtrue::ops {

// Routes, and what is to be said of how they came about.
struct KnownRoutes {
  topology::Routes routes;
  std::vector<std::string> notes;
};

// Forwarding tables (formats/forwarding.h) and the output of ibnetdiscover, in files of any order; tables may
// be of any length. Errors: bad_input, with the file and its line.
Result<KnownRoutes> read_routes(const std::vector<std::string>& files);
// What one ringtrue-probe read of a live fabric.
Result<KnownRoutes> read_live_routes(const std::string& text);
// Read now by one of the hosts' daemons, the first that can; without hosts by this machine.
Outcome<KnownRoutes> live_routes(const Setup& setup, bool hosts, const Control& control);

// `between`: two nodes whose ways to each other are wanted; empty: none.
Outcome<RoutesDocument> routes_document(KnownRoutes known, const std::vector<std::string>& between);

}  // namespace ringtrue::ops
