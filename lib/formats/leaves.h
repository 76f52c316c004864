// Which leaf switches the nodes of a cluster hang below, as a file tells it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue::formats {

// By node: the switches that it has a port on; more than one where its rails have leaves of their own.
using Leaves = std::map<std::string, std::set<std::string>, std::less<>>;

// Slurm's topology.conf ("SwitchName=leaf1 Nodes=node[1-18]"; lines that name only switches are levels
// above), the output of ibnetdiscover, or a list of lines "leaf1: node[1-18]". Comments begin with '#'.
// Errors: bad_input, with the line; also where no node is named, or in a list one is below more switches than
// another.
Result<Leaves> read_leaves(std::string_view text);

struct LeafNumbers {
  std::vector<int> of;             // by node, from 0, in the order in which they occur
  std::vector<std::string> names;  // by number: the switch, or all of them
};

// Nodes below the same switches have the same number. A node that the file does not name is looked up by its
// name up to the first dot. Errors: bad_input, with the first node that is not in the file.
Result<LeafNumbers> leaf_numbers(const Leaves& leaves, const std::vector<std::string>& nodes);

}  // namespace ringtrue::formats
