// The model as JSON, without loss: from_json(to_json(x)) == x. The form is packaging/schema/topo.json; every
// fact is
// {"value", "unit", "origin"}, unknown ones null. Rates are in bytes per second, sizes in bytes.
// What is worked out (links, counts) is written for readers beside it, and ignored when read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/model.h"

namespace ringtrue::topology {

std::string to_json(const Cluster& cluster, int indent = 2);  // "schema": "ringtrue.topo/1"
// Errors: bad_input, one line, for what is no such document, is longer than 64 MiB, or nests deeper than 32.
Result<Cluster> from_json(std::string_view text);

}  // namespace ringtrue::topology
