// Where a command's facts come from: files, the daemons of the hosts, or this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/player.h"
#include "diagnosis/inspect/inspect.h"
#include "fleet/fleet.h"
#include "topology/model.h"
#include "topology/source.h"

namespace ringtrue::cmd {

struct FactFlags {
  std::vector<std::string> from;
  std::optional<Seconds> window;  // of live machines; their counters are read once if not given
  bool wake_gpus = false;
  std::string root;  // of a tree of files instead of this machine's
};

// --from, --window, --wake-gpus
void add_fact_flags(Command app, FactFlags& flags, bool files = true);

struct Facts {
  topology::Cluster cluster;
  std::vector<std::string> nodes;         // asked for, those that failed included
  std::vector<report::Failure> failures;  // nodes that could not be read, of phase "inspect"
  double seconds = 0;
};

// Errors (bad_input): flags that such facts do not heed.
Result<void> check_facts(const Context& context, const FactFlags& flags, bool hosts);
// Of the files, else of the daemons where `hosts`, else of this machine. Fails where nothing could be read.
Played<Facts> read_facts(const Context& context, const FactFlags& flags, bool hosts);
// Of these daemons, which may all fail; each has `patience` beyond the window.
Facts ask_facts(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                const FactFlags& flags, Seconds patience);
// What is in the nodes that are measured, this machine with --local, as far as it can be read.
Facts facts_beside(const Context& context, const PlayerOptions& options);
// How long a daemon may take beyond the window where its answer is all that is asked for.
Seconds long_patience(const FactFlags& flags);
// This machine's recording, under the name that the configuration or the system has for it.
Result<topology::Recording> record_here(const Context& context, const FactFlags& flags);

// The rules over the facts, by the configuration's thresholds; nodes that could not be read are not checked.
Result<diagnosis::Inspection> inspect(const Context& context, const Facts& facts);

// What of them is worth a `report::Trouble`; nullopt: all were read.
std::optional<report::Trouble> trouble_of(const Facts& facts);

}  // namespace ringtrue::cmd
