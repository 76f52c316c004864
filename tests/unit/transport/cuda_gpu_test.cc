// Groups on a real GPU; skipped where there is none.
#include <gtest/gtest.h>

#include "tests/support/gpu_calls.h"
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

  // `ranks` on GPU 0; nullptr: that failed.
  std::unique_ptr<Group> group(Rank ranks, std::uint64_t bytes, Play play = Play::automatic) {
    auto made = test::group_on(*driver_, 0, ranks, bytes, play);
    EXPECT_TRUE(made) << made.error().text();
    return made ? std::move(*made) : nullptr;
  }

  static void expect_right(Group& group, Rank ranks, const Algorithm& algorithm, const Call& call,
                           Calls calls = {}) {
    const auto wrong = test::wrong_of(group, ranks, algorithm, call, calls);
    ASSERT_TRUE(wrong) << algorithm.name << ": " << wrong.error().text();
    ASSERT_EQ(*wrong, 0u) << algorithm.name << ", " << key_of(call.type) << ' ' << key_of(call.operation)
                          << ", " << call.elements << " elements, " << ranks << " ranks";
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

class CudaGpuRanks : public CudaGpu, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CudaGpuRanks, testing::Range(1, 9));

TEST_P(CudaGpuRanks, PlayEveryAlgorithmTypeAndOperation) {
  const auto here = group(GetParam(), 1 << 20);
  ASSERT_TRUE(here);
  for (const Algorithm* algorithm : test::algorithms_on_gpus())
    for (const Type type : collective::all_types)
      for (const Operation operation : collective::all_operations)
        for (const std::uint64_t elements : {0, 1, 1021, 70'001})
          expect_right(*here, GetParam(), *algorithm, call_of(elements, type, operation));
}

// Of a gibibyte, or of what there is room for.
TEST_P(CudaGpuRanks, PlayLargeBuffers) {
  std::uint64_t bytes = 1 << 30;
  const auto room = (*driver_->open(0))->room();
  ASSERT_TRUE(room) << room.error().text();
  while (test::bytes_of_group(GetParam(), bytes) > room->free / 10 * 9) bytes /= 2;
  const auto here = group(GetParam(), bytes);
  ASSERT_TRUE(here);
  for (const Algorithm* algorithm : test::algorithms_on_gpus()) {
    expect_right(*here, GetParam(), *algorithm, call_of(bytes / 4));
    expect_right(*here, GetParam(), *algorithm, call_of(bytes / 2 - 1, Type::bfloat16, Operation::avg));
  }
}

TEST_F(CudaGpu, DrivesCopyEnginesAndReplaysGraphs) {
  const auto driven = group(4, 1 << 20, Play::copy_engines);
  const auto kernel = group(4, 1 << 20);
  ASSERT_TRUE(driven && kernel);
  for (const Algorithm* algorithm : test::algorithms_on_gpus()) {
    expect_right(*driven, 4, *algorithm, call_of(100'003, Type::float16));
    if (algorithm->allreduce)  // the least of the least is the least, however often
      expect_right(*kernel, 4, *algorithm, call_of(257, Type::int32, Operation::min),
                   {.count = 50, .graph = true});
  }
}

TEST_F(CudaGpu, FindsWhatIsWrong) {
  const auto here = group(1, 1 << 20);
  ASSERT_TRUE(here);
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
  ASSERT_TRUE(here);
  const Call call = call_of(16 << 20);
  expect_right(*here, 2, **collective::find_algorithm("ring"), call);
  const auto times = here->run(**collective::find_algorithm("ring"), Layout::one_node(2), call,
                               {.count = 200}, Deadline::in(Seconds{0.002}));
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().cause, Cause::deadline);
}

}  // namespace
}  // namespace ringtrue::transport::cuda
