// The modelled cluster of `simulate`: from a preset, from a file, from flags, in this order.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "collective/fault.h"
#include "sim/fabric.h"

namespace ringtrue::cmd {

struct FabricFlags {
  std::map<std::string, std::string> given;  // by setting
  std::string file;                          // --fabric
  int random_faults = 0;

  bool has(const std::string& setting) const { return given.contains(setting); }
};

void add_fabric_flags(Commands& commands, CLI::App& app, FabricFlags& flags);

// The fabric without faults. `link_rate`: of a NIC, where nothing else says it.
Result<sim::Fabric> fabric_of(const FabricFlags& flags, std::optional<BytesPerSecond> link_rate);

// "8 ranks on 8 nodes, 12.5 GB/s between nodes after 20.0 us".
std::string where_of(const sim::Fabric& fabric);

// --fault: of hops between ranks (collective/fault.h) and of the fabric (sim/fabric_fault.h), in one script.
struct FaultScript {
  std::vector<collective::Fault> hops;
  std::vector<sim::FabricFault> fabric;
};
Result<FaultScript> parse_script(std::string_view text);

}  // namespace ringtrue::cmd
