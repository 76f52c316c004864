#include "report/table.h"

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

}  // namespace ringtrue::report
