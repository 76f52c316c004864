#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/fact_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "formats/format.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  ops::FactRequest facts;
  std::optional<report::TopoView> view;
  bool all = false, dot = false, xml = false;
};

const std::vector<std::pair<std::string, report::TopoView>> views = {{"overview", report::TopoView::overview},
                                                                     {"tree", report::TopoView::tree},
                                                                     {"matrix", report::TopoView::matrix},
                                                                     {"links", report::TopoView::links}};

Result<report::TopoView> parse_view(std::string_view text) {
  for (const auto& [name, view] : views)
    if (name == text) return view;
  return fail(Cause::bad_input, fmt::format("unknown view '{}'", text), {},
              "use overview, tree, matrix or links");
}

int run(Context& context, const Flags& flags) {
  if (context.common.json && (flags.dot || flags.xml))
    return failed(context,
                  Error{Cause::bad_input,
                        fmt::format("{} and --json exclude each other", flags.dot ? "--dot" : "--hwloc-xml"),
                        "", "leave one out"});
  const bool files = context.common.json || flags.dot || flags.xml;  // for programs, with all there is
  auto status = reject_inapplicable(context.common.json ? "topo --json"
                                    : flags.dot         ? "topo --dot"
                                                        : "topo --hwloc-xml",
                                    {{files && flags.view, "--view"}, {files && flags.all, "--all"}});
  if (status) status = reject_inapplicable("topo", {{context.common.link_rate.has_value(), "--link-rate"}});
  if (!status) return failed(context, status.error());
  const bool hosts = context.common.hosts.has_value();
  if (auto fits = check_facts(context, flags.facts, hosts); !fits) return failed(context, fits.error());
  const auto document = ops::topo(setup_of(context), flags.facts, hosts, control({}));
  if (!document) return failed(context, document.error());
  clear_progress();
  if (flags.xml) {
    const auto& nodes = document->cluster.nodes;
    if (nodes.size() == 1) return print(topology::write_hwloc_xml(nodes.front()), Exit::healthy);
    return failed(context, Error{Cause::bad_input,
                                 fmt::format("--hwloc-xml tells of one node, here are {}", nodes.size()), "",
                                 "name one"});
  }
  if (document->error) complain(document->error->error);
  if (flags.dot) return print(report::dot(*document), Exit::healthy);
  if (!context.common.json)
    return print(
        report::text(*document, flags.view.value_or(report::TopoView::overview), flags.all, context.style),
        Exit::healthy);
  Output out;
  report::write_json(*document, [&](std::string_view piece) { return out.write(piece); });
  return out.finish(Exit::healthy);
}

}  // namespace

void add_topo(Commands& commands) {
  const Command app = commands.add("topo", "What is in the nodes and between them; degraded parts marked");
  static Flags flags;
  add_fact_flags(app, flags.facts);
  std::vector<std::string> names;
  for (const auto& [name, view] : views) names.push_back(name);
  commands.choices(add_parsed(app, "--view", flags.view, parse_view, "NAME",
                              "overview, tree, matrix (of paths) or links (with rates)"),
                   names);
  app.add_flag("--all", flags.all, "virtual devices, all of PCI, and every node that differs");
  const Option dot = app.add_flag("--dot", flags.dot, "for Graphviz");
  app.add_flag("--hwloc-xml", flags.xml, "hwloc's XML, for lstopo -i").excludes(dot);
  app.footer(
      "Without --hosts and --from: this machine. '!' marks what is critical, '?' a warning, 'i' what is "
      "worth "
      "knowing.\nExit code 0 whatever is found, 3 when nothing could be read.\n"
      "Example: ringtrue topo --hosts node[01-16] --view links");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
