#include "report/table.h"

#include <algorithm>

#include "report/style.h"

namespace ringtrue::report {

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> width(columns_.size());
  bool headers = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    width[c] = display_width(columns_[c].header);
    headers = headers || width[c] > 0;
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
  if (headers) line([&](std::size_t c) { return columns_[c].header; });
  for (const auto& row : rows_) {
    line([&](std::size_t c) { return c < row.size() ? row[c] : std::string(); });
  }
  return out;
}

}  // namespace ringtrue::report
