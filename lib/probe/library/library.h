// Libraries that talk to hardware, each asked in a process of its own (ringtrue-probe): what they say as
// text, so that it can be recorded and replayed. All others link none of them.
//
//   hwloc    hwloc's XML
//   nvml     {"driver", "cuda", "gpus": [{"index", "uuid", "pci", "error", "nvlinks": [...], ...}]}
//   verbs    {"devices": [{"name", "firmware", "ports": [...], ...}]}
//   ethtool  {"eth0": {"speed_Mbps", "supported_Mbps", "driver", "firmware", "statistics": {...}, ...}}
//   fabric   the text of ibnetdiscover
//   routes   the same, and the switches' forwarding tables (formats/forwarding.h)
//   system   {"memlock", "uname", ...}: what no file tells
// The exact forms stand in the head of each file here, and in the probe that reads them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::probe {

struct Asking {
  std::string root;  // of recorded files, where the library can be told (hwloc); empty: this machine
  bool wake_gpus = false;
};

// Errors: unavailable ("no NVIDIA driver: libnvidia-ml.so.1 is not installed"), refused (permission).
Result<std::string> ask_hwloc(const Asking& asking);
Result<std::string> ask_nvml(const Asking& asking);
Result<std::string> ask_verbs(const Asking& asking);
Result<std::string> ask_ethtool(const Asking& asking);
Result<std::string> ask_fabric(const Asking& asking);
Result<std::string> ask_routes(const Asking& asking);
Result<std::string> ask_system(const Asking& asking);

// By name; bad_input, listing what there is, for another.
Result<std::string> ask(std::string_view library, const Asking& asking);

}  // namespace ringtrue::probe
