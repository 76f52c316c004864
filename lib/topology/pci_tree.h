// A node's PCI tree, indexed; lives shorter than its node. Whatever a file says of parents, walks end.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/links.h"
#include "topology/model.h"

namespace ringtrue::topology {

class PciTree {
 public:
  explicit PciTree(const Node& node);
  const Node& node() const { return node_; }
  const PciDevice* find(const std::string& address) const;  // nullptr: none
  const PciDevice* parent(const PciDevice& device) const;
  // The device, what is above it, and so on; empty where there is none of that address.
  std::vector<const PciDevice*> up(const std::string& address) const;
  // "GPU0", "mlx5_0", "NVSwitch1"; of others the address itself.
  const std::string& name(const std::string& address) const;

  // Whether there is a link between it and what is above it that it can speak of: root ports have none, and
  // a switch's ports meet inside the switch.
  bool has_link(const PciDevice& device) const;
  // The port at the other end of that link, where it is shown and reports the same link; nullptr: it is not.
  const PciDevice* port_above(const PciDevice& device) const;
  // Of the link above it: what the slower of its two ends says. A virtual function has its physical one's.
  const PciLink& slower_end(const PciDevice& device) const;

 private:
  const Node& node_;
  std::unordered_map<std::string_view, const PciDevice*> devices_;
  std::unordered_map<std::string_view, const std::string*> names_;
};

// Some NVLinks of one GPU as one link, without its ends. `sisters`: all of the GPU's, which tell the rate of
// one that is down.
Link bundle_of(const std::vector<NvLink>& sisters, const std::vector<const NvLink*>& links);

}  // namespace ringtrue::topology
