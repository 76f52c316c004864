// The way between two devices of a node, its kind and its narrowest link.
//
// Kinds are the field's own (nvidia-smi topo, NVML's levels): NV# by so many NVLinks, directly or through
// NVSwitches; PIX through one PCIe switch at most; PXB through several without a host bridge; PHB through one
// host bridge; NODE through several host bridges of a NUMA node; SYS between NUMA nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/model.h"
#include "topology/pci_tree.h"

namespace ringtrue::topology {

enum class PathKind { self, nv, pix, pxb, phb, node, sys, unknown };

struct PathLink {
  std::string name;  // "0000:3b:00.0 - 0000:3a:00.0", "GPU0 - GPU3"
  std::string text;  // "16 GT/s x16", "12 NVLinks"
  std::optional<BytesPerSecond> rate;
};

struct Path {
  PathKind kind = PathKind::unknown;
  int nvlinks = 0;              // of NV#: the fewer of both ends' that are up
  std::vector<PathLink> links;  // from one device to the other
  // The slowest of the links whose rate is known; nullopt: none is.
  std::optional<BytesPerSecond> narrowest;
  int narrowest_link = -1;   // index into `links`
  bool all_known = true;     // false: some link's rate is unknown, and so may be lower
  std::string text() const;  // "NV12", "PIX", "SYS"
};

// Devices by name: GPUs, NICs, NVSwitches, or PCI addresses. Error: bad_input, listing what there is.
Result<Path> path(const Node& node, const std::string& from, const std::string& to);
// Of a device up to its host bridge.
Result<Path> path_to_root(const Node& node, const std::string& device);

// path() for many pairs of one node, which outlives this.
class PathFinder {
 public:
  explicit PathFinder(const Node& node) : tree_(node) {}
  Result<Path> path(const std::string& from, const std::string& to) const;

 private:
  PciTree tree_;
};

}  // namespace ringtrue::topology
