// ringtrue: names the slow link.
#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "base/fd.h"
#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/nagios.h"
#include "report/style.h"

namespace ringtrue::cmd {
namespace {

Command program_with(Common& common, const Command& program, const Flags& flags) {
  return {"ringtrue",
          "Tells whether a cluster's allreduce runs as fast as its links allow, and names the slow link.",
          {},
          "Exit codes: 0 healthy, 1 degraded, 2 faulty or a wrong result, 3 unknown (usage errors too).",
          {},
          {check_command(common), run_command(), sweep_command(), topo_command(), ideal_command(),
           schedule_command(), simulate_command(), evaluate_command(), gather_command(), nodes_command(),
           events_command(), watch_command(), tui_command(), history_command(), baseline_command(),
           regressions_command(), pki_command(), config_command(), completion_command(program, flags)}};
}

// Of words that were not understood; the flags may not have been read that far.
int failed_to_read(Context& context, const Error& error, const std::string& format) {
  context.common.json = format == "json";
  const int code = failed(context, error);
  if (format != "nagios") return code;
  ops::CheckDocument document;
  document.error = ops::Trouble{error, {}};
  return print(report::nagios(document), code);
}

int failed_without_command(Context& context, const Typed& typed) {
  std::vector<std::string> names;
  for (const Command& below : typed.commands.back()->below) names.push_back(below.name);
  return failed(context,
                Error{Cause::bad_input, fmt::format("which command? one of {}", fmt::join(names, ", ")), "",
                      fmt::format("try {} --help", typed.full_name())});
}

int run(int argc, char** argv) {
  static Common common;
  const Flags flags = common_flags(common);
  Command program;
  program = program_with(common, program, flags);
  const Typed typed = read_words(program, flags, "ringtrue " RINGTRUE_VERSION, argc, argv);
  Context context;
  context.common = common;
  if (typed.commands.size() > 1) context.command = typed.commands[1]->name;
  if (typed.error) return failed_to_read(context, *typed.error, format_asked(argc, argv));
  if (typed.shown) return print(*typed.shown, Exit::healthy);
  const Command& command = *typed.commands.back();
  if (!command.action) return failed_without_command(context, typed);
  context.style.colour = report::colour_allowed(common.color, STDOUT_FILENO);
  context.style.width = report::text_width(STDOUT_FILENO);
  allow_progress(!common.quiet);
  config::Sources sources;
  sources.file = common.config_file;
  sources.flags = common.configuration();
  auto config = config::load(sources);
  if (!config) return failed(context, config.error());
  context.config = std::move(*config);
  const int code = command.action(context);
  clear_progress();
  return code;
}

// In no stack that anybody could unwind: a model's coroutines, a thread.
[[noreturn]] void out_of_memory() {
  constexpr std::string_view line =
      "ringtrue: the memory did not suffice; ask for fewer ranks or bytes, or for another algorithm\n";
  if (report::rewrites_lines(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\r\033[K", 4);  // over the progress
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
