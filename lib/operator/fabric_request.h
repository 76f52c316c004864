// The modelled cluster of `simulate`: from a preset, a topology, a file and flags, in this order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collective/fault.h"
#include "operator/setup.h"
#include "sim/fabric.h"

namespace ringtrue::ops {

struct FabricRequest {
  std::map<std::string, std::string> given;  // by setting
  std::string file;                          // --fabric
  std::vector<std::string> topology;         // --topology: files, or "probe"
  int random_faults = 0;

  bool has(const std::string& setting) const { return given.contains(setting); }
  bool tells_rate() const { return has("nic") || has("inter") || !file.empty(); }  // between nodes
};

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

// The fabric without faults. `link_rate`: of a NIC, where nothing else says it. `probed`: what --topology
// gave; an error says which flag gives a rate that it leaves unknown. `grows`: nodes come to it, as those of
// dedicated aggregators do.
Result<sim::Fabric> fabric_of(const FabricRequest& request, std::optional<BytesPerSecond> link_rate,
                              const ProbedFabric* probed = nullptr, bool grows = false);

// "8 ranks on 8 nodes, 12.5 GB/s between nodes after 20.0 us"; "1 rank on 1 node".
std::string where_of(const sim::Fabric& fabric);

// --fault: of hops between ranks (collective/fault.h) and of the fabric (sim/fabric_fault.h), in one script.
struct FaultScript {
  std::vector<collective::Fault> hops;
  std::vector<sim::FabricFault> fabric;
};
Result<FaultScript> parse_script(std::string_view text);

}  // namespace ringtrue::ops
