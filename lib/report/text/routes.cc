#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "report/text/text.h"
#include "report/topo/topo.h"

namespace ringtrue::report {
namespace {

constexpr std::size_t shown = 20;  // trunks of a kind

using topology::Routes;

std::string port_text(const topology::RoutedPort& port) {
  return printable(port.device.empty() ? port.node : port.node + " " + port.device);
}

std::string list(const std::vector<int>& trunks, const auto& line) {
  std::string out;
  for (std::size_t i = 0; i < trunks.size() && i < shown; ++i)
    out += "  " + printable(line(trunks[i])) + "\n";
  if (trunks.size() > shown) out += fmt::format("  and {} more; --json lists them\n", trunks.size() - shown);
  return out;
}

}  // namespace

std::string text(const ops::RoutesDocument& document, const Style& style) {
  const Routes& routes = document.routes;
  const topology::RouteUse& use = document.use;
  std::string out =
      style.paint("routes", Ink::bold) +
      fmt::format("  {}, {}, {}\n", plural(routes.switches(), "switch", "switches"),
                  plural(routes.ports().size(), "port of hosts", "ports of hosts"),
                  plural(routes.trunks().size() / 2, "cable between switches", "cables between switches"));
  out += fmt::format("  {} of ports on different switches: {} with a known way",
                     plural(use.pairs, "ordered pair"), use.known);
  if (use.unknown > 0) out += fmt::format(", {} unknown (a table or a row of one is missing)", use.unknown);
  if (use.none > 0) out += fmt::format(", {} without (a switch says so, or they go in a circle)", use.none);
  out += "\n";
  auto loads = use.by_trunk;
  std::sort(loads.begin(), loads.end());
  if (!loads.empty() && use.known > 0)
    out += fmt::format("  pairs a trunk and way: {} to {}, {} in the median\n", loads.front(), loads.back(),
                       loads[loads.size() / 2]);
  if (use.asymmetric) {
    out += fmt::format("  {} come back over other cables", use.asymmetric.value());
    out += *use.unlike > 0 ? fmt::format(", {} of them over more or fewer\n", *use.unlike) : "\n";
  }
  const auto name = [&](int t) { return routes.text(routes.trunks()[std::size_t(t)]); };
  if (!use.unused.empty()) {
    out += fmt::format("\n{} of {} trunks carry nothing between hosts, of each cable either way by itself\n",
                       use.unused.size(), routes.trunks().size());
    out += list(use.unused, name);
  }
  if (!use.crowded.empty()) {
    std::vector<int> worst = use.crowded;
    std::stable_sort(worst.begin(), worst.end(), [&](int a, int b) {
      return use.by_trunk[std::size_t(a)] > use.by_trunk[std::size_t(b)];
    });
    out += style.line(fmt::format("\n{} with more than {:g} times as many pairs as is usual at their place",
                                  plural(worst.size(), "trunk"), topology::crowded_share),
                      Ink::yellow);
    out += list(worst, [&](int t) {
      return fmt::format("{}: {} pairs, usual {:g}", name(t), use.by_trunk[std::size_t(t)],
                         use.usual[std::size_t(t)]);
    });
  }
  std::vector<int> trunks;
  for (const auto& [from, to] : document.between) {
    const Routes::Way way = routes.way(from, to, trunks);
    const auto& ports = routes.ports();
    const auto &a = ports[std::size_t(from)], &b = ports[std::size_t(to)];
    out += fmt::format("\n{} -> {}{}\n", port_text(a), port_text(b),
                       way == Routes::Way::unknown ? ": unknown from there on"
                       : way == Routes::Way::none  ? ": no way from there on"
                                                   : "");
    out += printable(fmt::format("  {} port {}", routes.name(a.at), a.number)) + "\n";
    for (const int t : trunks) out += "  " + printable(name(t)) + "\n";
    if (way == Routes::Way::known)
      out += printable(fmt::format("  {} port {}", routes.name(b.at), b.number)) + "\n";
  }
  if (!document.notes.empty()) out += "\n";
  for (const std::string& note : document.notes) out += printable("note: " + note) + "\n";
  return out;
}

}  // namespace ringtrue::report
