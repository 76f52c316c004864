// Order statistics of a few numbers. Of an even count, the medians differ: which one is meant is said by its
// name.
#pragma once

#include <vector>

namespace ringtrue {

// All: 0 of nothing.
double median(std::vector<double> values);        // of an even count, the mean of the two in the middle
double upper_median(std::vector<double> values);  // the element at size / 2 in rising order
double lower_median(std::vector<double> values);  // the element at (size - 1) / 2 in rising order
// The mean of the middle half, of its upper part where that does not divide: of three and more it
// scatters less than a median, and one that is far too low does not move it.
double middle_mean(std::vector<double> values);
// The element at size * percent / 100 in rising order, for 0 <= percent < 100: nothing is interpolated.
double percentile(std::vector<double> values, int percent);

// So many of so many (at least one), with Wilson's score interval (Wilson 1927) at 95 %, which stays within
// 0..1 and is sound near its ends.
struct Interval {
  double low = 0, high = 0;
};
Interval wilson(long count, long of);

}  // namespace ringtrue
