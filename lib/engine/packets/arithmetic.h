// What aggregating asks of arithmetic, beside reduce.h. Any alignment.
#pragma once

#include <cstdint>

#include "collective/types.h"

namespace ringtrue::engine {

// Fills with the value that changes nothing it is combined with: sum and avg -0.0 (floats; 0 + -0 is 0) or 0,
// prod 1, min and max the infinities or the ends of the integers.
void fill_neutral(collective::Type type, collective::Operation operation, void* into, std::uint64_t elements);

// A reduction over `workers` of which `missing` had nothing but zeros to add, completed: min, max and prod
// combine with zero if any is missing; avg divides by `workers`.
void conclude(collective::Type type, collective::Operation operation, void* data, std::uint64_t elements,
              collective::Rank workers, collective::Rank missing);

}  // namespace ringtrue::engine
