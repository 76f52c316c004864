// What the readers of files have in common: from PCI functions to devices with names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/model.h"

namespace ringtrue::formats {

// Kinds of bridges by where they stand (model.h): root ports below host bridges, below them upstream and
// downstream ports in turn; one with other devices right below it is no upstream port.
void classify_bridges(std::vector<topology::PciDevice>& devices);

// Virtual functions by name or number, where their physical one is on the node as well: in a virtual machine
// a function that was handed through is all the hardware there is.
void mark_virtual_functions(std::vector<topology::PciDevice>& devices);

// Puts all in the order of their numbers and PCI addresses, and names what has no name yet: NICs "NIC0" and
// so on, NVSwitches "NVSwitch0". GPUs by `numbers` (the library's own, by address) and in that order, where
// all are there and differ; else in the order in which they stand.
void name_devices(topology::Node& node, const std::map<std::string, int>& numbers);

}  // namespace ringtrue::formats
