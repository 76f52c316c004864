#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace ringtrue::test {

// Values that a test goes through: all of them. Under a sanitizer, where everything takes several times as
// long: every other one, and the last.
template <class Iterator>
std::vector<typename std::iterator_traits<Iterator>::value_type> sample(Iterator begin, Iterator end) {
#ifdef RINGTRUE_SANITIZED
  constexpr std::ptrdiff_t step = 2;
#else
  constexpr std::ptrdiff_t step = 1;
#endif
  std::vector<typename std::iterator_traits<Iterator>::value_type> chosen;
  for (Iterator value = begin; value != end; ++value)
    if ((value - begin) % step == 0 || value + 1 == end) chosen.push_back(*value);
  return chosen;
}

template <class Value>
std::vector<Value> sample(std::initializer_list<Value> values) {
  return sample(values.begin(), values.end());
}

template <class Value, std::size_t size>
std::vector<Value> sample(const Value (&values)[size]) {
  return sample(std::begin(values), std::end(values));
}

}  // namespace ringtrue::test
