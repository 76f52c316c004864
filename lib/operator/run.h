// One collective over a range of sizes, one after the other on one runner.
#pragma once

#include <functional>
#include <string>

#include "operator/call_request.h"
#include "operator/documents/run.h"
#include "operator/omni_request.h"
#include "operator/setup.h"

namespace ringtrue::ops {

struct RunRequest {
  Setup setup;
  CallRequest call;
  OmniRequest omni;
  GpuRequest gpus;
  int processes = 1;  // a node
  int iterations = 5, warmup = 1;
  bool unchecked = false;
  long seed = 1;
  std::string reference;                             // another library's allreduce beside it: "nccl"
  std::function<void(const RunDocument&)> on_row{};  // after each size, with all that is complete
};

// Sizes that were complete when something failed are in the document, which has the error.
Outcome<RunDocument> run(const RunRequest& request, const Control& control);

}  // namespace ringtrue::ops
