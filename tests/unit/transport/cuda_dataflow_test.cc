// Programs of moves, played on paper in orders that a GPU might take: ranks and their blocks advance as
// chance has it, held back by the programs' own waits only.
#include "transport/cuda/dataflow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/kernels/reduce.h"
#include "engine/values/values.h"
#include "transport/cuda/bodies.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Operation;
using collective::Rank;
using collective::Type;

Call call_of(std::uint64_t elements, std::uint64_t slice_bytes = 128 << 10) {
  Call call;
  call.elements = elements;
  call.slice_bytes = slice_bytes;
  return call;
}

std::vector<const Algorithm*> recorded() {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : collective::algorithms())
    if (!algorithm.uses_packets()) found.push_back(&algorithm);
  return found;
}

class Player {
 public:
  Player(const Algorithm& algorithm, const Layout& layout, const Call& call, const Dataflow& flow, int blocks)
      : algorithm_(algorithm),
        call_(call),
        flow_(flow),
        blocks_(blocks),
        ranks_(layout.ranks()),
        values_(call.type, call.operation, int(ranks_), 7, call.elements) {
    for (Rank r = 0; r < ranks_; ++r) {
      spaces_.emplace_back(std::array{std::vector<std::byte>(call.bytes() + 16),
                                      std::vector<std::byte>(algorithm.scratch_bytes(layout, r, call) + 16)});
      values_.fill(r, spaces_.back()[0].data(), call.elements);
      at_.emplace_back(std::size_t(blocks), 0);
    }
    finished_.resize(std::size_t(ranks_));
    told_.assign(std::size_t(ranks_), std::vector<std::uint32_t>(std::size_t(ranks_)));
  }

  // False: some block can never go on.
  bool play(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<Rank, int>> left;
    for (Rank r = 0; r < ranks_; ++r)
      for (int b = 0; b < blocks_; ++b) left.emplace_back(r, b);
    while (!left.empty()) {
      std::shuffle(left.begin(), left.end(), random);
      const std::size_t before = left.size();
      bool moved = false;
      for (const auto& [rank, block] : left) {
        // Bursts: a block runs far ahead of the others where nothing holds it.
        for (unsigned burst = random() % 5; burst-- && step(rank, block);) moved = true;
      }
      std::erase_if(left, [&](const auto& each) { return over(each.first, each.second); });
      if (!moved && left.size() == before &&
          std::none_of(left.begin(), left.end(), [&](auto& each) { return step(each.first, each.second); }))
        return false;
    }
    return true;
  }

  std::uint64_t wrong() {
    std::uint64_t count = 0;
    for (Rank r = 0; r < ranks_; ++r) {
      auto* const data = spaces_[std::size_t(r)][0].data();
      const Rank source = (r + ranks_ - call_.shift % ranks_) % ranks_;
      count += algorithm_.allreduce ? values_.check(data, call_.elements, false).count
                                    : values_.check_neighbour(int(source), data, call_.elements, false).count;
    }
    return count;
  }

 private:
  const Program& program(Rank rank) const { return flow_.programs[std::size_t(rank)]; }
  bool over(Rank rank, int block) const {
    return at_[std::size_t(rank)][std::size_t(block)] == program(rank).instructions.size();
  }
  std::byte* address(std::uint32_t rank, std::uint32_t space, std::uint64_t offset) {
    return spaces_[rank][space].data() + offset;
  }

