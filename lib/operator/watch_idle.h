// Which nodes nobody works on: by Slurm's word where it knows them, else by what is on their GPUs and wires.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "operator/facts.h"

namespace ringtrue::ops {

// From `sinfo --noheader --Node --format "%N %t"`: nodes in state idle are free; a node in several partitions
// has several lines, which agree. Why each of the others is not, "" of those that are.
std::map<std::string, std::string> slurm_states(std::string_view sinfo);

// Of what was read over a window: a GPU process, or a port that carries more than 1 % of what it can (10 MB/s
// where that is not known). "" of nodes that are idle.
std::map<std::string, std::string> busy_nodes(const topology::Cluster& cluster);

// Why each node is not idle, "" of those that are. Of what could not be read that is the reason.
std::map<std::string, std::string> why_busy(const std::vector<fleet::Target>& targets,
                                            const fleet::Options& options);

}  // namespace ringtrue::ops
