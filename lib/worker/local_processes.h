// A run on this machine alone, its ranks spread over several worker processes: `--local N --processes K`.
#pragma once

#include <stop_token>

#include "base/clock.h"
#include "base/result.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::worker {

// Deals the ranks of `job` (one node) over `processes` workers in blocks, plays it and ends them all. The
// workers die with the calling thread, and with this process however it ends. Returns at most about two
// seconds after the deadline; a worker that died or hung is named in the error, whose `where` is the phase.
// bad_input: more processes than ranks, or a job of several nodes.
Result<run::RunReport> run_in_processes(const run::Job& job, int processes, Deadline deadline,
                                        const std::stop_token& stop = {});

}  // namespace ringtrue::worker
