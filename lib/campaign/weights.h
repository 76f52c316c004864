// How often the field sees each kind of fault.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/keys.h"

namespace ringtrue::campaign {

enum class Weights : std::uint8_t {
  field,  // as published statistics of failures have them, as far as they tell kinds apart
  even    // every kind as often as the next
};

// By how much a kind is drawn more often than the mean of all that a source tells of; 1 for others.
double weight_of(std::string_view kind, Weights weights);

}  // namespace ringtrue::campaign

namespace ringtrue {

template <>
inline constexpr const char* keys_of<campaign::Weights>[] = {"field", "even"};

}  // namespace ringtrue
