// ringtrue: names the slow wire.
#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "base/standard_files.h"
#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/nagios.h"

namespace ringtrue::cmd {
namespace {

std::vector<config::Given> flags_of(const Common& c) {
  std::vector<config::Given> out;
  const auto add = [&](const char* key, const std::optional<std::string>& value, const char* flag) {
    if (value) out.push_back({key, *value, flag});
  };
  add("hosts", c.hosts, "--hosts");
  add("pki", c.pki, "--pki");
  add("link_rate", c.link_rate, "--link-rate");
  add("transport", c.transport, "--transport");
  add("memory", c.memory, "--memory");
  add("data_interface", c.data_interface, "--data-interface");
  add("data_ports", c.data_ports, "--data-ports");
  add("deadlines.phase", c.phase_deadline, "--phase-deadline");
  add("deadlines.run", c.run_deadline, "--deadline");
  return out;
}

int run(int argc, char** argv) {
  CommandLine line(
      "ringtrue", "ringtrue " RINGTRUE_VERSION,
      "Tells whether a cluster's allreduce runs as fast as its wires allow, and names the slow wire.");
  line.root().footer(
      "Exit codes: 0 healthy, 1 degraded, 2 faulty or a wrong result, 3 could not tell (usage errors too).");
  Commands commands(line.root());
  add_check(commands);
  add_run(commands);
  add_sweep(commands);
  add_topo(commands);
  add_ideal(commands);
  add_schedule(commands);
  add_simulate(commands);
  add_evaluate(commands);
  add_gather(commands);
  add_nodes(commands);
  add_pki(commands);
  add_config(commands);
  add_completion(commands);

  const auto shown = line.read(argc, argv);
  Context context;
  const Action* action = commands.selected(context.command);
  context.common = commands.common();
  if (!shown) {
    const std::string format = format_asked(argc, argv);  // the options may not have been read that far
    context.common.json = format == "json";
    const int code = failed(context, shown.error());
    if (format != "nagios") return code;
    report::CheckDocument document;
    document.error = report::Trouble{shown.error(), {}};
    return print(report::nagios(document), code);
  }
  if (*shown) return print(**shown, Exit::healthy);
  if (action == nullptr) {
    const Command typed = line.root().typed();
    std::vector<std::string> names;
    for (const Command below : typed.commands()) names.push_back(below.name());
    return failed(context,
                  Error{Cause::bad_input, fmt::format("which command? one of {}", fmt::join(names, ", ")), "",
                        fmt::format("try {} --help", typed.full_name())});
  }
  context.style.colour = report::colour_allowed(context.common.color, STDOUT_FILENO);
  context.style.width = report::text_width(STDOUT_FILENO);
  allow_progress(!context.common.quiet);
  config::Sources sources;
  sources.file = context.common.config_file;
  sources.flags = flags_of(context.common);
  auto config = config::load(sources);
  if (!config) return failed(context, config.error());
  context.config = std::move(*config);
  const int code = (*action)(context);
  clear_progress();
  return code;
}

// In no stack that anybody could unwind: a model's coroutines, a thread.
[[noreturn]] void out_of_memory() {
  constexpr std::string_view line =
      "ringtrue: the memory did not suffice; ask for fewer ranks or bytes, or for another algorithm\n";
  if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\r\033[K", 4);  // over the progress
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(Exit::unknown);
}

}  // namespace
}  // namespace ringtrue::cmd

int main(int argc, char** argv) {
  std::set_new_handler(ringtrue::cmd::out_of_memory);
  ringtrue::fill_standard_files();
  ringtrue::cmd::watch_signals();
  return ringtrue::cmd::run(argc, argv);
}
