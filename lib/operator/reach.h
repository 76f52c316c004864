// Whether the nodes of a run can be connected at all, and what network that is: asked before anything is
// measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/reach.h"
#include "operator/runner.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::ops {

struct Reached {
  diagnosis::Reached verdict;
  bool datagrams = false;              // it is of UDP, as nothing is wrong with TCP
  std::vector<run::Network> networks;  // by node
};

// A job that tries what `job` would connect.
run::Job reach_job(run::Job job);
// What its report means; nodes are named as `names` has them, by Seat::node.
Reached reached(const run::RunReport& report, const run::Job& job, const std::vector<std::string>& names);
// For runs that need all of their nodes: none where they do.
std::optional<Trouble> trouble_of(const Reached& reached);
// Plays the trial for `job`, unless all of it is on one node. Trouble: who is cut off, or why it failed.
Outcome<std::vector<run::Network>> need_all(Runner& runner, const run::Job& job);

// Whether all nodes' data goes over loopback.
bool on_one_machine(const std::vector<run::Network>& networks);
// What an operator should know of the networks beyond what they are: a node that has a faster one.
std::vector<std::string> notes_on(const std::vector<run::Network>& networks);

}  // namespace ringtrue::ops
