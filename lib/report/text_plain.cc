#include <fmt/format.h>

#include "report/table.h"
#include "report/text.h"

namespace ringtrue::report {

std::string text(const IdealDocument& document, const Style& style) {
  std::string out = style.paint("Inputs", Ink::bold) + "\n";
  Table inputs({{"", Table::Align::left}, {""}, {"", Table::Align::left}});
  for (const ideal::NamedInput& input : ideal::list(document.inputs)) {
    std::string value = "unknown";
    if (input.value) {
      value = input.name.ends_with("_Bps") ? to_text(BytesPerSecond(*input.value))
                                           : fmt::format("{:.6g}", *input.value);
    }
    std::string origin(ideal::name(input.origin));
    if (!input.source.empty()) origin += ", " + input.source;
    inputs.row({input.name, value, style.paint(origin, Ink::dim)});
  }
  out += inputs.text(2);
  out += "\n";
  out += style.paint("Bound on busbw, whatever the algorithm", Ink::bold) + "\n";
  for (const std::string& line : document.ideal.arithmetic) out += "  " + line + "\n";
  if (!document.ideal.bound) out += "  unknown\n";
  out += "\n";
  out += style.paint("Ideal busbw of each algorithm", Ink::bold) + "\n";
  Table table(
      {{"algorithm", Table::Align::left}, {"ideal"}, {"attainable"}, {"arithmetic", Table::Align::left}});
  for (const ideal::AlgorithmIdeal& a : document.ideal.algorithms) {
    table.row({a.name, a.busbw ? to_text(*a.busbw) : "-", a.attainable ? to_text(*a.attainable) : "-",
               style.paint(a.arithmetic, Ink::dim)});
  }
  for (const ideal::InNetwork& a : document.ideal.in_network) {
    table.row({a.name, to_text(a.busbw), "-", style.paint(a.arithmetic, Ink::dim)});
  }
  out += table.text(2);
  for (const std::string& note : document.ideal.notes) out += "note: " + note + "\n";
  return out;
}

std::string text(const NodesDocument& document, const Style& style) {
  Table table({{"node", Table::Align::left},
               {"state", Table::Align::left},
               {"version", Table::Align::left},
               {"lease", Table::Align::left},
               {"cause", Table::Align::left}});
  std::size_t answered = 0;
  for (const NodeRow& node : document.nodes) {
    answered += node.reachable;
    table.row({node.node, node.reachable ? style.paint("ok", Ink::green) : style.paint("no answer", Ink::red),
               node.version.empty() ? "-" : node.version,
               !node.reachable      ? "-"
               : node.lease.empty() ? "free"
                                    : node.lease,
               node.cause});
  }
  std::string out = table.text();
  out += fmt::format("{} of {} nodes answer\n", answered, document.nodes.size());
  return out;
}

std::string text(const ConfigDocument& document, const Style& style) {
  Table table({{"key", Table::Align::left}, {"value", Table::Align::left}, {"from", Table::Align::left}});
  for (const SettingRow& row : document.settings) {
    table.row({row.key, row.value.empty() ? style.paint("(none)", Ink::dim) : row.value,
               style.paint(row.origin, Ink::dim)});
  }
  return table.text();
}

std::string text(const PkiDocument& document, const Style&) {
  Table table({{"certificate", Table::Align::left},
               {"folder", Table::Align::left},
               {"valid until", Table::Align::left}});
  for (const CertificateRow& row : document.certificates) table.row({row.name, row.folder, row.until});
  return table.text();
}

}  // namespace ringtrue::report
