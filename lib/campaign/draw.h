// Draws that are the same on every machine: whole numbers and the four operations (and the square root) of
// IEEE doubles alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/splitmix64.h"

namespace ringtrue::campaign {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(splitmix64(seed)) {}

  std::uint64_t next() { return generator_(); }
  double share() { return double(next() >> 11) * 0x1p-53; }  // 0 to 1, without 1
  double between(double low, double high) { return low + (high - low) * share(); }
  int below(int n) { return int(next() % std::uint64_t(n)); }  // 0 to n - 1
  bool chance(double p) { return share() < p; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[std::size_t(below(int(list.size())))];
  }

  // How many of so many chances come true, each with probability p: binomial where a few are expected, its
  // normal approximation beyond (a sum of twelve shares). A whole number.
  double count(double chances, double p) {
    if (chances * p < 8) {
      // Waiting times are geometric; with few hits expected, going through blocks of chances is as good.
      double hits = 0;
      constexpr int blocks = 256;
      const double in_block = chances * p / blocks;
      for (int i = 0; i < blocks; ++i) hits += chance(in_block);
      return hits;
    }
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += share();
    const double drawn = chances * p + normal * std::sqrt(chances * p * (1 - p));
    return std::min(chances, std::max(0.0, std::floor(drawn + 0.5)));
  }

 private:
  SplitMix64 generator_;
};

// base^n, by squaring.
inline double power(double base, std::uint64_t n) {
  double out = 1;
  for (; n; n /= 2, base *= base)
    if (n % 2) out *= base;
  return out;
}

}  // namespace ringtrue::campaign
