// Who sends to whom how fast, as a heat map with numbers.
#pragma once

#include <string>
#include <vector>

#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

using RateMatrix = std::vector<std::vector<Maybe>>;  // row sends to column; unknown on the diagonal

struct Gates {
  Maybe expected_Bps;  // unknown: nothing is marked
  double warning = 0.95, critical = 0.85;
};

// Indented by two, headed by "rate, MB/s, rows send to columns". Without colour, cells below the gates carry
// '?' or '!'. Empty where no rate is known.
std::string heat_map(const std::vector<std::string>& nodes, const RateMatrix& rates, const Gates& gates,
                     const Style& style);

// Any square of cells with its rows' and columns' names; long names stand in the rows alone, columns are then
// numbered.
std::string matrix_text(const std::vector<std::string>& nodes,
                        const std::vector<std::vector<std::string>>& cells);

}  // namespace ringtrue::report
