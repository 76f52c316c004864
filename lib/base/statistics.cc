#include "base/statistics.h"

#include <algorithm>
#include <cstddef>
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

double percentile(std::vector<double> values, int percent) {
  return values.empty() ? 0 : element(values, values.size() * std::size_t(percent) / 100);
}

}  // namespace ringtrue
