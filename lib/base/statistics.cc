#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace ringtrue {
namespace {

double element(std::vector<double>& values, std::size_t at) {
  const auto place = values.begin() + std::ptrdiff_t(at);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.size() % 2 == 1 || values.empty()) return upper_median(std::move(values));
  const std::size_t middle = values.size() / 2;
  const double upper = element(values, middle);
  return (*std::max_element(values.begin(), values.begin() + std::ptrdiff_t(middle)) + upper) / 2;
}

double upper_median(std::vector<double> values) {
  return percentile(std::move(values), 50);
}

double lower_median(std::vector<double> values) {
  return values.empty() ? 0 : element(values, (values.size() - 1) / 2);
}

double middle_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t low = (values.size() + 2) / 4, high = values.size() - values.size() / 4;
  return std::accumulate(values.begin() + std::ptrdiff_t(low), values.begin() + std::ptrdiff_t(high), 0.0) /
         double(high - low);
}

double percentile(std::vector<double> values, int percent) {
  return values.empty() ? 0 : element(values, values.size() * std::size_t(percent) / 100);
}

Interval wilson(long count, long of) {
  constexpr double z = 1.959963984540054;  // of a normal distribution's middle 95 %
  const double n = double(of), p = double(count) / n, d = 1 + z * z / n;
  const double middle = (p + z * z / (2 * n)) / d;
  const double half = z / d * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {count == 0 ? 0 : std::max(0.0, middle - half), count == of ? 1 : std::min(1.0, middle + half)};
}

}  // namespace ringtrue
