#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/text/text.h"
#include "report/topo/topo.h"
#include "topology/links.h"

namespace ringtrue::report {
namespace {

using namespace topology;

// A quoted identifier or label.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Lines of one label; dot's own "\n" between them.
std::string label(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    const std::string text = in_quotes(line);
    if (line.empty()) continue;
    out += (out.empty() ? "" : "\\n") + text.substr(1, text.size() - 2);
  }
  return "\"" + out + "\"";
}

std::string colour(const diagnosis::Finding* finding) {
  if (!finding) return "";
  switch (finding->severity) {
    case diagnosis::Severity::critical:
      return ", color=red, penwidth=2";
    case diagnosis::Severity::warning:
      return ", color=orange, penwidth=2";
    case diagnosis::Severity::info:
      break;
  }
  return ", color=blue";
}

class Drawing {
 public:
  explicit Drawing(const ops::TopoDocument& document)
      : cluster_(document.cluster), marks_(document.inspection.findings) {}

  std::string text() {
    out_ = "graph topology {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n  edge [fontsize=9];\n";
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) node(cluster_.nodes[i], i);
    if (cluster_.fabric) fabric(*cluster_.fabric);
    return std::move(out_) + "}\n";
  }

 private:
  void node(const Node& node, std::size_t index) {
    out_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", index, in_quotes(node.name));
    const auto id = [&](const std::string& device) { return in_quotes(fmt::format("{}/{}", index, device)); };
    const auto box = [&](const std::string& device, const std::vector<std::string>& lines,
                         std::string_view shape, const diagnosis::Finding* finding) {
      if (!drawn_.insert(fmt::format("{}/{}", index, device)).second) return;
      out_ +=
          fmt::format("    {} [label={}, shape={}{}];\n", id(device), label(lines), shape, colour(finding));
    };
    const auto edge = [&](const std::string& a, const std::string& b, const std::string& text,
                          const std::string& more) {
      out_ += fmt::format("    {} -- {} [label={}{}];\n", id(a), id(b), in_quotes(text), more);
    };
    // Devices are drawn under their names; bridges and host bridges under their addresses.
    std::map<std::string, std::string> names;
    for (const Gpu& gpu : node.gpus) {
      if (!gpu.address.empty()) names[gpu.address] = gpu.name;
      box(gpu.name, {gpu.name, gpu.model.value_or("")}, "component",
          marks_.of(node.name, {gpu.name, gpu.address}));
    }
    for (const NvSwitch& s : node.nvswitches) {
      if (!s.address.empty()) names[s.address] = s.name;
      box(s.name, {s.name}, "hexagon", marks_.of(node.name, {s.name, s.address}));
    }
    for (const Nic& nic : node.nics) {
      if (nic.virtual_device) continue;
      if (!nic.address.empty()) names.try_emplace(nic.address, nic.name);
      std::vector<std::string> lines{nic.name};
      for (const Port& port : nic.ports)
        lines.push_back(fmt::format("{} {}", port.state.value_or("state unknown"),
                                    port.rate.known() ? to_text(*port.rate) : ""));
      box(nic.name, lines, "cds", marks_.of(node.name, {nic.name, nic.address, nic.name + "/1"}));
    }
    // From each device up to its host bridge, each link once.
    std::set<std::string> seen;
    for (const auto& [address, device] : names) {
      const PciDevice* at = node.find_pci(address);
      std::string below = device;
      while (at && seen.insert(at->address).second) {
        const PciDevice* above = at->parent.empty() ? nullptr : node.find_pci(at->parent);
        const std::string to = above ? above->address : at->root.empty() ? "host" : at->root;
        if (above)
          box(to, {name(above->kind), to}, "box", marks_.of(node.name, {to}));
        else
          box(to, {"host bridge", at->root}, "house", nullptr);
        // The link of a port is the one below it, which the device there tells of.
        const bool port = at->kind == PciKind::root_port || at->kind == PciKind::switch_downstream;
        edge(to, below, port ? "" : pci_text(at->link), colour(marks_.of(node.name, {at->address, device})));
        below = to;
        at = above;
      }
    }
    for (const Link& link : links(node)) {
      if (link.kind != LinkKind::nvlink) continue;
      const auto end = [&](const std::string& device) {
        const auto found = names.find(device);
        return found == names.end() ? device : found->second;
      };
      box(end(link.to), {end(link.to)}, "box", nullptr);
      edge(end(link.from), end(link.to), fmt::format("{} NVLinks", link.count),
           ", style=bold" + colour(marks_.of(node.name, {link.from + " - " + link.to})));
    }
    out_ += "  }\n";
  }

  void fabric(const Fabric& fabric) {
    std::map<std::string, std::string> ids;  // GUID of a switch or an HCA -> id
    for (const FabricSwitch& s : fabric.switches) {
      ids[s.guid] = in_quotes("switch/" + s.guid);
      out_ += fmt::format("  {} [label={}, shape=octagon{}];\n", ids[s.guid], label({s.name, s.guid}),
                          colour(marks_.of("", {s.guid, s.name})));
    }
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i)
      for (const Nic& nic : cluster_.nodes[i].nics)
        if (nic.guid.known() && !nic.virtual_device)
          ids.try_emplace(*nic.guid, in_quotes(fmt::format("{}/{}", i, nic.name)));
    for (const FabricHost& host : fabric.hosts)
      if (ids.try_emplace(host.guid, in_quotes("host/" + host.guid)).second)
        out_ += fmt::format("  {} [label={}];\n", ids[host.guid], label({host.name, host.guid}));
    // Parallel cables as one line.
    std::map<std::pair<std::string, std::string>, std::map<std::string, int>> cables;
    for (const FabricLink& link : fabric.links) {
      if (!ids.count(link.a.guid) || !ids.count(link.b.guid)) continue;
      const auto ends = std::minmax(ids[link.a.guid], ids[link.b.guid]);
      ++cables[{ends.first, ends.second}][fmt::format(
          "{} {}", link.speed.value_or("?"), link.width.known() ? fmt::format("{}x", *link.width) : "")];
    }
    for (const auto& [ends, speeds] : cables) {
      std::vector<std::string> lines;
      for (const auto& [speed, count] : speeds) lines.push_back(fmt::format("{} x {}", count, speed));
      out_ += fmt::format("  {} -- {} [label={}];\n", ends.first, ends.second, label(lines));
    }
  }

  const Cluster& cluster_;
  Marks marks_;
  std::string out_;
  std::set<std::string> drawn_;
};

}  // namespace

std::string dot(const ops::TopoDocument& document) {
  return Drawing(document).text();
}

}  // namespace ringtrue::report
