// Matrix, links and fabric: text in columns.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"
#include "report/text/wording.h"
#include "report/topo/topo.h"
#include "topology/links.h"

namespace ringtrue::report {
namespace {

using namespace topology;

constexpr std::size_t max_matrix = 40;  // devices

std::string rate(const std::optional<BytesPerSecond>& value) {
  return value ? to_text(*value) : "-";
}

}  // namespace

std::string matrix_of(const Node& node, Ways& ways) {
  std::vector<std::string> devices;
  std::vector<std::string> numa;
  const auto add = [&](const std::string& name, const std::string& address) {
    devices.push_back(name);
    const PciDevice* device = node.find_pci(address);
    numa.push_back(device && device->numa.known() && *device->numa >= 0 ? std::to_string(*device->numa)
                                                                        : "-");
  };
  for (const Gpu& gpu : node.gpus) add(gpu.name, gpu.address);
  for (const Nic& nic : node.nics)
    if (!nic.virtual_device) add(nic.name, nic.address);
  const std::size_t n = devices.size();
  if (n > max_devices_with_paths)
    return fmt::format("  {} GPUs and NICs: paths are shown of up to {}\n", n, max_devices_with_paths);
  if (n > max_matrix) return fmt::format("  {} GPUs and NICs: --json has the paths between them\n", n);
  if (n == 0) return "  no GPU and no NIC\n";
  std::map<std::pair<std::string, std::string>, std::string> kinds;
  for (const Way& way : ways.of(node))
    kinds[{way.from, way.to}] = kinds[{way.to, way.from}] = way.path.text();
  std::vector<Table::Column> columns{left("")};
  for (const std::string& device : devices) columns.push_back(left(printable(device)));
  columns.push_back("NUMA");
  Table table(columns);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::string> row{printable(devices[i])};
    for (std::size_t k = 0; k < n; ++k) row.push_back(i == k ? "X" : kinds[{devices[i], devices[k]}]);
    row.push_back(numa[i]);
    table.row(std::move(row));
  }
  return table.text(2);
}

std::string links_of(const Node& node, const Marks& marks, Ways& ways, const Style& style) {
  Table table({left(""), left("link"), left("from"), left("to"), "rate", "of", left("")});
  for (const Link& link : links(node)) {
    const diagnosis::Finding* finding = marks.of(node.name, {link.from, link.from + " - " + link.to});
    const std::string kind =
        link.count > 1 ? fmt::format("{} x{}", key_of(link.kind), link.count) : key_of(link.kind);
    table.row(
        {finding ? style.paint(std::string(1, mark_of(finding->severity)), ink_of(finding->severity)) : "",
         kind, printable(link.from), printable(link.to), rate(link.rate.value), rate(link.max_rate.value),
         printable(link.up ? link.text : "down, " + link.text) +
             (finding ? style.paint(std::string("  <- ") + key_of(finding->kind), ink_of(finding->severity))
                      : "")});
  }
  std::string out = table.text(2);
  Table narrowest({left(""), left(""), left(""), "narrowest", left("at")});
  bool any = false;
  for (const Way& way : ways.of(node)) {
    const bool to_nic = node.find_gpu(way.from) && node.find_nic(way.to);
    if (!to_nic) continue;
    any = true;
    const Path& path = way.path;
    std::string at = path.narrowest_link >= 0 && std::size_t(path.narrowest_link) < path.links.size()
                         ? fmt::format("{} ({})", path.links[std::size_t(path.narrowest_link)].name,
                                       path.links[std::size_t(path.narrowest_link)].text)
                         : "";
    if (path.narrowest && !path.all_known) at += ", of those known";
    narrowest.row({printable(way.from), printable(way.to), path.text(), rate(path.narrowest), printable(at)});
  }
  return any ? out + "\n" + narrowest.text(2) : out;
}

std::string fabric_text(const Fabric& fabric, const Marks& marks, bool all, const Style& style) {
  struct Switch {
    std::string name;
    std::size_t hosts = 0, trunks = 0;
    std::map<std::string, std::size_t> neighbours;  // trunks by the other switch
  };
  std::map<std::string, Switch> switches;
  for (const FabricSwitch& s : fabric.switches)
    switches[s.guid].name = s.name.empty() ? s.guid : fmt::format("{} ({})", s.name, s.guid);
  std::map<std::string, std::size_t> trunk_rates, host_rates;
  std::size_t trunks = 0;
  std::set<std::string> units;  // in-network reduction within a switch, no host
  for (const FabricHost& host : fabric.hosts)
    if (host.aggregation) units.insert(host.guid);
  for (const FabricLink& link : fabric.links) {
    if (units.count(link.a.guid) || units.count(link.b.guid)) continue;
    const auto a = switches.find(link.a.guid), b = switches.find(link.b.guid);
    const bool trunk = a != switches.end() && b != switches.end();
    std::string speed = fmt::format("{} {}", link.speed.value_or("speed unknown"),
                                    link.width.known() ? fmt::format("{}x", *link.width) : "");
    if (link.rate.known()) speed += fmt::format(" {}", to_text(*link.rate));
    ++(trunk ? trunk_rates : host_rates)[speed];
    trunks += trunk;
    if (trunk) {
      ++a->second.trunks, ++b->second.trunks;
      ++a->second.neighbours[b->second.name], ++b->second.neighbours[a->second.name];
    } else {
      for (const auto& end : {a, b})
        if (end != switches.end()) ++end->second.hosts;
    }
  }
  std::string out =
      style.paint("fabric", Ink::bold) +
      fmt::format("  {}, {}, {}{}\n", plural(switches.size(), "switch", "switches"),
                  plural(fabric.hosts.size() - units.size(), "host adapter", "host adapters"),
                  plural(trunks, "trunk", "trunks"),
                  units.empty() ? "" : ", " + plural(units.size(), "aggregation unit", "aggregation units"));
  const auto rates = [&](std::string_view what, const std::map<std::string, std::size_t>& by_rate) {
    for (const auto& [speed, count] : by_rate)
      out += printable(fmt::format("  {}: {} x {}", what, count, speed)) + "\n";
  };
  rates("trunks", trunk_rates);
  rates("cables to hosts", host_rates);
  if (!all) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string>> alike;
    for (const auto& [guid, s] : switches) alike[{s.hosts, s.trunks}].push_back(s.name);
    for (const auto& [shape, names] : alike)
      out +=
          printable(fmt::format("  {} with {} and {}{}", plural(names.size(), "switch", "switches"),
                                plural(shape.first, "host", "hosts"), plural(shape.second, "trunk", "trunks"),
                                names.size() <= 4 ? fmt::format(": {}", fmt::join(names, ", ")) : "")) +
          "\n";
  }
  for (const auto& [guid, s] : switches) {
    const diagnosis::Finding* finding = marks.of("", {guid, s.name, s.name.substr(0, s.name.find(" ("))});
    if (!all && !finding) continue;
    std::string to;
    for (const auto& [name, count] : s.neighbours)
      to += fmt::format("{}{} x{}", to.empty() ? "; to " : ", ", name, count);
    out += finding ? style.paint(std::string(1, mark_of(finding->severity)), ink_of(finding->severity)) : " ";
    out += printable(fmt::format(" {}: {}, {}{}", s.name, plural(s.hosts, "host", "hosts"),
                                 plural(s.trunks, "trunk", "trunks"), to));
    if (finding)
      out +=
          style.line(printable(std::string("  <- ") + key_of(finding->kind) +
                               (finding->evidence.empty() ? "" : ": " + sentence(finding->evidence.front()))),
                     ink_of(finding->severity));
  }
  return out;
}

}  // namespace ringtrue::report
