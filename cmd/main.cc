// ringtrue: names the slow wire.
#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

#include "base/standard_files.h"
#include "base/suggest.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

CLI::App* innermost(CLI::App& root) {
  CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App* app) {
  return app->get_parent() ? full_name(app->get_parent()) + " " + app->get_name() : app->get_name();
}

int usage_error(std::string what, CLI::App& root, const std::string& hint = "") {
  const std::string help = fmt::format("try {} --help", full_name(innermost(root)));
  complain(Error{Cause::bad_input, std::move(what), "", hint.empty() ? help : hint});
  return Exit::unknown;
}

// Says which word was not understood, and which one may have been meant.
int not_understood(const std::string& word, CLI::App& root) {
  CLI::App* app = innermost(root);
  std::vector<std::string> known;
  const bool option = word.size() > 1 && word[0] == '-';
  if (option) {
    for (const CLI::Option* o : app->get_options()) {
      for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : app->get_subcommands([](CLI::App*) { return true; }))
      known.push_back(sub->get_name());
  }
  const auto meant = closest(word.substr(0, word.find('=')), known);
  const std::string kind = option ? "option" : known.empty() ? "argument" : "command";
  return usage_error(fmt::format("unknown {} '{}'", kind, word.substr(0, 60)), root,
                     meant ? fmt::format("did you mean {}?", *meant) : "");
}

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
  CLI::App root(
      "Tells whether a cluster's allreduce runs as fast as its wires allow, and names the slow wire.",
      "ringtrue");
  root.set_version_flag("--version", "ringtrue " RINGTRUE_VERSION);
  root.allow_extras();
  root.require_subcommand(0, 1);
  root.get_formatter()->column_width(32);
  root.footer(
      "Exit codes: 0 healthy, 1 degraded, 2 faulty or a wrong result, 3 could not tell (usage errors too).");
  Commands commands(root);
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

  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    root.exit(e, text, text);
    return print(text.str(), Exit::healthy);
  } catch (const CLI::RequiredError&) {
    for (const std::string& word : innermost(root)->remaining()) {
      if (word.size() > 1 && word[0] == '-') return not_understood(word, root);
    }
    for (const CLI::Option* o : innermost(root)->get_options()) {
      if (o->get_required() && o->count() == 0) {
        return usage_error(fmt::format("{} is missing", o->get_name(o->get_positional())), root);
      }
    }
    return usage_error("a command is missing", root);
  } catch (const CLI::ParseError& e) {
    const std::string what = e.what();
    // Our own parsers' errors end with what to do; CLI11's do not.
    if (what.find("; ") != std::string::npos) {
      complain(Error{Cause::bad_input, what, "", ""});
      return Exit::unknown;
    }
    return usage_error(what, root);
  }
  const std::vector<std::string> rest = root.remaining(true);
  if (!rest.empty()) {
    for (const std::string& word : rest) {
      if (word.size() > 1 && word[0] == '-') return not_understood(word, root);
    }
    return not_understood(rest.front(), root);
  }

  Context context;
  const Action* action = commands.selected(context.command);
  if (action == nullptr) {
    std::string names;
    for (const CLI::App* sub : innermost(root)->get_subcommands([](CLI::App*) { return true; })) {
      names += (names.empty() ? "" : ", ") + sub->get_name();
    }
    return usage_error(fmt::format("which command? one of {}", names), root);
  }
  context.common = commands.common();
  context.style.colour = report::colour_allowed(context.common.color, STDOUT_FILENO);
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

}  // namespace
}  // namespace ringtrue::cmd

int main(int argc, char** argv) {
  ringtrue::fill_standard_files();
  ringtrue::cmd::watch_signals();
  return ringtrue::cmd::run(argc, argv);
}
