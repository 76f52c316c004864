// Nodes whose ports all have another rate than the others', both ways alike: another generation of NICs, or a
// part of the fleet that is slow alike. They are held to what they themselves do, not to the others.
#pragma once

#include <vector>

#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

// By node: what its ports do over what those of the fastest generation do; empty where there is but one. As
// the ports' own rates say, where those of all nodes are known; else by what they do at their best: a
// generation has two members and more, of which most were measured with one another and were as slow there:
// those that are fast among themselves share something slow with the others.
std::vector<double> generations(const Readings& readings, const std::vector<double>& port_rates);

// The same, with a node that is the only one of the fastest generation as one of the next: with its partners
// it can show no more.
std::vector<double> held_to(std::vector<double> generations);

}  // namespace ringtrue::diagnosis
