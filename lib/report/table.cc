#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/style.h"

namespace ringtrue::report {

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> width(columns_.size());
  std::vector<std::pair<std::string, std::string>>
      headers;  // a column's two lines, the upper one often empty
  bool upper = false, lower = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::string& header = columns_[c].header;
    const std::size_t cut = header.find('\n');
    headers.emplace_back(cut == header.npos ? "" : header.substr(0, cut),
                         cut == header.npos ? header : header.substr(cut + 1));
    width[c] = std::max(display_width(headers[c].first), display_width(headers[c].second));
    upper = upper || !headers[c].first.empty();
    lower = lower || !headers[c].second.empty();
  }
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < std::min(row.size(), width.size()); ++c) {
      width[c] = std::max(width[c], display_width(row[c]));
    }
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string content = cell(c);
      const std::string pad(width[c] - display_width(content), ' ');
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::left ? content + pad : pad + content;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  if (upper) line([&](std::size_t c) { return headers[c].first; });
  if (lower) line([&](std::size_t c) { return headers[c].second; });
  for (const auto& row : rows_) {
    line([&](std::size_t c) { return c < row.size() ? row[c] : std::string(); });
  }
  return out;
}

char mark_of(const Maybe& share, double warning, double critical) {
  return !share || *share >= warning ? ' ' : *share < critical ? '!' : '?';
}

std::string marked(const std::string& text, char mark, const Style& style) {
  return mark == ' ' ? text : style.paint(text + mark, mark == '!' ? Ink::red : Ink::yellow);
}

std::string matrix_text(const std::vector<std::string>& nodes,
                        const std::vector<std::vector<std::string>>& cells) {
  std::size_t max_width = 0;
  for (const std::string& node : nodes) max_width = std::max(max_width, display_width(node));
  const bool numbered = max_width > 8;
  std::vector<Table::Column> columns = {left("")};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    columns.push_back({numbered ? fmt::format("[{}]", i) : nodes[i], Table::Align::right});
  }
  Table table(columns);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> row = {numbered ? fmt::format("[{}] {}", i, nodes[i]) : nodes[i]};
    row.insert(row.end(), cells[i].begin(), cells[i].end());
    table.row(std::move(row));
  }
  return table.text(2);
}

std::string heat_map(const std::vector<std::string>& nodes, const RateMatrix& rates, const Gates& gates,
                     const Style& style) {
  double max = 0;
  for (const auto& row : rates) {
    for (const Maybe& rate : row) max = std::max(max, rate.value_or(0));
  }
  const std::size_t n = nodes.size();
  if (max <= 0 || rates.size() != n) return "";
  const bool giga = max >= 1e9;
  const double unit = giga ? 1e9 : 1e6;
  const auto render = [&](const Maybe& rate) { return rate ? fmt::format("{:.1f}", *rate / unit) : "."; };
  std::size_t width = 0;
  for (const auto& row : rates) {
    for (const Maybe& rate : row) width = std::max(width, render(rate).size());
  }
  bool marked = false;
  std::vector<std::vector<std::string>> cells(n, std::vector<std::string>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < std::min(n, rates[i].size()); ++j) {
      const Maybe& rate = rates[i][j];
      // Padded before it is coloured, so that the whole cell has its background.
      const std::string cell = fmt::format("{:>{}}", render(rate), width);
      const bool judged = rate && gates.expected_Bps && *gates.expected_Bps > 0;
      const double share = judged ? *rate / *gates.expected_Bps : 1;
      if (style.colour) {
        cells[i][j] =
            judged ? style.heat(cell, share, gates.warning, gates.critical) : style.paint(cell, Ink::dim);
      } else {
        const char mark = mark_of(share, gates.warning, gates.critical);
        marked = marked || mark != ' ';
        cells[i][j] = fmt::format("{}{}", cell, mark);
      }
    }
  }
  std::string out =
      fmt::format("rate, {}, rows send to columns\n{}", giga ? "GB/s" : "MB/s", matrix_text(nodes, cells));
  if (marked) {
    out += fmt::format("  ? below {:.0f} %, ! below {:.0f} % of what is expected\n", gates.warning * 100,
                       gates.critical * 100);
  }
  return out;
}

}  // namespace ringtrue::report
