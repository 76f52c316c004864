// The reduction kernels: what an endpoint does to memory. The instruction set is chosen once, at run time.
//
// Any alignment; zero elements do nothing. Buffers either are the same or do not overlap, except that `into`
// may be `with` or any of the incoming ones.
//
// float16 and bfloat16 are widened to float32, combined there, and rounded once, to nearest even, per call.
// Integers wrap. A NaN on either side makes min and max a NaN (which one of them is not said);
// -0 counts as less than +0. avg reduces as sum; finish() divides, once, at the end.
#pragma once

#include <cstdint>

#include "collective/types.h"

namespace ringtrue::engine {

inline constexpr int reduce_many_limit = 64;

// into = with op incoming
void reduce(collective::Type type, collective::Operation operation, void* into, const void* with,
            const void* incoming, std::uint64_t elements);

// into = into op incoming[0] op ... op incoming[count - 1], from left to right, in one pass over memory;
// 0 <= count <= reduce_many_limit.
void reduce_many(collective::Type type, collective::Operation operation, void* into,
                 const void* const* incoming, int count, std::uint64_t elements);

// into = with op incoming[0] op ...: the same, for a result that starts in another buffer.
void reduce_many(collective::Type type, collective::Operation operation, void* into, const void* with,
                 const void* const* incoming, int count, std::uint64_t elements);

// avg: divides the sum by `ranks` (>= 1): floats by one correctly rounded division (float16 and bfloat16 in
// float32, then rounded to nearest even), integers towards zero. Nothing for the other operations.
void finish(collective::Type type, collective::Operation operation, void* data, std::uint64_t elements,
            int ranks);

// A copy past the cache (non-temporal stores, fenced before it returns), for what this core does not read
// again soon: it saves reading the destination from memory first.
void copy_stream(void* into, const void* from, std::uint64_t bytes);

}  // namespace ringtrue::engine
