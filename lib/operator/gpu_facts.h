// What is in the nodes whose GPUs a command plays on, and what their links allow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ideal/ideal.h"
#include "operator/runner.h"
#include "run/report.h"
#include "topology/model.h"

namespace ringtrue::ops {

// The nodes' facts, under the runner's names for them. What cannot be read is left out, and noted.
topology::Cluster facts_of_nodes(const Setup& setup, const Runner& runner, const Control& control,
                                 std::vector<std::string>& notes);

// Looks at the nodes once, when it is first needed.
class GpuLinks {
 public:
  // Adds what the links between the GPUs of a run on one node allow, and notes how that came about or why
  // there is nothing.
  void add(const Setup& setup, const Runner& runner, const Control& control, const run::RunReport& run,
           ideal::Inputs& inputs, std::vector<std::string>& notes);

 private:
  std::optional<topology::Cluster> facts_;
};

}  // namespace ringtrue::ops
