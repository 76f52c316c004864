// A run's text in pieces, as its sizes are measured.
#pragma once

#include <cstddef>
#include <string>

#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

class RunLines {
 public:
  // `live`: columns have the width that later rows may need, and one unit for all.
  explicit RunLines(const Style& style, bool live = false) : style_(style), live_(live) {}
  // What is new since the last call: what it is, the table's header, rows.
  std::string next(const ops::RunDocument& document);
  // All else, and rows that were not asked for; the end.
  std::string rest(const ops::RunDocument& document);

 private:
  const Style& style_;
  const bool live_;
  std::size_t rows_ = 0, choices_ = 0;  // results and choices that were told
  std::size_t lines_ = 0;               // of the table
  bool giga_ = false;                   // its unit, from the first rows on
};

}  // namespace ringtrue::report
