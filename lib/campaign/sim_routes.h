// A modelled fabric's tables by destination, as a check may be told them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "diagnosis/routes.h"
#include "sim/fabric.h"

namespace ringtrue::campaign {

// Of a fabric with leaves whose hashing is by destination. Switches are called "leaf3" and "spine2" by their
// numbers in faults; a leaf's ports are its nodes, then its spines, a spine's its leaves, from 1. `stale`:
// the share of rows of leaves that name another spine than what is in use, drawn from the seed.
std::shared_ptr<const diagnosis::NodeRoutes> routes_of(const sim::Fabric& fabric, double stale,
                                                       std::uint64_t seed);
// What the trunk of a leaf is called there, up (out of the leaf) or down.
std::string trunk_name(const sim::Fabric& fabric, int leaf, int spine, bool down);

}  // namespace ringtrue::campaign
