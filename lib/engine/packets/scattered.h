// Values that lie apart in memory, and side by side. Any alignment.
#pragma once

#include <cstdint>
#include <span>

#include "collective/types.h"

namespace ringtrue::engine {

// into[i] = from[element i]; `size` bytes an element: 2, 4 or 8.
void collect(std::uint64_t size, void* into, const void* from, std::span<const std::uint64_t> elements);

// into[element i] = from[i]
void distribute(std::uint64_t size, void* into, std::span<const std::uint64_t> elements, const void* from);

// into[place i] = into[place i] op from[i], as reduce() does it. Places rise.
void combine(collective::Type type, collective::Operation operation, void* into,
             std::span<const std::uint32_t> places, const void* from);

}  // namespace ringtrue::engine
