#include "cmd/command.h"

#include <fmt/format.h>

#include <charconv>

#include "cmd/options.h"

namespace ringtrue::cmd {

Result<long> parse_whole(std::string_view text, long low, long high) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || error != std::errc() || value < low ||
      value > high) {
    return fail(Cause::bad_input,
                fmt::format("'{}' is not a whole number from {} to {}", text.substr(0, 40), low, high));
  }
  return value;
}

Result<double> parse_share_up_to(double most, std::string_view text) {
  const std::string_view whole = text.substr(0, 40);
  double value = -1;
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const double share = percent ? value / 100 : value;
  if (error != std::errc() || end != text.data() + text.size() || !(share >= 0 && share <= most)) {
    return fail(Cause::bad_input, fmt::format("'{}' is not a share from 0 to {:g}%", whole, most * 100), {},
                "like 5% or 0.05");
  }
  return share;
}

Commands::Commands(CLI::App& root) : root_(root) {
  add_common(root);
}

CLI::App& Commands::add(const std::string& name, const std::string& summary, CLI::App* parent) {
  CLI::App* app = (parent ? parent : &root_)->add_subcommand(name, summary);
  app->allow_extras();  // main tells what was not understood, with a suggestion
  add_common(*app);
  return *app;
}

void Commands::on(CLI::App& command, Action action) {
  actions_.emplace_back(&command, std::move(action));
}

void Commands::choices(const CLI::Option* option, std::vector<std::string> words) {
  choices_.emplace_back(option, std::move(words));
}

std::vector<std::string> Commands::choices_of(const CLI::Option* option) const {
  for (const auto& [known, words] : choices_) {
    if (known == option) return words;
  }
  return {};
}

const Action* Commands::selected(std::string& name) const {
  CLI::App* app = &root_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  name = app == &root_ ? "" : app->get_name();
  for (const auto& [command, action] : actions_) {
    if (command == app) return &action;
  }
  return nullptr;
}

void Commands::add_common(CLI::App& app) {
  const std::string group = "Common options";
  const auto text = [&](const std::string& flag, std::optional<std::string>& target, const std::string& type,
                        const std::string& help) {
    return add_parsed(
               app, flag, target, [](std::string_view t) -> Result<std::string> { return std::string(t); },
               type, help)
        ->group(group);
  };
  text("--hosts", common_.hosts, "LIST", "nodes: node[01-16],node20:7464,@group,^file");
  add_whole(app, "--local", common_.local, 1, 4096, "ranks in this process, without daemons")->group(group);
  text("--pki", common_.pki, "DIR", "folder with ca.crt, operator.crt and operator.key");
  app.add_flag("--insecure", common_.insecure, "talk to daemons without TLS")->group(group);
  app.add_option("--config", common_.config_file, "configuration file instead of the usual ones")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--json", common_.json, "print JSON")->group(group);
  CLI::Option* transport =
      text("--transport", common_.transport, "NAME", "auto, shm, tcp, verbs, cuda, or udp for omnireduce");
  choices(transport, {"auto", "shm", "tcp", "udp", "verbs", "cuda"});
  text("--link-rate", common_.link_rate, "RATE", "nominal rate of a node's link: 500Mbit, 400Gbit, 12.5GB/s");
  add_whole(app, "--ranks-per-node", common_.ranks_per_node, 1, 4096, "ranks on each node")->group(group);
  text("--data-interface", common_.data_interface, "NAME", "interface of the data network on the nodes");
  text("--data-ports", common_.data_ports, "LOW-HIGH", "ports of the data network");
  text("--phase-deadline", common_.phase_deadline, "TIME", "longest for each phase but the run");
  text("--deadline", common_.run_deadline, "TIME", "longest for one run");
  CLI::Option* memory = text("--memory", common_.memory, "WHERE", "of the data: host, or device (GPUs)");
  choices(memory, {"host", "device"});
  CLI::Option* color =
      add_parsed(app, "--color", common_.color, report::parse_color, "WHEN", "auto, always or never")
          ->group(group);
  choices(color, {"auto", "always", "never"});
  app.add_flag("-q,--quiet", common_.quiet, "no progress")->group(group);
}

}  // namespace ringtrue::cmd
