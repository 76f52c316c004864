// Blocks or (key, value) pairs: which of the two takes fewer bytes for given data.
//
// With s bytes a value, k bytes a key, blocks of b values: a block is b s + 4 bytes, a pair s + k. So pairs
// win where less than about s / (s + k) of the values in the blocks that would be sent are not zero: 1/2 of
// float32 or 2/3 of float64 with keys of 4 bytes. What counts is a worker's port: what it sends, and the
// result that it gets, which holds what any worker has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective/sparse.h"
#include "collective/types.h"

namespace ringtrue::collective {

// Appends those of elements [begin, end), which lie in one block, that a worker holds, rising.
using ValuesIn = std::function<void(Rank worker, std::uint64_t begin, std::uint64_t end,
                                    std::vector<std::uint64_t>& elements)>;

// Of generated data, whose pattern is of `block` elements.
ValuesIn values_in(SparsePattern pattern, std::uint32_t block);

// Shares of the blocks and of the values that are not zero, of the densest worker and of all workers' union.
// Of more than 2^25 values a part is looked at, whole blocks at even distances.
struct Held {
  Densities blocks, values;
};
Held held(const ValuesIn& values, std::uint64_t elements, Rank workers, std::uint64_t block);

// The shortest keys that number the elements: 4 or 8 bytes.
std::uint32_t key_bytes_for(std::uint64_t elements);

struct Weighed {
  bool pairs = false;  // they take fewer bytes
  std::string why;     // a line, with both amounts
};
// `call` says elements, type and omni.block. `colocated`: a worker's port also carries the aggregator's
// traffic, so that both directions add up; otherwise the busier one counts.
Weighed weigh(const Held& held, const Call& call, std::uint32_t key_bytes, bool colocated);

}  // namespace ringtrue::collective
