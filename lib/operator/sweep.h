// Every pair of nodes, both directions; or every GPU and the ways to it.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "operator/documents/sweep.h"
#include "operator/setup.h"

namespace ringtrue::ops {

struct SweepRequest {
  Setup setup;
  Bytes size{16u << 20};  // that a pair moves at once
  int iterations = 2;
  bool per_port = false;  // of RDMA: every active port with every one of the other nodes
};
Outcome<SweepDocument> sweep(const SweepRequest& request, const Control& control);

struct GpuSweepRequest {
  Setup setup;
  std::optional<Bytes> size;  // of a copy
  int repeats = 5;
  GpuRequest gpus;
};
Outcome<GpuSweepDocument> sweep_gpus(const GpuSweepRequest& request, const Control& control);
// By the gravest finding; unknown where not all was measured.
diagnosis::Verdict verdict_of(const GpuSweepDocument& document);

}  // namespace ringtrue::ops
