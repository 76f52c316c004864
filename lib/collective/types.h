// What is reduced, how, and over whom: the vocabulary shared by algorithms and worlds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::collective {

using Rank = std::int32_t;

enum class Type : std::uint8_t { float32, float64, float16, bfloat16, int32, int64 };
// The algorithms, in the order of algorithms() (algorithm.h).
enum class AlgorithmId : std::uint8_t {
  ring,
  double_tree,
  recursive_doubling,
  halving_doubling,
  hierarchical,
  two_shot,
  one_shot,
  naive,
  pairwise,
  omnireduce,
  barrier,  // of the simulator alone; not among algorithms()
};

enum class Operation : std::uint8_t { sum, prod, min, max, avg };

inline constexpr Type all_types[] = {Type::float32,  Type::float64, Type::float16,
                                     Type::bfloat16, Type::int32,   Type::int64};
inline constexpr Operation all_operations[] = {Operation::sum, Operation::prod, Operation::min,
                                               Operation::max, Operation::avg};

constexpr std::uint64_t size_of(Type type) {
  switch (type) {
    case Type::float16:
    case Type::bfloat16:
      return 2;
    case Type::float32:
    case Type::int32:
      return 4;
    default:
      return 8;
  }
}

Result<Type> parse_type(std::string_view text);
Result<Operation> parse_operation(std::string_view text);

// Which node each rank lives on. Ranks of one node are contiguous for the algorithms that care
// (double-tree's chain, hierarchical); the others work with any placement.
struct Layout {
  std::vector<int> node_of_rank;

  Rank ranks() const { return Rank(node_of_rank.size()); }
  static Layout one_node(Rank ranks) { return {std::vector<int>(std::size_t(ranks), 0)}; }
  static Layout uniform(int nodes, int ranks_per_node);
};

// The roles and the shape of an omnireduce (collective/omnireduce/omnireduce.h). The ranks of a layout are
// the workers first, then the aggregators.
struct Omni {
  Rank workers = 0;  // 0: this call is no omnireduce, and all ranks are workers
  Rank aggregators = 0;
  std::uint32_t block = 256;  // elements
  std::uint32_t streams = 1;  // slots, over all aggregators
  std::uint32_t fusion = 1;   // columns of a stream: blocks in a packet
  bool acked = false;         // every worker answers every round; needed where packets may be lost
  // Instead of blocks, (key, value) pairs of what is not zero: so many in a packet at most. 0: blocks.
  std::uint32_t pairs = 0;
  std::uint32_t key_bytes = 4;  // of a pair: 4 or 8

  bool operator==(const Omni&) const = default;
};

// One allreduce, as all ranks agree on it.
struct Call {
  std::uint64_t elements = 0;
  Type type = Type::float32;
  Operation operation = Operation::sum;
  // Chunks are cut into slices of at most this many bytes, so that receiving, reducing and sending overlap.
  std::uint64_t slice_bytes = 128 * 1024;
  // Slices of one stream are dealt over this many lanes (at least 1); a transport may give each lane a
  // connection of its own. ring, pairwise and halving-doubling use it.
  int lanes = 1;
  // pairwise: rank r sends to r + shift and receives from r - shift (modulo ranks).
  Rank shift = 1;
  Omni omni;
  // Few slices at once stay in the processors' caches: so it is in host memory.
  bool cached = true;

  std::uint64_t bytes() const { return elements * size_of(type); }
  bool operator==(const Call&) const = default;
};

}  // namespace ringtrue::collective

namespace ringtrue {

template <>
inline constexpr const char* keys_of<collective::Type>[] = {"float32",  "float64", "float16",
                                                            "bfloat16", "int32",   "int64"};
template <>
inline constexpr const char* keys_of<collective::AlgorithmId>[] = {
    "ring",     "double-tree", "recursive-doubling", "halving-doubling", "hierarchical", "two-shot",
    "one-shot", "naive",       "pairwise",           "omnireduce",       "barrier"};
template <>
inline constexpr const char* keys_of<collective::Operation>[] = {"sum", "prod", "min", "max", "avg"};

}  // namespace ringtrue
