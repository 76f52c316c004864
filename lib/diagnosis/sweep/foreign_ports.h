// Which RDMA ports are a node's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/sweep/pair_schedule.h"
#include "topology/model.h"

namespace ringtrue::diagnosis {

using Addresses = std::map<std::string, std::string>;  // a node's own, by its name: "10.1.0.7", "fe80::1"

// Several nodes of one machine (network namespaces in a lab, containers on one host) see each other's
// devices. A port with the address that another node sends from is that node's: what this one saw of it - the
// port, its counters and their window, its NIC where nothing else is left of it - goes.
void drop_foreign_ports(topology::Cluster& cluster, const Addresses& addresses);

// Active RDMA ports of each of `nodes`, in the order of their names; none where the node is not in `cluster`.
Ports active_ports(const topology::Cluster& cluster, const std::vector<std::string>& nodes);

// Takes from `ports` those that no rail can reach: of InfiniBand where all rails are Ethernet's, or the other
// way round. Returns them, by node.
Ports take_other_layers(const topology::Cluster& cluster, const std::vector<std::string>& nodes,
                        const Ports& rails, Ports& ports);

}  // namespace ringtrue::diagnosis
