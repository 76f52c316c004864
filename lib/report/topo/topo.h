// What the views of a topology share. For topo_*.cc, *_topo.cc.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/inspect/inspect.h"
#include "report/style.h"
#include "topology/path.h"

namespace ringtrue::report {

// Findings by what they concern.
class Marks {
 public:
  explicit Marks(const std::vector<diagnosis::Finding>& findings);
  // The worst that concerns a node's device by any of its names; nullptr: none. Without names: the node.
  const diagnosis::Finding* of(const std::string& node, std::initializer_list<std::string> names) const;

 private:
  std::map<std::pair<std::string, std::string>, const diagnosis::Finding*> by_device_;
};

char mark_of(diagnosis::Severity severity);  // '!', '?', 'i'
Ink ink_of(diagnosis::Severity severity);

// Names come from files and firmware: what would move a terminal's cursor becomes '?'.
std::string printable(std::string_view text);

// One way between two devices of a node.
struct Way {
  std::string from, to;
  topology::Path path;
};
// The names of what has paths: GPUs, and NICs with hardware. No machine has more than so many; pairs grow by
// the square, and of a file that says so none are shown.
std::vector<std::string> devices_of(const topology::Node& node);
constexpr std::size_t max_devices_with_paths = 256;

// Between all GPUs and hardware NICs of a node, each pair once, GPUs first. Nodes that are built alike, as
// most of a fleet are, are worked out once.
class Ways {
 public:
  const std::vector<Way>& of(const topology::Node& node);  // until the next call

 private:
  std::map<std::string, std::vector<Way>> by_build_;
};

// Parts of text(TopoDocument), each ending with a line's end. `peers`: which switch port each port leads to,
// which makes all nodes different.
std::string node_tree(const topology::Node& node, const Marks& marks, bool all, bool peers,
                      const Style& style);
std::string matrix_of(const topology::Node& node, Ways& ways);
std::string links_of(const topology::Node& node, const Marks& marks, Ways& ways, const Style& style);
std::string fabric_text(const topology::Fabric& fabric, const Marks& marks, bool all, const Style& style);

}  // namespace ringtrue::report
