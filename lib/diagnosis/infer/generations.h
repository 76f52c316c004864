// Nodes whose ports all have another rate than the others', both ways alike: another generation of NICs, or a
// part of the fleet that is slow alike. They are held to what they themselves do, not to the others.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

// Whether every node's ports say what they carry.
bool knows_all(const std::vector<double>& port_rates);

// The nodes, rising, whose ports are as fast as any; none where not all are known.
std::vector<int> newest_of(const std::vector<double>& port_rates);

// By node: what its ports do over what those of the fastest generation do; empty where there is but one. As
// the ports' own rates say, where those of all nodes are known; else by what they do at their best: a
// generation has two members and more, of which most were measured with one another and were as slow there:
// those that are fast among themselves share something slow with the others.
std::vector<double> generations(const Readings& readings, const std::vector<double>& port_rates);

// The same, with a node that is the only one of the fastest generation as one of the next: with its partners
// it can show no more.
std::vector<double> held_to(std::vector<double> generations);

// The rate of the slowest of `generations`, where somebody said what their links carry (`attainable`), it is
// below `share` of that, and their ports do not say so themselves. Rates in bytes/s, `fastest` of the
// fastest.
std::optional<double> below_declared(const std::vector<double>& generations, double fastest,
                                     std::optional<double> attainable, double share,
                                     const std::vector<double>& port_rates);

// Whether each node of a slower generation has readings that are long enough, of three experiments and more.
bool are_shown(const std::vector<double>& generations, const Readings& readings);

}  // namespace ringtrue::diagnosis
