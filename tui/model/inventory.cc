#include "tui/model/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "report/text/text.h"
#include "report/text/wording.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t lines_at_most = 2000;  // of a node

// Lines carry their mark in front, as `topo` prints them.
void add_lines(std::vector<Line>& lines, std::string_view text) {
  while (!text.empty() && lines.size() < lines_at_most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const char mark = line.empty() ? ' ' : line[0];
    lines.push_back({std::string(line), mark == '!'                                        ? Level::critical
                                        : mark == '?'                                      ? Level::warning
                                        : mark == 'i' && line.size() > 1 && line[1] == ' ' ? Level::info
                                                                                           : Level::good});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::shared_ptr<const Topology> topology_of(const ops::TopoDocument& document) {
  auto out = std::make_shared<Topology>();
  const report::Style plain;
  for (const topology::Node& node : document.cluster.nodes) {
    ops::TopoDocument one;
    one.cluster.nodes = {node};
    for (const diagnosis::Finding& f : document.inspection.findings)
      if (f.scope.subject.node == node.name) one.inspection.findings.push_back(f);
    Topology::Node shown{node.name, {}};
    for (const report::TopoView view : {report::TopoView::tree, report::TopoView::matrix}) {
      const std::string text = report::text(one, view, false, plain);
      // The first line is the name.
      const std::size_t first = text.find('\n');
      if (first == std::string::npos) continue;
      if (!shown.lines.empty()) shown.lines.push_back({"", Level::good});
      add_lines(shown.lines, std::string_view(text).substr(first + 1));
    }
    out->nodes.push_back(std::move(shown));
  }
  if (document.cluster.fabric && !document.cluster.fabric->switches.empty()) {
    ops::TopoDocument fabric;
    fabric.cluster.fabric = document.cluster.fabric;
    fabric.inspection = document.inspection;
    add_lines(out->fabric, report::text(fabric, report::TopoView::tree, false, plain));
  }
  return out;
}

std::shared_ptr<const Moment> moment_of(const ops::TopoDocument& document, double when) {
  auto out = std::make_shared<Moment>();
  out->when = when;
  for (const topology::Node& node : document.cluster.nodes) out->nodes.push_back(node.name);
  Level worst = Level::good;
  for (const diagnosis::Finding& f : document.inspection.findings) {
    FindingRow row;
    row.level = f.severity == diagnosis::Severity::critical  ? Level::critical
                : f.severity == diagnosis::Severity::warning ? Level::warning
                                                             : Level::info;
    if (row.level > Level::info) worst = std::max(worst, row.level);
    row.kind = key_of(f.kind);
    row.where = f.scope.text();
    row.node = f.scope.subject.node;
    row.confidence = f.confidence;
    row.evidence = report::sentences(f.evidence);
    row.impact = report::sentence(f.impact);
    row.next = report::sentence(f.next);
    row.command = f.command;
    out->findings.push_back(std::move(row));
  }
  out->level = worst;
  out->verdict = worst == Level::good ? "healthy" : worst == Level::warning ? "degraded" : "faulty";
  out->text = out->findings.empty() ? "inspected" : out->findings[0].kind + ": " + out->findings[0].where;
  return out;
}

}  // namespace ringtrue::tui
