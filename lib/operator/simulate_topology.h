// simulate --topology: a fabric from what a cluster is.
#pragma once

#include <string>
#include <vector>

#include "operator/setup.h"
#include "sim/fabric.h"

namespace ringtrue::ops {

struct ProbedFabric {
  sim::Fabric fabric;                   // nodes, ranks, rails, what is inside; the usual rates
  bool between = true, inside = true;   // whether these rates are known
  std::string why_between, why_inside;  // where they are not
  std::vector<std::string> notes;
};

// Of the files, in any format that `topo --from` reads; where the one word is "probe", of the --hosts, or
// else of this machine. Rates are lib/ideal's: a NIC's is the lower of its port's and of its PCIe path's, a
// node's that of its slowest rail on all of them. Nodes that are slower than others keep their own rates.
Result<ProbedFabric> probe_fabric(const Setup& setup, const std::vector<std::string>& from,
                                  const Control& control);

}  // namespace ringtrue::ops
