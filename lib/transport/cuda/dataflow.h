// From what the ranks of a collective post (collective/recorder.h) to what their GPUs do: a program of moves
// a rank.
//
// Every receive becomes a move that the receiving rank's GPU makes out of the senders' memory; sends vanish.
// Moves wait for nothing but the bytes they touch: for who wrote what they read, and for who still reads or
// wrote what they overwrite - at any rank. A program begins with an instruction "this rank has come" (its
// input may be read) and ends with one that waits for all who read this rank's buffers.
//
// Each program is in an order in which every rank can play its own from first to last without a deadlock,
// because all of them are parts of one order in which no instruction comes before those that it waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"
#include "transport/cuda/jobs.h"

namespace ringtrue::transport::cuda {

struct Program {
  std::vector<Instruction> instructions;  // [0] begins, the last one ends; both move nothing
  std::vector<Source> sources;
  std::vector<Wait> waits;
};

// An instruction of a rank.
struct Place {
  std::uint32_t rank = 0, instruction = 0;
  auto operator<=>(const Place&) const = default;
};

struct Dataflow {
  std::vector<Program> programs;  // by rank
  std::vector<Place> order;       // all instructions, none before those that it waits for
};

inline constexpr std::size_t max_instructions = 1 << 16;  // of a rank

// The call with slices that suit a GPU: short enough that ranks work at once, long enough that telling each
// other is cheap, and few enough for short programs. One lane: lanes mean nothing here.
collective::Call sliced(collective::Call call, collective::Rank ranks);

// For up to max_ranks ranks. Errors: bad_input for more ranks, for an algorithm whose messages depend on the
// data (omnireduce) and for programs beyond max_instructions; internal for posts that do not meet.
Result<Dataflow> compile(const collective::Algorithm& algorithm, const collective::Layout& layout,
                         const collective::Call& call);

}  // namespace ringtrue::transport::cuda
