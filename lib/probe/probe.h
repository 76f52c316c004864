// From what a machine says to the model: one file a source. Each probe adds what its source knows, believes
// what an earlier one said, and names what it could not read in Node::gaps. None fails; none writes anything.
//
// The order is that of the calls in probe.cc: PCI first, because the others hang their facts on its devices.
#pragma once

#include <vector>

#include "probe/source.h"
#include "run/counter_window.h"
#include "topology/model.h"

namespace ringtrue::probe {

// All probes, one after the other.
topology::Node probe(Source& source);
// A recording's node, with its counters' window where it has a second reading.
topology::Node probe(const Recording& recording);
// The same with the fabric where the node saw one.
topology::Cluster probe_cluster(const Recording& recording);

// /sys/bus/pci/devices: the tree, links, drivers, ACS, AER.
void probe_pci(Source& source, topology::Node& node);
// Packages, NUMA, caches, names; the PCI tree where sysfs has none.
void probe_hwloc(Source& source, topology::Node& node);
// /sys/class/infiniband and the answer of verbs.
void probe_rdma(Source& source, topology::Node& node);
// /sys/class/net and the answer of ethtool.
void probe_netlink(Source& source, topology::Node& node);
// GPUs; without NVML those that PCI shows.
void probe_nvml(Source& source, topology::Node& node);
// Kernel, IOMMU, limits, modules, governor, hugepages.
void probe_system(Source& source, topology::Node& node);
// Counters of ports, netdevs, PCI devices and GPUs of a node that was probed before.
std::vector<run::CounterSet> probe_counters(Source& source, const topology::Node& node);
// Of GPUs alone, as NVML's answer has them: a part of probe_counters.
std::vector<run::CounterSet> nvml_counters(Source& source, const topology::Node& node);
// The fabric as its answer has it; nothing where there is none.
std::optional<topology::Fabric> probe_fabric(Source& source, topology::Node& node);

}  // namespace ringtrue::probe
