#include "formats/leaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/hostlist.h"
#include "formats/format.h"
#include "formats/text.h"

namespace ringtrue::formats {
namespace {

constexpr std::size_t max_nodes = 1 << 20;

tl::unexpected<Error> bad(std::size_t line, std::string what, std::string next = "") {
  return fail(Cause::bad_input, fmt::format("line {}: {}", line, std::move(what)), {}, std::move(next));
}

// The value of KEY=VALUE among the words of a line, whatever the case of the key.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  for (std::string_view word : split(line, ' ')) {
    word = trim(word);
    const auto equals = word.find('=');
    if (equals != word.npos && lower(word.substr(0, equals)) == key) return word.substr(equals + 1);
  }
  return std::nullopt;
}

Result<void> add(Leaves& leaves, std::string_view name, std::string_view nodes, std::size_t line) {
  const auto list = expand_hostlist(nodes);
  if (!list) return bad(line, list.error().what, list.error().next);
  if (leaves.size() + list->size() > max_nodes)
    return bad(line, fmt::format("more than {} nodes", max_nodes));
  for (const std::string& node : *list) leaves[node].emplace(name);
  return {};
}

Result<Leaves> read_lines(std::string_view text) {
  Leaves leaves;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (const auto name = value_of(line, "switchname")) {
      const auto nodes = value_of(line, "nodes");
      if (!nodes && !value_of(line, "switches"))
        return bad(number, "a switch with neither Nodes nor Switches");
      if (!nodes || nodes->empty()) continue;
      if (auto done = add(leaves, *name, *nodes, number); !done) return tl::unexpected(done.error());
      continue;
    }
    if (line.size() > 1 && line.back() == ':')
      return bad(number, fmt::format("'{}' names no node", clean(line).substr(0, 40)));
    const auto colon = line.find(": ");
    if (colon == line.npos || colon == 0)
      return bad(number, fmt::format("'{}' names no leaf", clean(line).substr(0, 40)),
                 "write it like 'leaf1: node[1-18]', or as in Slurm's topology.conf");
    if (auto done = add(leaves, trim(line.substr(0, colon)), trim(line.substr(colon + 2)), number); !done)
      return tl::unexpected(done.error());
  }
  return leaves;
}

// "leaf1"; "leaf1 and rail1"; "leaf1 and 7 other switches".
std::string name_of(const std::set<std::string>& switches) {
  const std::string& first = *switches.begin();
  if (switches.size() == 1) return first;
  return switches.size() == 2 ? fmt::format("{} and {}", first, *switches.rbegin())
                              : fmt::format("{} and {} other switches", first, switches.size() - 1);
}

// All nodes have as many leaves, each a rail's: one that has more stands in a wrong line.
Result<void> check_as_many(const Leaves& leaves) {
  const auto fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto [least, most] = std::minmax_element(leaves.begin(), leaves.end(), fewer);
  if (least == leaves.end() || least->second.size() == most->second.size()) return {};
  return fail(Cause::bad_input,
              fmt::format("{} is below {}, and {} below {}", clean(most->first), clean(name_of(most->second)),
                          clean(least->first), clean(name_of(least->second))),
              {}, "give every node one leaf, or one a rail");
}

// A host's description begins with its name: "node3 mlx5_0", "node3 HCA-1".
Leaves leaves_of(const topology::Fabric& fabric) {
  std::unordered_map<std::string_view, std::string_view> hosts;
  for (const topology::FabricHost& host : fabric.hosts)
    if (!host.aggregation)
      hosts.emplace(host.guid, std::string_view(host.name).substr(0, host.name.find(' ')));
  std::unordered_map<std::string_view, std::string_view> names;
  for (const topology::FabricSwitch& each : fabric.switches) names[each.guid] = each.name;
  // Two of them may have one name.
  const auto name = [&](const std::string& guid) {
    return names[guid].empty() ? guid : fmt::format("{} {}", names[guid], guid);
  };
  Leaves leaves;
  for (const topology::FabricLink& link : fabric.links)
    if (const auto host = hosts.find(link.b.guid); host != hosts.end() && !host->second.empty())
      leaves[std::string(host->second)].insert(name(link.a.guid));
  return leaves;
}

}  // namespace

Result<Leaves> read_leaves(std::string_view text) {
  if (auto readable = check_text(text); !readable) return tl::unexpected(readable.error());
  auto leaves = read_lines(text);
  // What is neither a list nor Slurm's may be a fabric's.
  if (!leaves) {
    if (const auto fabric = read_ibnetdiscover(text)) leaves = leaves_of(*fabric);
  } else if (auto as_many = check_as_many(*leaves); !as_many) {
    return tl::unexpected(as_many.error());
  }
  if (leaves && leaves->empty()) return fail(Cause::bad_input, "no node is named in it");
  return leaves;
}

Result<LeafNumbers> leaf_numbers(const Leaves& leaves, const std::vector<std::string>& nodes) {
  std::map<std::set<std::string>, int> numbers;
  LeafNumbers out;
  for (const std::string& node : nodes) {
    auto found = leaves.find(node);
    if (found == leaves.end()) found = leaves.find(std::string_view(node).substr(0, node.find('.')));
    if (found == leaves.end())
      return fail(Cause::bad_input, fmt::format("{} is below no leaf of it", node), node,
                  "add it, or leave the node out");
    const auto [at, fresh] = numbers.try_emplace(found->second, int(numbers.size()));
    if (fresh) out.names.push_back(clean(name_of(found->second)));
    out.of.push_back(at->second);
  }
  return out;
}

}  // namespace ringtrue::formats
