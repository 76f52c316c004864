#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/plural.h"
#include "report/alike.h"
#include "report/text/text.h"
#include "report/text/wording.h"
#include "report/topo/topo.h"
#include "topology/links.h"

namespace ringtrue::report {

namespace {

constexpr std::size_t shown_groups = 12;
constexpr std::size_t shown_findings = 60;
constexpr std::size_t shown_gaps = 24;

std::string count_text(const topology::Counts& c) {
  std::vector<std::string> parts{plural(c.gpus, "GPU"), plural(c.nics, "NIC")};
  if (c.ports != c.nics) parts.push_back(plural(c.ports, "port"));
  if (c.pcie_switches > 0) parts.push_back(plural(c.pcie_switches, "PCIe switch", "PCIe switches"));
  if (c.nvlinks > 0)
    parts.push_back(c.nvlinks_up == c.nvlinks ? plural(c.nvlinks, "NVLink")
                                              : fmt::format("{} of {} NVLinks up", c.nvlinks_up, c.nvlinks));
  if (c.nvswitches > 0) parts.push_back(plural(c.nvswitches, "NVSwitch", "NVSwitches"));
  if (c.virtual_nics > 0) parts.push_back(plural(c.virtual_nics, "virtual network device"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Each kind of node once: who, then what it looks like.
std::string each_kind(const std::vector<topology::Node>& nodes, bool all, const Style& style,
                      const auto& text_of) {
  std::string out;
  AlikeNodes alike;
  for (const topology::Node& node : nodes) alike.add(text_of(node), node.name);
  const std::vector<Alike>& groups = alike.all();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Alike& group = groups[i];
    if (!all && i == shown_groups) {
      std::size_t left = 0;
      for (std::size_t k = i; k < groups.size(); ++k) left += groups[k].nodes.size();
      return out + fmt::format("\nand {} that differ; --all shows them\n", plural(left, "more node"));
    }
    out += fmt::format(
        "{}{}{}\n{}", out.empty() ? "" : "\n", style.paint(printable(fold_hostlist(group.nodes)), Ink::bold),
        group.nodes.size() > 1 ? fmt::format("  {} nodes alike", group.nodes.size()) : "", group.text);
  }
  return out;
}

std::string gaps_text(const std::vector<topology::Node>& nodes, const Style& style) {
  AlikeNodes alike;
  for (const topology::Node& node : nodes)
    for (const topology::Gap& gap : node.gaps)
      alike.add(printable(fmt::format("{} ({}): {}", gap.what, gap.source, gap.why)), node.name);
  const std::vector<Alike>& lacks = alike.all();
  std::string out;
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    if (i == shown_gaps) {
      out += style.line(fmt::format("not readable: {} more; --json lists them", lacks.size() - i), Ink::dim);
      break;
    }
    const std::string who =
        nodes.size() > 1 ? fmt::format("{}: ", printable(fold_hostlist(lacks[i].nodes))) : "";
    out += style.line(fmt::format("not readable: {}{}", who, lacks[i].text), Ink::dim);
  }
  return style.fit(out);
}

}  // namespace

std::string findings_text(const std::vector<diagnosis::Finding>& findings, const Style& style) {
  struct Group {
    const diagnosis::Finding* first;
    std::vector<std::string> nodes;
  };
  using diagnosis::ScopeType;
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const diagnosis::Finding& f : findings) {
    const auto type = f.scope.type;
    std::string key =
        fmt::format("{} {} {} {} {} {} {}", int(f.severity), int(f.kind), int(type), f.scope.subject.device,
                    f.measured ? f.measured->value : -1, f.expected ? f.expected->value : -1, f.confidence);
    // What was measured between nodes is not grouped, nor what is on no node.
    if (f.scope.subject.node.empty() || type == ScopeType::path || type == ScopeType::sender ||
        type == ScopeType::receiver || (type == ScopeType::node && f.measured))
      key += fmt::format(" {}", places.size());
    const auto [place, fresh] = places.emplace(std::move(key), groups.size());
    if (fresh) groups.push_back({&f, {}});
    groups[place->second].nodes.push_back(f.scope.subject.node);
  }
  std::string out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == shown_findings) {
      out += fmt::format("\nand {}; --json lists them\n", plural(groups.size() - i, "more finding"));
      break;
    }
    const diagnosis::Finding& f = *groups[i].first;
    const bool several = groups[i].nodes.size() > 1;
    std::string where = f.scope.text();
    if (several)
      where = fmt::format("{} nodes, {}{}", groups[i].nodes.size(), fold_hostlist(groups[i].nodes),
                          f.scope.subject.device.empty() ? "" : ": " + f.scope.subject.device);
    std::string said =
        fmt::format("\n{}  {}: {}", style.paint(fmt::format("{:<8}", key_of(f.severity)), ink_of(f.severity)),
                    key_of(f.kind), style.paint(printable(where), Ink::bold));
    if (f.measured) {
      said += fmt::format(", {}", to_text(*f.measured));
      if (f.expected) said += fmt::format(" of {} expected", to_text(*f.expected));
      if (f.ratio) said += fmt::format(" ({:.0f} %)", *f.ratio * 100);
    }
    // What was merely seen, somewhere in the fleet, is in doubt nowhere.
    const bool only_told =
        f.severity == diagnosis::Severity::info && f.scope.type == diagnosis::ScopeType::fleet;
    said += only_told ? "\n" : fmt::format(", {:.0f} % sure\n", f.confidence * 100);
    out += style.fit(said, 10);
    said.clear();
    const std::string of = several ? printable(f.scope.subject.node) + ": " : "";
    for (const std::string& line : sentences(f.evidence))
      said += fmt::format("          - {}{}\n", of, printable(line));
    if (!f.impact.empty()) said += fmt::format("          {}\n", printable(sentence(f.impact)));
    if (!f.next.empty()) said += fmt::format("          next: {}\n", printable(sentence(f.next)));
    out += style.fit(said);
    // Not wrapped, so that it can be pasted.
    if (!f.command.empty()) out += fmt::format("          to reproduce: {}\n", printable(f.command));
  }
  return out;
}

