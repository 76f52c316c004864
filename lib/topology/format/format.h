// Files as sources: what other tools wrote, and recordings of our own. Everything here reads text that may
// come from anybody: a malformed or hostile one is refused in one line (Cause::bad_input), with its name and
// where it breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/model.h"
#include "topology/source.h"

namespace ringtrue::topology {

inline constexpr std::size_t largest_file = 64u << 20;  // on disk, and once unpacked
inline constexpr std::size_t largest_expansion = 256;   // unpacked over packed
inline constexpr int most_devices = 65536;              // of a node; switches of a fabric

// hwloc's XML, version 1 and 2. One node; its name is the HostName that is in it, or `name`.
Result<Node> read_hwloc_xml(std::string_view text, const std::string& name);
// What NCCL reads from NCCL_TOPO_FILE and writes to NCCL_TOPO_DUMP_FILE. One node.
Result<Node> read_nccl_xml(std::string_view text, const std::string& name);
// The text of ibnetdiscover, with or without -p.
Result<Fabric> read_ibnetdiscover(std::string_view text);

// The node as hwloc's XML (version 2), which lstopo -i reads: packages, NUMA nodes, PCI tree, OS devices.
std::string write_hwloc_xml(const Node& node);

// A recording as it lies on disk: JSON ("ringtrue.recording/1"), packed by gzip.
std::string write_recording(const Recording& recording);
Result<Recording> read_recording(std::string_view bytes);
// Replaces names and addresses (host names, GUIDs, GIDs, MACs, IPs, serial numbers, UUIDs) by stand-ins, the
// same for the same everywhere in the recording, so that links between devices survive. `salt` makes them
// differ between sites; PCI addresses stay, because they name slots.
void redact(Recording& recording, std::string_view salt);

// Any of these, or a topo document (json.h), told apart by what is in it. `path` is for messages and names.
Result<Cluster> read_any(std::string_view bytes, const std::string& path);
// Reads the file first. A folder is refused; "-" is not special.
Result<Cluster> load(const std::string& path);
// Several, merged.
Result<Cluster> load(const std::vector<std::string>& paths);

}  // namespace ringtrue::topology
