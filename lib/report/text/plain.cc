#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/hostlist.h"
#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {

namespace {

// What to do about nodes that do not answer: once where they need the same, and of the first few.
std::string next_steps(const std::vector<fleet::NodeState>& nodes) {
  constexpr std::size_t shown = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> steps;  // what, for whom
  for (const fleet::NodeState& node : nodes) {
    if (node.next.empty()) continue;
    const auto same = std::ranges::find(steps, node.next, [](const auto& step) { return step.first; });
    if (same == steps.end())
      steps.push_back({node.next, {node.node}});
    else
      same->second.push_back(node.node);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(shown, steps.size()); ++i)
    out += fmt::format("next: {}: {}\n", fold_hostlist(steps[i].second), steps[i].first);
  if (steps.size() > shown)
    out += fmt::format("and {}, in --json\n", plural(steps.size() - shown, "more step"));
  return out;
}

}  // namespace

std::string text(const ops::NodesDocument& document, const Style& style) {
  Table table({left("node"), left("state"), left("version"), left("lease"), left("cause")});
  std::size_t answered = 0;
  for (const fleet::NodeState& node : document.nodes) {
    answered += node.reachable;
    table.row({node.node, node.reachable ? style.paint("ok", Ink::green) : style.paint("no answer", Ink::red),
               node.version.empty() ? "-" : node.version,
               !node.reachable      ? "-"
               : node.lease.empty() ? "free"
                                    : node.lease,
               node.cause});
  }
  std::string out = table.text();
  out += fmt::format("{} of {} answer\n", answered, plural(document.nodes.size(), "node"));
  out += next_steps(document.nodes);
  out += notes_text(document.notes, style);
  return out;
}

namespace {

struct Meaning {
  std::string_view key, value, meaning;
};

// What a value stands for, most often none; empty: itself.
std::string_view meaning_of(const config::Given& row) {
  constexpr Meaning known[] = {
      {"hosts", "", "those of the Slurm job"},
      {"history", "", "none: neither XDG_STATE_HOME nor HOME is set"},
      {"link_rate", "", "unknown: the fleet's majority"},
      {"data_interface", "", "the one with the nodes' addresses"},
      {"data_ports", "", "any"},
      {"watch.hook", "", "none"},
      {"daemon.listen", "", "the Unix socket alone"},
      {"daemon.node", "", "the host name"},
      {"daemon.peers", "", "the networks of the node's interfaces"},
      {"daemon.events", "", "the last hour, in memory"},
      {"daemon.metrics", "", "off"},
      {"verbs.rdma_ports", "", "chosen"},
      {"verbs.gid_index", "-1", "automatic"},
      {"verbs.path_mtu", "0", "automatic"},
      {"verbs.adaptive_routing_threshold", "0", "off"},
  };
  const auto* const at = std::find_if(std::begin(known), std::end(known), [&](const Meaning& each) {
    return each.key == row.key && each.value == row.text;
  });
  return at != std::end(known) ? at->meaning : row.text.empty() ? "not given" : "";
}

}  // namespace

std::string text(const ops::ConfigDocument& document, const Style& style) {
  Table table({left("key"), left("value"), left("from")});
  for (const config::Given& row : document.settings) {
    const auto usual = row.text.empty() ? document.usual.find(row.key) : document.usual.end();
    const std::string_view meaning = usual != document.usual.end() ? usual->second : meaning_of(row);
    table.row({row.key, meaning.empty() ? row.text : style.paint(fmt::format("({})", meaning), Ink::dim),
               style.paint(row.origin, Ink::dim)});
  }
  return table.text();
}

std::string text(const ops::PkiDocument& document, const Style&) {
  Table table({left("certificate"), left("folder"), left("valid until")});
  for (const pki::Issued& row : document.certificates) table.row({row.name, row.folder, row.until});
  return table.text() + (document.next.empty() ? "" : "next: " + document.next + "\n");
}

std::string text(const ops::DeployDocument& document, const Style& style) {
  Table table({left("node"), left("certificate"), left("")});
  for (const pki::Deployed& row : document.nodes) {
    const std::string state(key_of(row.state));
    table.row(
        {row.node, row.state == pki::DeployState::failed ? style.paint(state, Ink::red) : state, row.detail});
  }
  return table.text();
}

}  // namespace ringtrue::report
