// Comparing arrays by value; internal to the values_*.cc files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/types.h"
#include "engine/values/values.h"

namespace ringtrue::engine {

// Adds to `found` the elements of `got` that differ from `right`; the first of the arrays is element `first`.
// Zeros are equal whatever their sign; a NaN equals only its own bits.
void compare_values(collective::Type type, const std::byte* got, const std::byte* right,
                    std::uint64_t elements, std::uint64_t first, Mismatch& found);

inline void note_wrong(Mismatch& found, std::uint64_t element) {
  if (found.count++ == 0) found.first = element;
}

}  // namespace ringtrue::engine
