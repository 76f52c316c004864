// Aligned columns, and who sends to whom how fast as a heat map with numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/documents.h"
#include "report/style.h"

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

using RateMatrix = std::vector<std::vector<Maybe>>;  // row sends to column; unknown on the diagonal

struct Gates {
  Maybe expected_Bps;  // unknown: nothing is marked
  double warning = 0.95, critical = 0.85;
};

// '!' of a share that is critical, '?' of one to warn of, ' ' of any other and where it is unknown.
char mark_of(const Maybe& share, double warning, double critical);
// The text with its mark behind it, in the mark's colour.
std::string marked(const std::string& text, char mark, const Style& style);

// Indented by two, headed by "rate, MB/s, rows send to columns". Without colour, cells below the gates carry
// '?' or '!'. Empty where no rate is known.
std::string heat_map(const std::vector<std::string>& nodes, const RateMatrix& rates, const Gates& gates,
                     const Style& style);

// Any square of cells with its rows' and columns' names; long names stand in the rows alone, columns are then
// numbered.
std::string matrix_text(const std::vector<std::string>& nodes,
                        const std::vector<std::vector<std::string>>& cells);

}  // namespace ringtrue::report
