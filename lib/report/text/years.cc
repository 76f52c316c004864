#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "base/statistics.h"
#include "operator/documents/evaluate.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

// "3 of 200", and as a share with Wilson's interval at 95 %.
std::vector<std::string> year_cells(const ops::YearsDocument::Row& row) {
  if (row.of <= 0) return {row.what, "-", "-", row.wanted};
  const Interval interval = wilson(std::min(row.count, row.of), row.of);
  const double share = double(row.count) / double(row.of);
  return {row.what, fmt::format("{} of {}", row.count, row.of),
          fmt::format("{:.4g} ({:.4g} to {:.4g})", share, interval.low, interval.high), row.wanted};
}

std::string played(const ops::YearsDocument& d) {
  return fmt::format("{} of {} to {} nodes each, {} checks", plural(std::size_t(d.years), "fleet-year"),
                     d.min_nodes, d.max_nodes, d.checks);
}

}  // namespace

std::string text(const ops::YearsDocument& document, const Style& style) {
  Table table({left(""), "count", "share (95 %)", left("wanted")});
  for (const auto& row : document.rows) table.row(year_cells(row));
  return style.fit(document.command + "\n" + played(document) + "\n\n") + table.text();
}

std::string markdown(const ops::YearsDocument& document) {
  std::string out = fmt::format("    {}\n\n{}.\n\n| | count | share (95 %) | wanted |\n|---|---|---|---|\n",
                                document.command, played(document));
  for (const auto& row : document.rows) out += fmt::format("| {} |\n", fmt::join(year_cells(row), " | "));
  return out;
}

}  // namespace ringtrue::report
