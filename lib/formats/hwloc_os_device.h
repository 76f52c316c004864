// hwloc's OS devices: what drivers and libraries call a PCI device.
#pragma once

#include <map>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "topology/model.h"

namespace ringtrue::formats {

struct OsDevice {
  std::string name;  // "nvml0", "mlx5_0", "eth0"
  bool gpu = false, network = false, rdma = false;
  int nvml_index = -1;  // of "nvml3": 3
  std::map<std::string, std::string> infos;
};

// `version` is that of the file: types are counted from 0 up to version 2 and are bits from version 3 on.
OsDevice read_os_device(const pugi::xml_node& node, int version);

topology::Gpu make_gpu(const topology::PciDevice& pci, const std::vector<OsDevice>& devices);
// One NIC a function, or a NIC for each device that no PCI function of a NIC has (`pci` without address).
void make_nics(const topology::PciDevice& pci, const std::vector<OsDevice>& devices,
               std::vector<topology::Nic>& nics);

}  // namespace ringtrue::formats
