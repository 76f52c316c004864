#include "report/text/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "base/units.h"

namespace ringtrue::report {
namespace {

constexpr std::size_t chart_rows = 6;

struct Span {
  double low = 0, high = 1;
};

// Of all that is shown, with some air.
Span span_of(const Chart& chart) {
  Span span{1e300, -1e300};
  const auto add = [&](double v) { span = {std::min(span.low, v), std::max(span.high, v)}; };
  for (const ChartPoint& p : chart.points) add(p.value);
  if (chart.low) add(*chart.low);
  if (chart.high) add(*chart.high);
  if (span.low > span.high) return {};
  const double air = std::max(0.08 * (span.high - span.low), 0.01 * std::abs(span.high));
  return {span.low - air, span.high + air};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string chart_text(const Chart& chart, std::size_t width, const Style& style) {
  if (chart.points.empty()) return "";
  const Span span = span_of(chart);
  const auto value_of = [&](std::size_t row) {  // of its middle; the top row is 0
    return span.high - (double(row) + 0.5) / chart_rows * (span.high - span.low);
  };
  const auto row_of = [&](double value) {
    const double row = (span.high - value) / (span.high - span.low) * chart_rows;
    return std::size_t(std::clamp(row, 0.0, double(chart_rows) - 1));
  };
  std::vector<std::string> labels;
  std::size_t margin = 0;
  for (std::size_t row = 0; row < chart_rows; ++row) {
    labels.push_back(row % 2 == 0 ? to_text(BytesPerSecond(std::max(0.0, value_of(row)))) : "");
    margin = std::max(margin, labels.back().size());
  }
  const std::size_t columns = std::max<std::size_t>(width > margin + 5 ? width - margin - 5 : 0, 10);
  std::vector<std::vector<double>> buckets(columns);
  for (const ChartPoint& p : chart.points)
    buckets[std::size_t(std::clamp(p.at, 0.0, 1.0) * double(columns - 1) + 0.5)].push_back(p.value);
  std::vector<std::string> rows(chart_rows, std::string(columns, ' '));
  if (chart.low && chart.high)
    for (std::size_t row = row_of(*chart.high); row <= row_of(*chart.low); ++row)
      rows[row].assign(columns, '.');
  for (std::size_t column = 0; column < columns; ++column) {
    if (buckets[column].empty()) continue;
    const double value = lower_median(buckets[column]);
    rows[row_of(value)][column] = chart.low && value < *chart.low ? '!' : 'o';
  }
  std::string out;
  for (std::size_t row = 0; row < chart_rows; ++row) {
    std::string line;
    for (const char c : rows[row])
      line += c == '!'   ? style.paint("!", Ink::red)
              : c == '.' ? style.paint(".", Ink::dim)
                         : std::string(1, c);
    while (line.ends_with(' ')) line.pop_back();
    out += fmt::format("  {:>{}} |{}\n", labels[row], margin, line);
  }
  const std::size_t gap =
      columns > chart.left.size() + chart.right.size() ? columns - chart.left.size() - chart.right.size() : 1;
  return out + fmt::format("  {:>{}}  {}{}{}\n", "", margin, chart.left, std::string(gap, ' '), chart.right);
}

std::string chart_svg(const std::vector<ChartPanel>& panels) {
  constexpr double width = 900, height = 220, left = 90, right = 20, top = 34, bottom = 30;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      width, height * double(std::max<std::size_t>(1, panels.size())));
  double above = 0;
  for (const ChartPanel& panel : panels) {
    const Chart& chart = panel.chart;
    const Span span = span_of(chart);
    const auto x = [&](double at) { return left + std::clamp(at, 0.0, 1.0) * (width - left - right); };
    const auto y = [&](double value) {
      return above + top + (span.high - value) / (span.high - span.low) * (height - top - bottom);
    };
    out += fmt::format("<g>\n<text x=\"{}\" y=\"{}\" font-size=\"14\">{}</text>\n", left, above + 20,
                       escaped(panel.title));
    if (chart.low && chart.high)
      out +=
          fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"#d9ead3\"/>\n", left,
                      y(*chart.high), width - left - right, std::max(1.0, y(*chart.low) - y(*chart.high)));
    for (int tick = 0; tick <= 4; ++tick) {
      const double value = span.low + (span.high - span.low) * tick / 4;
      out += fmt::format(
          "<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" stroke=\"#e0e0e0\"/><text x=\"{3}\" "
          "y=\"{4:.1f}\" "
          "text-anchor=\"end\" fill=\"#555555\">{5}</text>\n",
          left, width - right, y(value), left - 6, y(value) + 4,
          escaped(to_text(BytesPerSecond(std::max(0.0, value)))));
    }
    std::string line;
    for (const ChartPoint& p : chart.points) line += fmt::format("{:.1f},{:.1f} ", x(p.at), y(p.value));
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#7a9cc6\"/>\n", line);
    for (const ChartPoint& p : chart.points)
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x(p.at), y(p.value),
                         chart.low && p.value < *chart.low ? "#cc0000" : "#1f4e8c");
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" fill=\"#555555\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\" "
        "fill=\"#555555\">{}</text>\n</g>\n",
        left, above + height - 10, escaped(chart.left), width - right, above + height - 10,
        escaped(chart.right));
    above += height;
  }
  return out + "</svg>\n";
}

}  // namespace ringtrue::report
