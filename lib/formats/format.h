// Files as sources: what other tools wrote. Everything here reads text that may
// come from anybody: a malformed or hostile one is refused in one line (Cause::bad_input), with its name and
// where it breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/model.h"

namespace ringtrue::formats {

inline constexpr std::size_t max_file_bytes = 64u << 20;  // on disk, and once unpacked
inline constexpr std::size_t max_expansion = 256;         // unpacked over packed
inline constexpr int max_devices = 65536;                 // of a node; switches of a fabric

// hwloc's XML, version 1 and 2. One node; its name is the HostName that is in it, or `name`.
Result<topology::Node> read_hwloc_xml(std::string_view text, const std::string& name);
// What NCCL reads from NCCL_TOPO_FILE and writes to NCCL_TOPO_DUMP_FILE. One node.
Result<topology::Node> read_nccl_xml(std::string_view text, const std::string& name);
// The text of ibnetdiscover, with or without -p.
Result<topology::Fabric> read_ibnetdiscover(std::string_view text);

// The node as hwloc's XML (version 2), which lstopo -i reads: packages, NUMA nodes, PCI tree, OS devices.
std::string write_hwloc_xml(const topology::Node& node);

}  // namespace ringtrue::formats
