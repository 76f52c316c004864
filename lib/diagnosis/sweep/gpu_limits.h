// What GPUs and the ways to them carried, held against what their links allow.
//
//   host        the narrowest link from the GPU up to its root, by what both ends of each can do
//   peers       NVLinks between the two, else the narrower of their two ways to the root
//   inside      no fact tells a memory's rate: the median of all GPUs of that model, where there are three
//   both ways   through the host: what its memory and root complex pass on differs from machine to machine,
//               and no fact tells it (A100s reach 24 and 12 GB/s where one way alone carries 25, as users of
//               nvbandwidth report; an H100 93 of twice 55, measured): the median of all GPUs of that model
//               and link, where there are three
//
// times the share of it that payload can have (ideal/rates.h), and twice where both ways are added up. What a
// host bridge passes on between two GPUs is not known, a kernel's reads and writes depend on the kernel, and
// both ways through the host on what else it does: these are named below the critical share alone. Pageable
// memory, memory on another NUMA node and pairs without peer access are shown and held against nothing: what
// they go through is no link of the GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/report.h"
#include "ideal/rates.h"
#include "run/gpu.h"
#include "topology/model.h"

namespace ringtrue::diagnosis {

struct GpuRate {
  run::GpuLimit limit;
  std::optional<bool> near;                         // host memory is on the GPU's NUMA node
  std::optional<BytesPerSecond> ideal, attainable;  // ideal: nominal
  ideal::Origin origin = ideal::Origin::unknown;    // of these
  std::string source;                               // "PCIe at 0000:1b:00.0, 32 GT/s x16"
  std::optional<double> ratio;                      // of the rate over what is attainable
};

struct GpuLimits {
  std::vector<GpuRate> rates;           // in the order of the limits
  std::vector<Finding> findings;        // worst first: "slow-gpu-link", "slow-gpu-memory"
  std::vector<NotChecked> not_checked;  // each reason once
};

// `warning`, `critical`: shares of what is attainable.
GpuLimits rate_gpus(std::vector<run::GpuLimit> limits, const topology::Cluster& cluster, double warning,
                    double critical);

}  // namespace ringtrue::diagnosis
