// Order statistics of a few numbers. Of an even count, the medians differ: which one is meant is said by its
// name.
#pragma once

#include <vector>

namespace ringtrue {

// All: 0 of nothing.
double median(std::vector<double> values);        // of an even count, the mean of the two in the middle
double upper_median(std::vector<double> values);  // the element at size / 2 in rising order
double lower_median(std::vector<double> values);  // the element at (size - 1) / 2 in rising order
// The element at size * percent / 100 in rising order, for 0 <= percent < 100: nothing is interpolated.
double percentile(std::vector<double> values, int percent);

}  // namespace ringtrue
