// What the subcommands share: their registration, the flags that are accepted everywhere, how they print and
// how they end. A subcommand is a file with one function that adds it; no two subcommands know of each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/options.h"
#include "config/config.h"
#include "operator/setup.h"
#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::cmd {

// Exit codes, the same for all commands.
enum Exit { healthy = 0, degraded = 1, faulty = 2, unknown = 3 };

// Flags that are accepted everywhere, before the subcommand too.
struct Common {
  std::optional<std::string> hosts, pki, link_rate, transport, memory, data_interface, data_ports;
  std::optional<std::string> phase_deadline, run_deadline;
  std::string config_file;
  std::optional<int> local;
  int ranks_per_node = 1;
  bool insecure = false;
  bool json = false;
  bool quiet = false;
  report::Color color = report::Color::automatic;
};

// A command while it runs.
struct Context {
  Common common;
  config::Config config;
  report::Style style;  // of standard output
  std::string command;  // "run"
};

// What its use case is told.
ops::Setup setup_of(const Context& context);

using Action = std::function<int(Context&)>;

class Commands {
 public:
  explicit Commands(Command root);

  // A subcommand of the root (or of `parent`) that accepts the common flags.
  Command add(const std::string& name, const std::string& summary, std::optional<Command> parent = {});
  void on(Command command, Action action);
  // What an option's value may be, for completion.
  void choices(Option option, std::vector<std::string> words);

  Command root() const { return root_; }
  Common& common() { return common_; }
  // The action of the innermost subcommand that was typed; nullptr where there is none. `name` is that of the
  // outermost, "pki" of pki issue; empty where none was typed.
  const Action* selected(std::string& name) const;
  std::vector<std::string> choices_of(Option option) const;

 private:
  void add_common(Command app);

  Command root_;
  Common common_;
  std::vector<std::pair<Command, Action>> actions_;
  std::vector<std::pair<Option, std::vector<std::string>>> choices_;
};

void add_check(Commands& commands);
void add_run(Commands& commands);
void add_sweep(Commands& commands);
void add_schedule(Commands& commands);
void add_simulate(Commands& commands);
void add_evaluate(Commands& commands);
void add_ideal(Commands& commands);
void add_topo(Commands& commands);
void add_gather(Commands& commands);
void add_nodes(Commands& commands);
void add_pki(Commands& commands);
void add_config(Commands& commands);
void add_completion(Commands& commands);

}  // namespace ringtrue::cmd
