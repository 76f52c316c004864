// Recordings on disk, and any file that facts may come from. Text that may come from anybody: a malformed or
// hostile one is refused in one line (Cause::bad_input), with its name and where it breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probe/source.h"
#include "topology/model.h"

namespace ringtrue::probe {

// A recording as it lies on disk: JSON ("ringtrue.recording/1"), packed by gzip.
std::string write_recording(const Recording& recording);
Result<Recording> read_recording(std::string_view bytes);
// The fabric's cables and forwarding tables in a recording of them alone (LiveOptions::routes), or why there
// are none. `older`: where the program that made it knows no such question.
Result<std::string> routes_in(Recording recording, Error older);
// Replaces names and addresses (host names, GUIDs, GIDs, MACs, IPs, serial numbers, UUIDs) by stand-ins, the
// same for the same everywhere in the recording, so that links between devices survive. `salt` makes them
// differ between sites; PCI addresses stay, because they name slots.
void redact(Recording& recording, std::string_view salt);

// Any of these, or a topo document (topology/json.h), told apart by what is in it. `path` is for messages and
// names.
Result<topology::Cluster> read_any(std::string_view bytes, const std::string& path);
// Reads the file first. A folder is refused; "-" is not special.
Result<topology::Cluster> load(const std::string& path);
// Several, merged.
Result<topology::Cluster> load(const std::vector<std::string>& paths);

}  // namespace ringtrue::probe
