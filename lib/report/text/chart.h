// A small chart for terminals: readings over time, beside the band of what is usual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/style.h"

namespace ringtrue::report {

struct ChartPoint {
  double at = 0, value = 0;  // at: 0..1 of the width
};

struct Chart {
  std::vector<ChartPoint> points;
  std::optional<double> low, usual, high;  // of the band
  std::string left, right;                 // below: where the time begins and ends
};

// Six lines and one with times, at most `width` columns: "o" a column's median, "!" one below the band, dots
// the band.
std::string chart_text(const Chart& chart, std::size_t width, const Style& style);

// As a drawing of its own, for a browser.
struct ChartPanel {
  std::string title;
  Chart chart;
};
std::string chart_svg(const std::vector<ChartPanel>& panels);

}  // namespace ringtrue::report
