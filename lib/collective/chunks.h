// Cutting a call's elements into chunks and slices. All cuts are on whole elements and the same on every
// rank.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collective/endpoint.h"

namespace ringtrue::collective {

// Elements [begin, end) of a call.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const Range&) const = default;
};

inline Range whole(const Call& call) {
  return {0, call.elements};
}

// The index-th of `parts` nearly equal parts: the first size % parts of them are one element longer.
constexpr Range part(Range range, std::uint64_t parts, std::uint64_t index) {
  const std::uint64_t each = (range.end - range.begin) / parts, longer = (range.end - range.begin) % parts;
  const std::uint64_t begin = range.begin + index * each + std::min(index, longer);
  return {begin, begin + each + (index < longer ? 1 : 0)};
}

inline Slice slice_of(const Call& call, Range range, Space space = Space::data) {
  const std::uint64_t size = size_of(call.type);
  return {space, range.begin * size, range.size() * size};
}

// How ranges of up to `largest` elements are cut into slices of equal length (the last one may be shorter).
class Slicing {
 public:
  // No more slices than this a range, so that posts and tokens stay bounded: longer ranges get longer slices.
  static constexpr std::uint64_t max_slices = 1024;

  Slicing(const Call& call, std::uint64_t largest, std::uint64_t at_most = max_slices) {
    const std::uint64_t wanted = std::max<std::uint64_t>(call.slice_bytes / size_of(call.type), 1);
    at_most = std::max<std::uint64_t>(at_most, 1);
    each_ = std::max(wanted, largest / at_most + (largest % at_most ? 1 : 0));
    count_ = largest / each_ + (largest % each_ ? 1 : 0);
  }

  std::uint64_t count() const { return count_; }    // slices of the largest range
  std::uint64_t elements() const { return each_; }  // of one slice

  // The k-th slice of `range`; empty past its end.
  Range of(Range range, std::uint64_t k) const {
    const std::uint64_t begin = std::min(range.end, range.begin + k * each_);
    return {begin, std::min(range.end, begin + each_)};
  }

 private:
  std::uint64_t each_ = 1;
  std::uint64_t count_ = 0;
};

// (value mod n) in 0..n-1, for negative values too.
constexpr Rank wrap(std::int64_t value, Rank n) {
  return Rank(((value % n) + n) % n);
}

}  // namespace ringtrue::collective
