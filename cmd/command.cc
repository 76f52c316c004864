#include "cmd/command.h"

namespace ringtrue::cmd {

ops::Setup setup_of(const Context& context) {
  return {context.config, context.common.local, context.common.ranks_per_node, context.common.insecure,
          context.command};
}

Commands::Commands(Command root) : root_(root) {
  add_common(root);
}

Command Commands::add(const std::string& name, const std::string& summary, std::optional<Command> parent) {
  const Command command = parent.value_or(root_).add_command(name, summary);
  add_common(command);
  return command;
}

void Commands::on(Command command, Action action) {
  actions_.emplace_back(command, std::move(action));
}

void Commands::choices(Option option, std::vector<std::string> words) {
  choices_.emplace_back(option, std::move(words));
}

std::vector<std::string> Commands::choices_of(Option option) const {
  for (const auto& [known, words] : choices_) {
    if (known == option) return words;
  }
  return {};
}

const Action* Commands::selected(std::string& name) const {
  const Command typed = root_.typed();
  const auto typed_first = root_.typed_first();
  name = typed_first ? typed_first->name() : "";
  for (const auto& [command, action] : actions_) {
    if (command == typed) return &action;
  }
  return nullptr;
}

void Commands::add_common(Command app) {
  const std::string group = "Common options";
  const auto text = [&](const std::string& flag, std::optional<std::string>& target, const std::string& type,
                        const std::string& help) {
    return add_text(app, flag, target, type, help).group(group);
  };
  text("--hosts", common_.hosts, "LIST", "nodes: node[01-16],node20:7464,@group,^file");
  add_whole(app, "--local", common_.local, 1, 4096, "ranks in this process, without daemons").group(group);
  text("--pki", common_.pki, "DIR", "folder with ca.crt, operator.crt and operator.key");
  app.add_flag("--insecure", common_.insecure, "talk to daemons without TLS").group(group);
  add_text(app, "--config", common_.config_file, "FILE", "configuration file instead of the usual ones")
      .group(group);
  app.add_flag("--json", common_.json, "print JSON").group(group);
  const Option transport =
      text("--transport", common_.transport, "NAME", "auto, shm, tcp, verbs, cuda, or udp for omnireduce");
  choices(transport, all_keys<run::Transport>());
  text("--link-rate", common_.link_rate, "RATE", "nominal rate of a node's link: 500Mbit, 400Gbit, 12.5GB/s");
  add_whole(app, "--ranks-per-node", common_.ranks_per_node, 1, 4096, "ranks on each node").group(group);
  text("--data-interface", common_.data_interface, "NAME", "interface of the data network on the nodes");
  text("--data-ports", common_.data_ports, "LOW-HIGH", "ports of the data network");
  text("--phase-deadline", common_.phase_deadline, "TIME", "longest for each phase but the run");
  text("--deadline", common_.run_deadline, "TIME", "longest for one run");
  const Option memory = text("--memory", common_.memory, "WHERE", "of the data: host, or device (GPUs)");
  choices(memory, all_keys<run::Memory>());
  const Option color =
      add_parsed(app, "--color", common_.color, report::parse_color, "WHEN", "auto, always or never")
          .group(group);
  choices(color, {"auto", "always", "never"});
  app.add_flag("-q,--quiet", common_.quiet, "no progress").group(group);
}

}  // namespace ringtrue::cmd
