// Another library's allreduce on the buffers of a run, beside our own: --reference nccl.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/job.h"
#include "run/report.h"
#include "transport/cuda/transport.h"

namespace ringtrue::engine {

// What a reference plays on, and how its buffers are filled and compared: as for the run itself.
struct ReferenceSetup {
  transport::cuda::Group& group;
  const run::Job& job;
  const std::vector<int>& gpus;  // by rank, all of this process
  const std::string& library;    // to open
  bool allreduce;                // that is what the run's algorithm does
  int batch;                     // calls in a row, as for the run
  std::function<Result<void>()> fill;
  std::function<Result<std::uint64_t>()> check;  // wrong elements
};

// Why it did not run is in the reference, that it had not connected in half of the time, too. Errors are
// those of GPUs, and the deadline.
Result<run::Reference> play_reference(const ReferenceSetup& setup, Deadline deadline);

}  // namespace ringtrue::engine
