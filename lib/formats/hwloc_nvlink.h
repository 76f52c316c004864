// NVLinks out of hwloc's matrix of bandwidths.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <unordered_map>

#include "base/result.h"
#include "topology/model.h"

namespace ringtrue::formats {

// An object of the tree that may stand in the matrix.
struct HwlocPeer {
  topology::Remote kind = topology::Remote::unknown;
  std::string address;  // PCI, of GPUs and NVSwitches
};
using HwlocPeers = std::unordered_map<std::uint64_t, HwlocPeer>;  // by gp_index

// Fills Gpu::nvlinks from <distances2> and <distances2hetero> below `root`, if they are there.
Result<void> read_nvlinks(const pugi::xml_node& root, const HwlocPeers& peers, topology::Node& node);

// The version that a GPU's links are of, by its model or PCI number; nullopt: unknown.
std::optional<int> nvlink_version(const topology::Gpu& gpu, const topology::PciDevice* pci);
// By its compute capability: 60 -> 1, 90 -> 4.
std::optional<int> nvlink_version(int compute_capability);
// As many links as a GPU of that version has at most.
int max_nvlinks(int version);

}  // namespace ringtrue::formats
