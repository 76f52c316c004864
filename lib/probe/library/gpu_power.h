// Which NVIDIA GPUs asking NVML would wake, found out without touching them.
#pragma once

#include <string>
#include <vector>

#include "probe/source.h"

namespace ringtrue::probe {

struct NvidiaGpus {
  std::vector<std::string> awake, asleep;  // PCI addresses, in their order
};

// The driver initialises a GPU when its first client opens it, and lets it go with its last one unless
// persistence is on; NVML is such a client. A GPU is taken to sleep
//   - where its PCI function is suspended (power/runtime_status) or in D3 (power_state);
//   - where the driver says that its memory is off, and awake where it says active
//     (/proc/driver/nvidia/gpus/ADDRESS/power, "Video Memory:"). "?" means not initialised, in drivers that
//     say anything else of some GPU;
//   - otherwise where nobody has the driver open: /sys/module/nvidia/refcnt is then no higher than the number
//     of modules that hold it (holders/). A persistence daemon that persists, DCGM and running jobs all raise
//     it.
// Where nothing of this can be read, it is awake. Nothing else is read: `information` beside `power` and a
// function's `config` resume a suspended device.
NvidiaGpus nvidia_gpus(Source& files);

}  // namespace ringtrue::probe
