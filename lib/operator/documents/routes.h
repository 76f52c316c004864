// What forwarding tables say of a fabric.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/routes.h"

namespace ringtrue::ops {

struct RoutesDocument {
  topology::Routes routes;
  topology::RouteUse use;
  std::vector<std::pair<int, int>> between;  // ports whose ways are wanted
  std::vector<std::string> notes;            // who read them live, and what was not read
};

}  // namespace ringtrue::ops