std::string text(const ops::TopoDocument& document, TopoView view, bool all, const Style& style) {
  const topology::Cluster& cluster = document.cluster;
  const Marks marks(document.inspection.findings);
  Ways ways;
  std::string out;
  if (cluster.nodes.size() > 1)
    out += fmt::format("{}: {}\n\n", style.paint(fmt::format("{} nodes", cluster.nodes.size()), Ink::bold),
                       count_text(topology::counts(cluster)));
  if (view == TopoView::overview || view == TopoView::tree)
    out += each_kind(cluster.nodes, all, style, [&](const topology::Node& node) {
      std::string text = fmt::format("  {}\n{}", count_text(topology::counts(node)),
                                     node_tree(node, marks, all, all || cluster.nodes.size() == 1, style));
      const topology::Counts counts = topology::counts(node);
      if (view == TopoView::overview && counts.gpus + counts.nics > 1) {
        const std::string matrix = matrix_of(node, ways);
        if (!matrix.empty()) text += fmt::format("\n{}", matrix);
      }
      return text;
    });
  if (view == TopoView::matrix)
    out += each_kind(cluster.nodes, all, style,
                     [&](const topology::Node& node) { return matrix_of(node, ways); });
  if (view == TopoView::links)
    out += each_kind(cluster.nodes, all, style,
                     [&](const topology::Node& node) { return links_of(node, marks, ways, style); });
  if (cluster.fabric && view != TopoView::matrix)
    out += fmt::format("{}{}", out.empty() ? "" : "\n",
                       fabric_text(*cluster.fabric, marks, all || view == TopoView::links, style));
  if (view == TopoView::overview) {
    out += findings_text(document.inspection.findings, style);
    out += fmt::format("\n{}", gaps_text(cluster.nodes, style));
    if (!document.inspection.not_checked.empty())
      out += style.fit(style.line(fmt::format("not checked: {}; `ringtrue check --inspect` says why",
                                              plural(int(document.inspection.not_checked.size()), "thing")),
                                  Ink::dim));
  }
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

std::string text(const ops::GatherDocument& document, const Style& style) {
  std::string out;
  for (const ops::BundleRow& b : document.bundles) {
    out += fmt::format("{}: {}, {} of {}", style.paint(b.file, Ink::bold), amount_text(b.bytes),
                       plural(b.files, "file"), printable(b.node));
    if (!b.answers.empty()) out += fmt::format(", answers of {}", fmt::join(b.answers, ", "));
    if (b.window_s > 0) out += fmt::format(", counters {} apart", to_text(Seconds(b.window_s)));
    if (b.errors > 0) out += fmt::format(", {} not readable", b.errors);
    out += b.redacted ? ", redacted\n" : "\n";
  }
  if (document.error) out += failures_text(*document.error, style);
  return style.fit(out);
}

}  // namespace ringtrue::report