  bool step(Rank rank, int block) {
    if (over(rank, block)) return false;
    std::uint32_t& at = at_[std::size_t(rank)][std::size_t(block)];
    const Instruction& now = program(rank).instructions[at];
    for (std::uint32_t w = 0; w < now.waits; ++w) {
      const Wait& wait = program(rank).waits[now.first_wait + w];
      if (told_[std::size_t(rank)][wait.rank] < wait.finished) return false;
    }
    const std::uint64_t size = size_of(call_.type);
    const Part part = part_of(now.length / size, std::uint32_t(blocks_), std::uint32_t(block));
    const std::uint64_t skip = part.begin * size, elements = part.end - part.begin;
    std::byte* const into = address(std::uint32_t(rank), now.into_space, now.into) + skip;
    std::vector<const void*> from;
    for (std::uint32_t s = 0; s < now.sources; ++s) {
      const Source& source = program(rank).sources[now.first_source + s];
      EXPECT_LE(source.offset + now.length, spaces_[source.rank][source.space].size() - 16);
      from.push_back(address(source.rank, source.space, source.offset) + skip);
    }
    if (now.move == Move::store) {
      if (elements) std::memmove(into, from[0], elements * size);
    } else if (now.move != Move::nothing) {
      engine::reduce_many(call_.type, call_.operation, into,
                          address(std::uint32_t(rank), now.with_space, now.with) + skip, from.data(),
                          int(from.size()), elements);
      if (now.move == Move::reduce_last)
        engine::finish(call_.type, call_.operation, into, elements, int(ranks_));
    }
    ++at;
    auto& blocks = at_[std::size_t(rank)];
    const std::uint32_t finished = *std::min_element(blocks.begin(), blocks.end());
    for (; finished_[std::size_t(rank)] < finished; ++finished_[std::size_t(rank)]) {
      const std::uint64_t tells = program(rank).instructions[finished_[std::size_t(rank)]].signals;
      for (Rank r = 0; r < ranks_; ++r)
        if (tells >> r & 1) told_[std::size_t(r)][std::size_t(rank)] = finished_[std::size_t(rank)] + 1;
    }
    return true;
  }

  const Algorithm& algorithm_;
  const Call& call_;
  const Dataflow& flow_;
  const int blocks_;
  const Rank ranks_;
  engine::Values values_;
  std::vector<std::array<std::vector<std::byte>, 2>> spaces_;
  std::vector<std::vector<std::uint32_t>> at_;  // by rank and block: the next instruction
  std::vector<std::uint32_t> finished_;
  std::vector<std::vector<std::uint32_t>> told_;  // by listener and speaker
};

TEST(CudaDataflow, EveryAlgorithmIsRightHoweverItsRanksAndBlocksAdvance) {
  for (const Algorithm* algorithm : recorded()) {
    for (Rank ranks = 1; ranks <= 8; ++ranks) {
      for (const std::uint64_t elements : {0, 1, 5, 64, 1003}) {
        const Call call = call_of(elements, elements > 500 ? 256 : 64);
        const Layout layout = Layout::one_node(ranks);
        const auto flow = compile(*algorithm, layout, call);
        ASSERT_TRUE(flow) << algorithm->name << ' ' << flow.error().text();
        for (unsigned seed = 0; seed < 4; ++seed) {
          Player player(*algorithm, layout, call, *flow, 1 + int(seed % 3));
          ASSERT_TRUE(player.play(seed)) << algorithm->name << " over " << ranks << " waits for ever";
          if (ranks == 1) continue;
          ASSERT_EQ(player.wrong(), 0u) << algorithm->name << " over " << ranks << ", " << elements;
        }
      }
    }
  }
}

TEST(CudaDataflow, PlayedOverNodesToo) {
  for (const char* name : {"hierarchical", "double-tree"}) {
    const Algorithm& algorithm = **collective::find_algorithm(name);
    for (const Layout& layout : {Layout::uniform(2, 4), Layout::uniform(4, 2), Layout{{0, 0, 0, 1, 1}}}) {
      Call call = call_of(777, 128);
      call.type = Type::int32;
      call.operation = Operation::max;
      const auto flow = compile(algorithm, layout, call);
      ASSERT_TRUE(flow);
      Player player(algorithm, layout, call, *flow, 2);
      ASSERT_TRUE(player.play(3));
      EXPECT_EQ(player.wrong(), 0u) << name;
    }
  }
}

