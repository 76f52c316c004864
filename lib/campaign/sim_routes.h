// A modelled fabric's tables by destination, as a check may be told them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "diagnosis/routes.h"
#include "sim/fabric.h"

namespace ringtrue::campaign {

// Of a fabric with leaves whose hashing is by destination. Switches are called "leaf3", "spine2" and "core4"
// by their numbers in faults. Ports are numbered from 1: a leaf's are its nodes, then its uplinks; a spine's
// the cables to its leaves, then its uplinks; a core's the cables to its pods. Uplinks are the first cable to
// each switch above, then the second ones. `stale`: the share of rows that name another uplink than what is
// in use, drawn from the seed.
std::shared_ptr<const diagnosis::NodeRoutes> routes_of(const sim::Fabric& fabric, double stale,
                                                       std::uint64_t seed);
// What a cable is called there, of a place that is a trunk one way: "leaf0 port 9 -> spine1 port 1"; of one
// both ways, from below: "leaf0 port 9 <-> spine1 port 1". The first cable's, where the place names none.
std::string trunk_name(const sim::Fabric& fabric, const sim::Place& place);

}  // namespace ringtrue::campaign
