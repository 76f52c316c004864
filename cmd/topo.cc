#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "formats/format.h"
#include "operator/routes.h"

#include <fmt/format.h>

namespace ringtrue::cmd {
namespace {

using report::TopoView;

struct TopoFlags {
  ops::FactRequest facts;
  std::optional<TopoView> view;
  bool all = false, dot = false, xml = false;
  std::vector<std::string> routes, between;
};

// What forwarding tables say: of files, or read live by one of the hosts or this machine.
int run_routes(Context& context, const TopoFlags& flags) {
  const bool live = flags.routes == std::vector<std::string>{"probe"};
  auto fits =
      reject("topo --routes", {{{flags.view.has_value(), "--view"},
                                {flags.all, "--all"},
                                {flags.dot, "--dot"},
                                {flags.xml, "--hwloc-xml"},
                                {!flags.facts.from.empty(), "--from", "name its files behind --routes"},
                                {!flags.facts.root.empty(), "--root"},
                                {flags.facts.window.has_value(), "--window"},
                                {flags.facts.wake_gpus, "--wake-gpus"}},
                               running(context, "leave it out: nothing is run"),
                               live ? Inapplicables() : hosts(context, "leave it out: the files tell"),
                               common(context, {"--link-rate"})});
  if (!fits) return failed(context, fits.error());
  if (!flags.between.empty() && flags.between.size() != 2)
    return failed(context, Error{Cause::bad_input, fmt::format("{} nodes", flags.between.size()), "--between",
                                 "name two, such as node1,node2"});
  auto known = live ? ops::live_routes(setup_of(context), context.common.given("--hosts"), control({}))
                    : ops::read_routes(flags.routes).map_error([](const Error& error) {
                        return ops::Trouble{error, {}};
                      });
  clear_progress();
  if (!known) return failed(context, known.error());
  const auto document = ops::routes_document(std::move(*known), flags.between);
  if (!document) return failed(context, document.error());
  if (!context.common.json) return print(report::text(*document, context.style), Exit::healthy);
  Output out;
  report::write_json(*document, [&](std::string_view piece) { return out.write(piece); });
  return out.finish(Exit::healthy);
}

int show_topology(Context& context, const TopoFlags& flags) {
  if (!flags.routes.empty()) return run_routes(context, flags);
  if (!flags.between.empty())
    return failed(context,
                  Error{Cause::bad_input, "there are no routes", "--between", "give --routes FILE..."});
  const bool json = context.common.json;
  if (json && (flags.dot || flags.xml))
    return failed(context, both(flags.dot ? "--dot" : "--hwloc-xml", "--json").value());
  const bool files = json || flags.dot || flags.xml;  // for programs, with all there is
  auto fits = reject(json        ? "topo --json"
                     : flags.dot ? "topo --dot"
                                 : "topo --hwloc-xml",
                     {{{files && flags.view, "--view"}, {files && flags.all, "--all"}}});
  if (fits) fits = reject("topo", {common(context, {"--link-rate"})});
  const bool hosts = context.common.given("--hosts");
  if (fits) fits = check_facts(context, flags.facts, hosts);
  if (!fits) return failed(context, fits.error());
  const auto document = ops::topo(setup_of(context), flags.facts, hosts, control({}));
  if (!document) return failed(context, document.error());
  clear_progress();
  if (flags.xml) {
    const auto& nodes = document->cluster.nodes;
    if (nodes.size() == 1) return print(formats::write_hwloc_xml(nodes.front()), Exit::healthy);
    return failed(context, Error{Cause::bad_input,
                                 fmt::format("--hwloc-xml is of one node, and there are {}", nodes.size()),
                                 "", "name one"});
  }
  if (document->error) complain(document->error->error);
  if (flags.dot) return print(report::dot(*document), Exit::healthy);
  if (!json)
    return print(report::text(*document, flags.view.value_or(TopoView::overview), flags.all, context.style),
                 Exit::healthy);
  Output out;
  report::write_json(*document, [&](std::string_view piece) { return out.write(piece); });
  return out.finish(Exit::healthy);
}

}  // namespace

Command topo_command() {
  static TopoFlags flags;
  const Flags own = {
      choice<TopoView>("--view", flags.view,
                       {{"overview", TopoView::overview},
                        {"tree", TopoView::tree},
                        {"matrix", TopoView::matrix},
                        {"links", TopoView::links}},
                       "NAME", "overview, tree, matrix (of paths) or links (with rates) (overview)"),
      toggle("--all", flags.all, "virtual devices, all of PCI, and every node that differs"),
      toggle("--dot", flags.dot, "for Graphviz"),
      texts("--routes", flags.routes, "FILE",
            "ways between hosts instead: the forwarding tables of ibroute, dump_fts, OpenSM, ibdiagnet or "
            "ibtracert, and the output of ibnetdiscover; or 'probe': read live, by one of the hosts or this "
            "machine"),
      texts("--between", flags.between, "NODE", "with --routes: the ways between these two", ','),
      excluding(toggle("--hwloc-xml", flags.xml, "hwloc's XML, for lstopo -i"), "--dot"),
  };
  return {"topo", "Shows what is in the nodes and between them, with degraded parts marked",
          join({fact_flags(flags.facts), own}),
          "Without --hosts and --from: this machine. '!' marks what is critical, '?' a warning, 'i' "
          "information.\nExit code 0 whatever is found, 3 when nothing could be read.\n"
          "Example: ringtrue topo --hosts node[01-16] --view links",
          [](Context& context) { return show_topology(context, flags); }};
}

}  // namespace ringtrue::cmd
