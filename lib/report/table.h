// Aligned columns.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ringtrue::report {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    Column(const char* of, Align to = Align::right) : header(of), align(to) {}
    Column(std::string of, Align to = Align::right) : header(std::move(of)), align(to) {}

    std::string header;  // of one line or two: "busbw\n(GB/s)"
    Align align;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A row with fewer cells than columns is padded. Cells may be coloured.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Every line indented by `indent`, columns two blanks apart, no blanks at the end of a line. Headers are
  // left out where all are empty.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline Table::Column left(std::string header) {
  return {std::move(header), Table::Align::left};
}

}  // namespace ringtrue::report
