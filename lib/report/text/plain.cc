#include <fmt/format.h>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {

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
  out += fmt::format("answers from {} of {}\n", answered, plural(document.nodes.size(), "node"));
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
