// The ports of a node that carry its data between nodes, and why others do not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/model.h"

namespace ringtrue::topology {

enum class NoRail { none, virtual_device, no_rdma, other_kind, down };

struct RailPort {
  const Nic* nic = nullptr;
  const Port* port = nullptr;     // one of which nothing is known, where no source shows any NIC's ports
  NoRail why_not = NoRail::none;  // none: it is a rail
};

// All ports, in the order of the node's NICs. Rails are hardware, or else what was passed through to a
// virtual machine, or else whatever there is; with RDMA where any of these has it; of the layer and model
// that carries most, or would if its ports were not down (run/rail_rule.h); and not known to be down.
// `names`: the ports of these NICs alone, in this order, whatever they are, unless they are down.
std::vector<RailPort> find_rails(const Node& node, const std::vector<std::string>& names = {});

// What the port can do, or does as far as that is known.
std::optional<BytesPerSecond> best_rate(const Port& port);

// A virtual function that was passed through to this machine: it has hardware below it, elsewhere. What other
// virtual devices say of their rates is invented.
bool is_passed_through(const Node& node, const Nic& nic);
bool is_virtual(const Node& node, const Nic& nic);

}  // namespace ringtrue::topology
