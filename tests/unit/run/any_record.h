// Records of a run drawn at random, every field of them.
#pragma once

#include <algorithm>

#include "run/fields.h"
#include "tests/support/draw.h"

namespace ringtrue::run::test {

struct Draw : ringtrue::test::Draw<Draw> {
  using ringtrue::test::Draw<Draw>::Draw;
  void draw_special(RdmaPort& port, const About&) {
    port = {below(2) ? "mlx5_0" : "rxe-1.x", below(2) ? 1 : 255};
  }
};

// Any report, and any job whose parts fit each other.
inline RunReport any_report(unsigned seed) {
  RunReport report;
  Draw(seed).draw(report);
  for (GpuLimit& limit : report.gpu_limits) limit.gpu.index = std::max(limit.gpu.index, 0);
  return report;
}

inline Job any_job(unsigned seed) {
  Job job;
  Draw draw(seed);
  draw.draw(job);
  job.nodes = {"node0", "n~1"};
  job.seats = {{1, 127, 0}, {0, 0, max_ranks - 1}, {1, 0, 1}};
  job.call.elements %= 1u << 30;
  job.call.omni.workers = 0;
  job.algorithm = collective::AlgorithmId::ring;
  if (draw.below(2))
    job.algorithm = collective::AlgorithmId::omnireduce, job.call.omni.workers = 1,
    job.call.omni.aggregators = 2;
  job.verbs.mtu = 1024;
  job.ports.resize(draw.below(2) ? 3 : 0);
  job.gpu_limits = job.gpu_limits && job.memory == Memory::device;
  return job;
}

}  // namespace ringtrue::run::test
