// Where facts come from: files, the daemons of the hosts, or this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/inspect/inspect.h"
#include "fleet/fleet.h"
#include "ideal/ideal.h"
#include "operator/documents/nodes.h"
#include "operator/documents/topo.h"
#include "operator/runner.h"
#include "operator/setup.h"
#include "probe/request.h"
#include "probe/source.h"
#include "run/report.h"
#include "topology/model.h"

namespace ringtrue::ops {

struct FactRequest {
  std::vector<std::string> from;
  std::optional<Seconds> window;  // of live machines; their counters are read once if not given
  bool wake_gpus = false;
  std::string root;  // of a tree of files instead of this machine's

  probe::ReadRequest reading() const { return {window.value_or(Seconds(0)), wake_gpus}; }
};

struct Facts {
  topology::Cluster cluster;
  std::vector<std::string> nodes;  // asked for, those that failed included
  std::vector<Failure> failures;   // nodes that could not be read, of phase inspect
  double seconds = 0;
};

// Of the files, else of the daemons where `hosts`, else of this machine. Fails where nothing could be read.
Outcome<Facts> read_facts(const Setup& setup, const FactRequest& request, bool hosts, const Control& control);
// Of these daemons, which may all fail; each has `patience` beyond the window.
Facts ask_facts(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                const FactRequest& request, Seconds patience);
// What is in the nodes that are measured, this machine with --local, as far as it can be read.
Facts facts_beside(const Setup& setup, const RunnerOptions& options, const Control& control);
// How long a daemon may take beyond the window where its answer is all that is asked for.
Seconds long_patience(const FactRequest& request);
// This machine's recording, under the name that the configuration or the system has for it.
Result<probe::Recording> record_here(const Setup& setup, const FactRequest& request);

// The same of the fabric's forwarding tables alone.
Result<probe::Recording> record_routes_here(const Setup& setup);

// The rules over the facts, by the configuration's thresholds; nodes that could not be read are not checked.
Result<diagnosis::Inspection> inspect(const config::Config& config, const Facts& facts);

// The first one, and how many more there are; nullopt: there is none.
std::optional<Trouble> trouble_of(const std::vector<Failure>& failures);

// The facts of `topo`, and what the rules say of them.
Outcome<TopoDocument> topo(const Setup& setup, const FactRequest& request, bool hosts,
                           const Control& control);

// Which daemons answer. Fails where there are no hosts; a node that is silent says so in its row.
Outcome<NodesDocument> nodes(const Setup& setup, const Control& control);

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
