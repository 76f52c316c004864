#include <fmt/format.h>

#include "diagnosis/counters.h"
#include "report/alike.h"
#include "report/table.h"
#include "report/text/text.h"
#include "run/counter_window.h"

namespace ringtrue::report {
namespace {

// Exact enough to be checked by hand, as the arithmetic is.
std::string exact(const std::optional<BytesPerSecond>& rate) {
  return rate ? fmt::format("{:.6g} GB/s", rate->value / 1e9) : "-";
}

std::string rails_text(const ideal::Facts& facts, const Style& style) {
  AlikeNodes alike;
  for (const ideal::NodeFacts& node : facts.nodes) {
    if (node.rails.empty()) continue;
    Table table({left("NIC"), "port", "port's rate", "PCIe", "rail", left("limit")});
    for (const ideal::Rail& rail : node.rails)
      table.row({rail.nic, fmt::format("{}", rail.port), exact(rail.port_rate), exact(rail.pcie),
                 exact(rail.rate), rail.limit});
    alike.add(table.text(2), node.node);
  }
  std::string out;
  for (const auto& [text, nodes] : alike.all()) {
    const std::string more = nodes.size() > 1 ? fmt::format(" and {} more alike", nodes.size() - 1) : "";
    out += style.line(fmt::format("Rails of {}{}", nodes[0], more), Ink::bold) + text + "\n";
  }
  return out;
}

}  // namespace

std::string text(const ops::IdealDocument& document, const Style& style) {
  std::string out = style.line("Inputs", Ink::bold);
  Table inputs({left(""), "", left("")});
  for (const ideal::NamedInput& input : ideal::list(document.inputs)) {
    std::string value = "unknown";
    if (input.value) {
      value = input.name.ends_with("_Bps") ? exact(BytesPerSecond(*input.value))
                                           : fmt::format("{:.6g}", *input.value);
    }
    std::string origin(key_of(input.origin));
    if (!input.source.empty()) origin += ", " + input.source;
    inputs.row({input.name, value, style.paint(origin, Ink::dim)});
  }
  out += inputs.text(2) + "\n";
  if (document.facts) {
    out += rails_text(*document.facts, style);
    out += style.line("How these follow", Ink::bold);
    for (const std::string& line : document.facts->arithmetic) out += style.fit("  " + line + "\n");
    out += "\n";
  }
  out += style.line("Bound on busbw, for any algorithm", Ink::bold);
  for (const std::string& line : document.ideal.arithmetic) out += style.fit("  " + line + "\n");
  if (!document.ideal.bound) out += "  unknown\n";
  out += "\n";
  out += style.line("Ideal busbw of each algorithm", Ink::bold);
  Table table({left("algorithm"), "ideal", "attainable", left("arithmetic")});
  for (const ideal::AlgorithmIdeal& a : document.ideal.algorithms) {
    table.row(
        {key_of(a.algorithm), exact(a.busbw), exact(a.attainable), style.paint(a.arithmetic, Ink::dim)});
  }
  out += table.text(2);
  if (!document.ideal.in_network.empty()) {
    out += fmt::format("\n{}\n",
                       style.paint("With reduction in the network, which can exceed the bound", Ink::bold));
    Table reduced({left(""), "ideal", left("arithmetic")});
    for (const ideal::InNetwork& a : document.ideal.in_network)
      reduced.row({a.name, exact(a.busbw), style.paint(a.arithmetic, Ink::dim)});
    out += reduced.text(2);
  }
  if (document.facts)
    for (const std::string& note : document.facts->notes) out += style.fit("note: " + note + "\n");
  for (const std::string& note : document.ideal.notes) out += style.fit("note: " + note + "\n");
  return out;
}

std::string counters_text(const std::map<std::string, run::CounterWindow>& counters, std::string_view when,
                          const Style& style) {
  constexpr std::size_t shown = 24;
  std::string out;
  std::size_t lines = 0;
  for (const auto& [node, window] : counters)
    for (const std::string& line : diagnosis::risen(window))
      if (++lines <= shown)
        out += style.line(fmt::format("counters {}: {} {}", when, node, line), Ink::yellow);
  if (lines > shown)
    out += style.line(fmt::format("counters {}: {} more; --json has them", when, lines - shown), Ink::yellow);
  return out;
}

}  // namespace ringtrue::report