TEST(CudaDataflow, TheCommonOrderHoldsAllThatIsWaitedFor) {
  for (const Algorithm* algorithm : recorded()) {
    const Call call = call_of(3001, 512);
    const auto flow = compile(*algorithm, Layout::one_node(6), call);
    ASSERT_TRUE(flow);
    std::vector<std::uint32_t> finished(6);
    std::size_t count = 0;
    for (const Place& place : flow->order) {
      const Program& program = flow->programs[place.rank];
      EXPECT_EQ(place.instruction, finished[place.rank]++) << "each rank in its own order";
      const Instruction& now = program.instructions[place.instruction];
      for (std::uint32_t w = 0; w < now.waits; ++w) {
        const Wait& wait = program.waits[now.first_wait + w];
        EXPECT_GE(finished[wait.rank], wait.finished) << algorithm->name;
        const Instruction& awaited = flow->programs[wait.rank].instructions[wait.finished - 1];
        EXPECT_TRUE(awaited.signals >> place.rank & 1) << "nobody would tell";
      }
      ++count;
    }
    std::size_t all = 0;
    for (const Program& program : flow->programs) {
      all += program.instructions.size();
      EXPECT_EQ(program.instructions.front().move, Move::nothing);
      EXPECT_EQ(program.instructions.back().move, Move::nothing);
    }
    EXPECT_EQ(count, all);
  }
}

TEST(CudaDataflow, AMissingWaitWouldBeFoundOut) {
  const Algorithm& ring = **collective::find_algorithm("ring");
  const Call call = call_of(4000, 256);
  const Layout layout = Layout::one_node(4);
  auto flow = compile(ring, layout, call);
  ASSERT_TRUE(flow);
  for (Instruction& instruction : flow->programs[2].instructions) instruction.waits = 0;
  std::uint64_t wrong = 0;
  for (unsigned seed = 0; seed < 8; ++seed) {
    Player player(ring, layout, call, *flow, 2);
    player.play(seed);
    wrong += player.wrong();
  }
  EXPECT_GT(wrong, 0u);
}

TEST(CudaDataflow, ProgramsStaySmall) {
  for (const Algorithm* algorithm : recorded()) {
    for (const std::uint64_t bytes : {1ull << 10, 1ull << 20, 1ull << 26, 1ull << 30, 1ull << 34}) {
      const Call call = sliced(call_of(bytes / 4), 8);
      const auto flow = compile(*algorithm, Layout::one_node(8), call);
      ASSERT_TRUE(flow) << algorithm->name << ": " << flow.error().text();
      for (const Program& program : flow->programs)
        EXPECT_LE(program.instructions.size(), 12'000u) << algorithm->name << ", " << bytes;
    }
  }
}

TEST(CudaDataflow, OneShotIsACopyAndASum) {
  const auto flow = compile(**collective::find_algorithm("one-shot"), Layout::one_node(8), call_of(256));
  ASSERT_TRUE(flow);
  for (const Program& program : flow->programs) {
    ASSERT_EQ(program.instructions.size(), 4u);
    EXPECT_EQ(program.instructions[0].signals, 0u) << "nobody waits for a rank that has only come";
    EXPECT_EQ(program.instructions[2].sources, 7);
    EXPECT_EQ(program.instructions[2].move, Move::reduce_last);
  }
}

TEST(CudaDataflow, SaysWhatItCannotPlay) {
  const auto many = compile(**collective::find_algorithm("ring"), Layout::one_node(65), call_of(1));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().what, "65 ranks are more than the 64 that GPUs of a node play");
  const auto omni = compile(**collective::find_algorithm("omnireduce"), Layout::one_node(2), call_of(1));
  ASSERT_FALSE(omni);
  EXPECT_EQ(omni.error().cause, Cause::bad_input);
  const auto fine =
      compile(**collective::find_algorithm("pairwise"), Layout::one_node(2), call_of(1 << 20, 4));
  ASSERT_TRUE(fine);  // slices beyond bounds are made longer by the algorithms themselves
}

}  // namespace
}  // namespace ringtrue::transport::cuda
