#include "operator/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>

namespace ringtrue::ops {

namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += R"('\'')";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += quoted(word);
  }
  return line;
}

using Words = std::vector<std::string>;

void add_commands(const ReproduceWords& again, const std::vector<fleet::Target>& targets,
                  std::vector<diagnosis::Finding>& findings) {
  const auto name_of = [&](int node) -> std::optional<std::string> {
    if (node < 0 || std::size_t(node) >= targets.size()) return std::nullopt;
    return fleet::host_text(targets[std::size_t(node)]);
  };
  std::vector<std::string> dead;  // asked together, as the report tells of them
  for (const diagnosis::Finding& f : findings)
    if (const auto node = name_of(f.scope.node); node && f.kind == diagnosis::FindingKind::dead_node)
      dead.push_back(*node);
  for (diagnosis::Finding& f : findings) {
    const auto node = name_of(f.scope.node), peer = name_of(f.scope.peer);
    const bool pair = f.scope.type == diagnosis::ScopeType::path && node && peer;
    if (!pair && !(f.kind == diagnosis::FindingKind::dead_node && node)) continue;
    Words words = {"ringtrue", pair ? "sweep" : "nodes", "--hosts",
                   pair ? fmt::format("{},{}", *node, *peer) : fmt::format("{}", fmt::join(dead, ","))};
    for (const Words& more : {again.reach, pair ? again.carry : Words()})
      words.insert(words.end(), more.begin(), more.end());
    f.command = shell_line(words);
  }
}

}  // namespace ringtrue::ops
