// The same on a real GPU; skipped where there is none.
#include <gtest/gtest.h>

#include "engine/values.h"
#include "transport/cuda/load.h"
#include "transport/cuda/transport.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Operation;
using collective::Rank;
using collective::Type;

class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto driver = system_driver();
    if (!driver) GTEST_SKIP() << driver.error().text();
    driver_ = *driver;
  }

  // `ranks` on GPU 0.
  std::unique_ptr<Group> group(Rank ranks, std::uint64_t bytes, Play play = Play::automatic) {
    Settings settings;
    settings.seats.assign(std::size_t(ranks), Seat{});
    settings.data_bytes = settings.scratch_bytes = bytes;
    settings.play = play;
    auto made = Group::open(*driver_, settings);
    EXPECT_TRUE(made) << made.error().text();
    const auto connected = (*made)->connect({&(*made)->offer(), 1});
    EXPECT_TRUE(connected) << connected.error().text();
    return std::move(*made);
  }

  static void expect_right(Group& group, Rank ranks, const Algorithm& algorithm, const Call& call,
                           Calls calls = {}) {
    const engine::Values values(call.type, call.operation, int(ranks), 11, call.elements);
    const Deadline soon = Deadline::in(Seconds{60});
    const std::uint64_t period = std::min(call.elements, engine::Values::period), size = size_of(call.type);
    std::vector<std::byte> table(period * size), result(call.bytes());
    for (Rank r = 0; r < ranks; ++r) {
      values.fill(int(r), table.data(), period);
      const auto filled = group.fill(r, table, std::uint32_t(size), call.elements, soon);
      ASSERT_TRUE(filled) << filled.error().text();
    }
    const auto times = group.run(algorithm, Layout::one_node(ranks), call, calls, soon);
    ASSERT_TRUE(times) << algorithm.name << ": " << times.error().text();
    for (Rank r = 0; r < ranks && ranks > 1; ++r) {
      ASSERT_TRUE(group.download(r, 0, result, soon));
      const auto wrong = algorithm.allreduce ? values.check(result.data(), call.elements, false)
                                             : values.check_neighbour(int((r + ranks - 1) % ranks),
                                                                      result.data(), call.elements, false);
      ASSERT_EQ(wrong.count, 0u) << algorithm.name << ", " << name(call.type) << ' ' << name(call.operation)
                                 << ", " << call.elements << " elements, rank " << r << " of " << ranks;
    }
  }

  static Call call_of(std::uint64_t elements, Type type = Type::float32,
                      Operation operation = Operation::sum) {
    Call call;
    call.elements = elements;
    call.type = type;
    call.operation = operation;
    return call;
  }

  Driver* driver_ = nullptr;
};

TEST_F(CudaGpu, PlaysEveryAlgorithmTypeAndOperation) {
  for (Rank ranks = 1; ranks <= 8; ++ranks) {
    const auto here = group(ranks, 4 << 20);
    for (const Algorithm& algorithm : collective::algorithms()) {
      if (algorithm.uses_packets()) continue;
      for (const std::uint64_t elements : {0, 1, 1021, 1 << 20})
        expect_right(*here, ranks, algorithm, call_of(elements));
      if (ranks != 3 && ranks != 8) continue;
      for (const Type type : collective::all_types)
        for (const Operation operation : collective::all_operations)
          expect_right(*here, ranks, algorithm, call_of(10'007, type, operation));
    }
  }
}

TEST_F(CudaGpu, DrivesCopyEnginesAndReplaysGraphs) {
  const auto driven = group(4, 1 << 20, Play::copy_engines);
  const auto kernel = group(4, 1 << 20);
  for (const Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;
    expect_right(*driven, 4, algorithm, call_of(100'003, Type::float16));
    if (algorithm.allreduce)  // the least of the least is the least, however often
      expect_right(*kernel, 4, algorithm, call_of(257, Type::int32, Operation::min),
                   {.count = 50, .graph = true});
  }
}

TEST_F(CudaGpu, FindsWhatIsWrong) {
  const auto here = group(1, 1 << 20);
  const Deadline soon = Deadline::in(Seconds{20});
  std::vector<std::byte> table(4093 * 4, std::byte{3}), poison(4093 * 4, std::byte{0xff});
  ASSERT_TRUE(here->fill(0, table, 4, 200'000, soon));
  const std::byte other[] = {std::byte{4}};
  for (const std::uint64_t at : {70'000u, 199'999u}) ASSERT_TRUE(here->upload(0, at * 4, other, soon));
  const auto found = here->check(0, table, poison, 4, 200'000, soon);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->count, 2u);
  EXPECT_EQ(found->first, 70'000u);
  EXPECT_EQ(here->check(0, poison, {}, 4, 200'000, soon)->count, 0u);
}

TEST_F(CudaGpu, ADeadlineEndsARun) {
  const auto here = group(2, 64 << 20);
  const Call call = call_of(16 << 20);
  expect_right(*here, 2, **collective::find_algorithm("ring"), call);
  const auto times = here->run(**collective::find_algorithm("ring"), Layout::one_node(2), call,
                               {.count = 200}, Deadline::in(Seconds{0.002}));
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().cause, Cause::deadline);
}

}  // namespace
}  // namespace ringtrue::transport::cuda
