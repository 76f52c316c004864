// What the subcommands share: the flags that are accepted everywhere, and what a command knows while it runs.
// A subcommand is a file with one function that gives its table; no two subcommands know of each other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/flags.h"
#include "config/config.h"
#include "operator/setup.h"
#include "report/style.h"

namespace ringtrue::cmd {

// Exit codes, the same for all commands.
enum Exit { healthy = 0, degraded = 1, faulty = 2, unknown = 3 };

// Flags that are accepted everywhere, before the subcommand too.
struct Common {
  std::map<std::string, std::string, std::less<>> settings;  // "--link-rate": "400Gbit"
  std::string config_file;
  std::optional<int> local;
  int ranks_per_node = 1;
  bool insecure = false;
  bool json = false;
  bool quiet = false;
  report::Color color = report::Color::automatic;

  bool given(std::string_view flag) const;  // but for --config, --quiet and --color
  std::vector<config::Given> configuration() const;
};

Flags common_flags(Common& common);

// A command while it runs.
struct Context {
  Common common;
  config::Config config;
  report::Style style;  // of standard output
  std::string command;  // "run"
};

// What its use case is told.
ops::Setup setup_of(const Context& context);

Command check_command(Common& common);
Command run_command();
Command sweep_command();
Command schedule_command();
Command simulate_command();
Command evaluate_command();
Command ideal_command();
Command topo_command();
Command gather_command();
Command nodes_command();
Command events_command();
Command watch_command();
Command tui_command();
Command history_command();
Command baseline_command();
Command regressions_command();
Command pki_command();
Command config_command();
// Of the whole program, once it is complete.
Command completion_command(const Command& program, const Flags& common);

}  // namespace ringtrue::cmd
