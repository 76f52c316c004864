// What the readers of files have in common: from PCI functions to devices with names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/model.h"

namespace ringtrue::topology::format {

// Kinds of bridges by where they stand (model.h): root ports below host bridges, below them upstream and
// downstream ports in turn; one with other devices right below it is no upstream port.
void tell_bridges(std::vector<PciDevice>& devices);

// Virtual functions by name or number, where their physical one is on the node as well: in a virtual machine
// a function that was handed through is all the hardware there is.
void tell_virtual_functions(std::vector<PciDevice>& devices);

// By PCI address; those without one last.
template <class Device>
void sort_by_address(std::vector<Device>& devices);

// "NIC0" and so on for those that have no name yet.
void name_nics(std::vector<Nic>& nics);
// By `numbers` (the library's own, one a GPU) and in that order, where all are there and differ; else in the
// order in which they stand.
void name_gpus(std::vector<Gpu>& gpus, const std::vector<int>& numbers);
void name_nvswitches(std::vector<NvSwitch>& switches);

}  // namespace ringtrue::topology::format
