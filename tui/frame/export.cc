#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tui/frame/table.h"

namespace ringtrue::tui {
namespace {

std::string quoted(const std::string& text, Export format) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"')
      out += format == Export::csv ? "\"\"" : "\\\"";
    else if (c == '\\' && format == Export::json)
      out += "\\\\";
    else
      out += c;
  }
  return out + '"';
}

// A spreadsheet would take it for a formula.
std::string csv_cell(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos;
  return quoted(formula && text.size() > 1 ? "'" + text : text, Export::csv);
}

}  // namespace

std::string exported(const Table& table, Export format) {
  std::string out;
  const Letters letters;
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (!table.columns[c].title.empty()) columns.push_back(c);
  if (format == Export::csv) {
    for (const std::size_t c : columns)
      out.append(c == columns[0] ? "" : ",").append(csv_cell(table.columns[c].title));
    out += "\n";
    for (const Row& row : table.rows) {
      for (const std::size_t c : columns)
        out.append(c == columns[0] ? "" : ",").append(csv_cell(shown(row.cells[c], letters)));
      out += "\n";
    }
    return out;
  }
  if (format == Export::json) {
    out += '[';
    for (const Row& row : table.rows) {
      out += &row == &table.rows[0] ? "\n  {" : ",\n  {";
      for (const std::size_t c : columns) {
        const std::string& name = table.fields[c].empty() ? table.columns[c].title : table.fields[c];
        const Maybe& number = row.numbers[c];
        // In SI units, null where it is not known.
        const std::string value = number && std::isfinite(*number)
                                      ? fmt::format("{:.10g}", *number * table.units[c])
                                  : row.cells[c] == "?" ? "null"
                                                        : quoted(shown(row.cells[c], letters), format);
        out += fmt::format("{}{}: {}", c == columns[0] ? "" : ", ", quoted(name, format), value);
      }
      out += "}";
    }
    return out + (table.rows.empty() ? "]\n" : "\n]\n");
  }
  std::vector<std::size_t> width(table.columns.size());
  for (const std::size_t c : columns) {
    width[c] = columns_of(table.columns[c].title);
    for (const Row& row : table.rows) width[c] = std::max(width[c], columns_of(shown(row.cells[c], letters)));
  }
  const auto line = [&](const auto& cell) {
    std::string text;
    for (const std::size_t c : columns) {
      const std::string content = shown(cell(c), letters);
      const std::string pad(width[c] - columns_of(content), ' ');
      text += (c == columns[0] ? "" : "  ") + (table.columns[c].right ? pad + content : content + pad);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t c) { return table.columns[c].title; });
  for (const Row& row : table.rows) line([&](std::size_t c) { return row.cells[c]; });
  return out;
}

}  // namespace ringtrue::tui
