// What a kernel is to do: plain structs that the host fills in and a GPU reads, compiled alike by g++
// and nvcc. Lengths and offsets are bytes; every range is whole elements. Addresses are as the GPU sees them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringtrue::transport::cuda {

inline constexpr int max_ranks = 64;  // of a group: a bit each in Instruction::signals

enum class Move : std::uint8_t { nothing, store, reduce, reduce_last };

// Bytes of an element; of those below, `type` and `operation` are as in collective/types.h.
constexpr std::uint32_t size_of_type(std::uint8_t type) {
  return type == 1 || type == 5 ? 8 : type == 2 || type == 3 ? 2 : 4;
}

// One instruction of a rank's program: once every wait is over, into = [with op] source [op source ...]; then
// signal. A rank's blocks share its range out; the last one to finish signals.
struct Instruction {
  std::uint64_t into = 0, with = 0, length = 0;  // offsets in the rank's own spaces
  std::uint64_t signals = 0;  // ranks that wait for this one, the rank itself included: bit r
  std::uint32_t first_source = 0, first_wait = 0;
  std::uint16_t sources = 0, waits = 0;
  std::uint8_t into_space = 0, with_space = 0;  // as collective::Space
  Move move = Move::nothing;                    // reduce: `with` counts; store has exactly one source
};

struct Source {
  std::uint64_t offset = 0;
  std::uint32_t rank = 0, space = 0;
};

// Until `rank` has finished its first `finished` instructions of this call.
struct Wait {
  std::uint32_t rank = 0, finished = 0;
};

// Where a rank's memory is, as seen by another one (or itself).
struct Peer {
  std::byte* space[2] = {};           // data, scratch
  std::uint64_t* progress = nullptr;  // the word in the peer's memory for this rank's progress
};

// Why a rank stopped, in pinned host memory; written by one of its blocks when it sees the abort word.
struct Stop {
  std::uint64_t stopped = 0;  // 1: the others hold
  std::uint32_t instruction = 0;
  std::uint32_t peer = 0;             // who was waited for
  std::uint32_t wanted = 0, had = 0;  // of the peer's instructions
};

// One rank's part in a launch. Lies in device memory, and so does all that it points to, unless said
// otherwise.
struct Work {
  const Instruction* instructions = nullptr;
  const Source* sources = nullptr;
  const Wait* waits = nullptr;
  const Peer* peers = nullptr;              // by rank
  const std::uint64_t* progress = nullptr;  // by rank: what each has signalled to this one
  std::uint32_t* arrived =
      nullptr;  // by instruction: blocks that have finished it, over all calls, where it signals
  std::uint32_t* call = nullptr;      // the number of the call in progress, from 0; the kernel counts it up
  Stop* stop = nullptr;               // host memory
  std::uint32_t count = 0;            // instructions
  std::uint32_t rank = 0, ranks = 1;  // ranks: what avg divides by
};

// One kernel on one GPU: `works` ranks with `blocks` blocks each, all of which must be resident at once.
struct Interpretation {
  const Work* work = nullptr;
  const std::uint32_t* abort = nullptr;  // host memory; not 0: leave
  std::uint32_t works = 0, blocks = 1;
  std::uint8_t type = 0, operation = 0;
  bool system = true;  // whether ranks of other kernels take part; else nothing need be seen beyond this GPU
};

// into = with op source[0] op ...: what a host-driven call does where no peer's memory can be read.
inline constexpr int max_sources = 64;
struct Reduction {
  std::byte* into = nullptr;
  const std::byte* with = nullptr;
  const std::byte* source[max_sources] = {};
  std::uint64_t elements = 0;
  std::uint32_t sources = 0, ranks = 1;
  Move move = Move::reduce;
  std::uint8_t type = 0, operation = 0;
};

// data = table, over and over.
struct Fill {
  std::byte* data = nullptr;
  const std::byte* table = nullptr;
  std::uint64_t elements = 0;
  std::uint32_t period = 1;  // elements of the table
  std::uint32_t size = 4;    // bytes of an element: 2, 4, 8
};

struct Found {
  std::uint64_t count = 0;
  std::uint64_t first = ~std::uint64_t(0);  // index; all ones: none
};

// Compares bit by bit with the table; adds to *found; then overwrites with the poison table, if there is one.
struct Check {
  std::byte* data = nullptr;
  const std::byte* table = nullptr;
  const std::byte* poison = nullptr;  // nullptr: leave the data
  Found* found = nullptr;             // device memory
  std::uint64_t elements = 0;
  std::uint32_t period = 1, size = 4;
};

// Bit k % 32 of word k / 32: whether block k holds a value that is not zero (-0 is zero). All words are
// written.
struct Bitmap {
  const std::byte* data = nullptr;  // aligned to 16 bytes
  std::uint32_t* words = nullptr;
  std::uint64_t elements = 0;
  std::uint32_t block = 1;  // elements
  std::uint8_t type = 0;
};

}  // namespace ringtrue::transport::cuda
