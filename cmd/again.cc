#include "cmd/again.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/shell.h"

namespace ringtrue::cmd {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, const char* flag, const std::optional<std::string>& value) {
  if (value) words.insert(words.end(), {flag, *value});
}

// What was typed; the environment and the usual files hold for the next command as well.
Words reach(const Common& common) {
  Words words;
  if (!common.config_file.empty()) add(words, "--config", common.config_file);
  add(words, "--pki", common.pki);
  if (common.insecure) words.emplace_back("--insecure");
  add(words, "--phase-deadline", common.phase_deadline);
  return words;
}

Words carry(const Common& common, const VerbsFlags& verbs) {
  Words words;
  add(words, "--link-rate", common.link_rate);
  add(words, "--transport", common.transport);
  add(words, "--memory", common.memory);
  add(words, "--data-interface", common.data_interface);
  add(words, "--data-ports", common.data_ports);
  add(words, "--deadline", common.run_deadline);
  const Words more = words_of(verbs);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

void add_commands(const Context& context, const VerbsFlags& verbs, const std::vector<fleet::Target>& targets,
                  std::vector<diagnosis::Finding>& findings) {
  const auto name_of = [&](int node) -> std::optional<std::string> {
    if (node < 0 || std::size_t(node) >= targets.size()) return std::nullopt;
    return fleet::host_text(targets[std::size_t(node)]);
  };
  std::vector<std::string> dead;  // asked together, as the report tells of them
  for (const diagnosis::Finding& f : findings)
    if (const auto node = name_of(f.scope.node); node && f.kind == "dead-node") dead.push_back(*node);
  for (diagnosis::Finding& f : findings) {
    const auto node = name_of(f.scope.node), peer = name_of(f.scope.peer);
    const bool pair = f.scope.type == diagnosis::ScopeType::path && node && peer;
    if (!pair && !(f.kind == "dead-node" && node)) continue;
    Words words = {"ringtrue", pair ? "sweep" : "nodes", "--hosts",
                   pair ? fmt::format("{},{}", *node, *peer) : fmt::format("{}", fmt::join(dead, ","))};
    for (const Words& more : {reach(context.common), pair ? carry(context.common, verbs) : Words()})
      words.insert(words.end(), more.begin(), more.end());
    f.command = shell_line(words);
  }
}

}  // namespace ringtrue::cmd
