#include "cmd/command.h"

namespace ringtrue::cmd {
namespace {

// The common flags that set a key of the configuration.
struct Setting {
  const char* flag;
  const char* key;
  const char* type;
  const char* help;
  std::vector<std::string> choices{};
};
const Setting settings[] = {
    {"--hosts", "hosts", "LIST",
     "nodes: node[01-16],node20:7464,unix:PATH,@group,^file (those of the Slurm job)"},
    {"--pki", "pki", "DIR", "folder with ca.crt, operator.crt and operator.key"},
    {"--transport", "transport", "NAME", "auto, shm, tcp, verbs, cuda, or udp for omnireduce (auto)",
     all_keys<run::Transport>()},
    {"--link-rate", "link_rate", "RATE", "nominal rate of a node's link: 500Mbit, 400Gbit, 12.5GB/s"},
    {"--data-interface", "data_interface", "NAME",
     "network interface that carries the data on the nodes (the one with their addresses)"},
    {"--data-ports", "data_ports", "LOW-HIGH", "range of ports for the data (any)"},
    {"--phase-deadline", "deadlines.phase", "TIME", "timeout of each phase except the run (10s)"},
    {"--deadline", "deadlines.run", "TIME", "timeout of one run (60s)"},
    {"--memory", "memory", "WHERE", "where the data is: host, or device (GPUs) (host)",
     all_keys<run::Memory>()},
};

}  // namespace

bool Common::given(std::string_view flag) const {
  return settings.contains(flag) || (flag == "--local" && local) || (flag == "--insecure" && insecure) ||
         (flag == "--ranks-per-node" && ranks_per_node != 1) || (flag == "--json" && json);
}

std::vector<config::Given> Common::configuration() const {
  std::vector<config::Given> out;
  for (const Setting& setting : cmd::settings) {
    const auto given = settings.find(setting.flag);
    if (given != settings.end()) out.push_back({setting.key, given->second, setting.flag});
  }
  return out;
}

Flags common_flags(Common& common) {
  Flags flags = {
      whole("--local", common.local, 1, 4096, "number of ranks in this process, without daemons"),
      toggle("--insecure", common.insecure, "talk to daemons without TLS"),
      text("--config", common.config_file, "FILE", "configuration file instead of the usual ones"),
      toggle("--json", common.json, "print JSON"),
      whole("--ranks-per-node", common.ranks_per_node, 1, 4096, "ranks on each node (1)"),
      choice<report::Color>("--color", common.color,
                            {{"auto", report::Color::automatic},
                             {"always", report::Color::always},
                             {"never", report::Color::never}},
                            "WHEN", "auto, always or never (auto)"),
      toggle("-q,--quiet", common.quiet, "no progress"),
  };
  for (const Setting& setting : settings) {
    const auto read = [&common, flag = setting.flag](std::string_view text) -> Result<void> {
      common.settings[flag] = text;
      return {};
    };
    flags.push_back({setting.flag, setting.type, setting.help, read, nullptr, setting.choices});
  }
  return in_group("Common options", std::move(flags));
}

ops::Setup setup_of(const Context& context) {
  return {context.config, context.common.local, context.common.ranks_per_node, context.common.insecure,
          context.command};
}

}  // namespace ringtrue::cmd
