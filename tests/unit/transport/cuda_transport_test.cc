// Groups of ranks on GPUs that are scripted: the real host code, the real kernels' bodies.
#include "transport/cuda/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "engine/values/values.h"
#include "tests/support/fake_cuda.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Operation;
using collective::Rank;
using collective::Type;
using test::FakeGpu;
using test::FakeMachine;
using testing::HasSubstr;

const Deadline soon() {
  return Deadline::in(Seconds{20});
}

Call call_of(std::uint64_t elements, Type type = Type::float32, Operation operation = Operation::sum) {
  Call call;
  call.elements = elements;
  call.type = type;
  call.operation = operation;
  return call;
}

const Algorithm& algorithm(const char* name) {
  return **collective::find_algorithm(name);
}

Settings settings_of(Rank ranks, int gpus, std::uint64_t bytes, Play play = Play::automatic) {
  Settings settings;
  for (Rank r = 0; r < ranks; ++r) settings.seats.push_back({0, int(r) % gpus});
  settings.data_bytes = settings.scratch_bytes = bytes;
  settings.play = play;
  return settings;
}

Result<std::unique_ptr<Group>> group_of(Driver& driver, const Settings& settings) {
  auto group = Group::open(driver, settings);
  if (!group) return group;
  if (auto connected = (*group)->connect({&(*group)->offer(), 1}); !connected)
    return tl::unexpected(connected.error());
  return group;
}

// Elements that came out wrong on the group's ranks `first` to `first + count - 1`.
void put(Group& group, const engine::Values& values, Rank rank, const Call& call) {
  std::vector<std::byte> input(call.bytes());
  values.fill(int(rank), input.data(), call.elements);
  ASSERT_TRUE(group.upload(rank, 0, input, soon()));
}
std::uint64_t wrong(Group& group, const engine::Values& values, Rank rank, Rank ranks,
                    const Algorithm& algorithm, const Call& call) {
  std::vector<std::byte> result(call.bytes());
  const auto got = group.download(rank, 0, result, soon());
  if (!got) return ~std::uint64_t(0);
  return algorithm.allreduce
             ? values.check(result.data(), call.elements, false).count
             : values.check_neighbour(int((rank + ranks - 1) % ranks), result.data(), call.elements, false)
                   .count;
}

// Fills, runs and checks a group of one process.
void expect_right(Group& group, Rank ranks, const Algorithm& algorithm, const Call& call, Calls calls = {}) {
  const engine::Values values(call.type, call.operation, int(ranks), 11, call.elements);
  for (Rank r = 0; r < ranks; ++r) put(group, values, r, call);
  const auto times = group.run(algorithm, Layout::one_node(ranks), call, calls, soon());
  ASSERT_TRUE(times) << algorithm.name << ": " << times.error().text();
  if (ranks == 1) return;
  for (Rank r = 0; r < ranks; ++r)
    ASSERT_EQ(wrong(group, values, r, ranks, algorithm, call), 0u)
        << algorithm.name << ", " << key_of(call.type) << ' ' << key_of(call.operation) << ", "
        << call.elements << " elements, rank " << r << " of " << ranks;
}

// What a call on whatever lies there comes to.
Result<Times> played(Group& group, const char* name, Rank ranks, Deadline deadline = soon()) {
  return group.run(algorithm(name), Layout::one_node(ranks), call_of(100), {}, deadline);
}

// A group in each of two processes, not connected yet.
struct Processes {
  std::vector<std::unique_ptr<Driver>> drivers;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Offer> offers;

  Result<void> open(FakeMachine& machine, Settings settings) {
    for (settings.process = 0; settings.process < 2; ++settings.process) {
      drivers.push_back(machine.process());
      auto group = Group::open(*drivers.back(), settings);
      if (!group) return tl::unexpected(group.error());
      groups.push_back(std::move(*group));
      offers.push_back(groups.back()->offer());
    }
    return {};
  }
};

std::vector<const Algorithm*> recorded() {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : collective::algorithms())
    if (!algorithm.uses_packets()) found.push_back(&algorithm);
  return found;
}

TEST(CudaTransport, EveryAlgorithmTypeAndOperationOnOneGpu) {
  FakeMachine machine;
  const auto driver = machine.process();
  for (Rank ranks = 1; ranks <= 8; ++ranks) {
    auto group = group_of(*driver, settings_of(ranks, 1, 64 << 10));
    ASSERT_TRUE(group) << group.error().text();
    EXPECT_EQ((*group)->choices().play, Play::kernel);
    for (const Algorithm* each : recorded()) {
      for (const std::uint64_t elements : {0, 1, 7, 1021})
        expect_right(**group, ranks, *each, call_of(elements));
      if (ranks != 3 && ranks != 8) continue;
      for (const Type type : collective::all_types)
        for (const Operation operation : collective::all_operations)
          expect_right(**group, ranks, *each, call_of(333, type, operation));
    }
  }
  EXPECT_GT(machine.launches, 0);
}

TEST(CudaTransport, SlicesAreSharedByBlocks) {
  FakeMachine machine({FakeGpu{.resident_blocks = 12}, FakeGpu{.resident_blocks = 12}});
  const auto driver = machine.process();
  const std::uint64_t elements = 300'001;
  auto group = group_of(*driver, settings_of(4, 2, elements * 4));
  ASSERT_TRUE(group);
  EXPECT_EQ((*group)->choices().of(0, 1).way, Way::peer);
  EXPECT_EQ((*group)->choices().of(0, 2).way, Way::same_gpu);
  for (const Algorithm* each : recorded()) expect_right(**group, 4, *each, call_of(elements));
  expect_right(**group, 4, algorithm("two-shot"), call_of(2 * elements, Type::bfloat16, Operation::avg));
}

TEST(CudaTransport, CopyEnginesPlayTheSamePrograms) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  for (const Rank ranks : {2, 3, 6}) {
    auto group = group_of(*driver, settings_of(ranks, 3, 256 << 10, Play::copy_engines));
    ASSERT_TRUE(group);
    EXPECT_EQ((*group)->choices().play, Play::copy_engines);
    EXPECT_EQ((*group)->choices().why, "");
    for (const Algorithm* each : recorded()) {
      expect_right(**group, ranks, *each, call_of(50'000));
      expect_right(**group, ranks, *each, call_of(77, Type::float16, Operation::avg));
    }
  }
  EXPECT_EQ(machine.launches, 0);
  EXPECT_GT(machine.reductions, 0);
}

TEST(CudaTransport, StagesWherePeerAccessIsMissingAndSaysWhy) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}, FakeGpu{}});
  machine.no_access = {{0, 1}, {1, 0}};
  const auto driver = machine.process();
  auto group = group_of(*driver, settings_of(6, 3, 128 << 10));
  ASSERT_TRUE(group);
  const Choices& choices = (*group)->choices();
  EXPECT_EQ(choices.play, Play::copy_engines);
  EXPECT_EQ(choices.of(0, 1).way, Way::staged);
  EXPECT_EQ(choices.of(0, 2).way, Way::peer);
  EXPECT_EQ(choices.of(0, 3).way, Way::same_gpu);
  EXPECT_THAT(choices.why, HasSubstr("cannot read rank"));
  EXPECT_THAT(choices.why, HasSubstr("no peer access from GPU 0 (GPU-0) to GPU 1 (GPU-1)"));
  for (const Algorithm* each : recorded()) {
    expect_right(**group, 6, *each, call_of(30'000));
    expect_right(**group, 6, *each, call_of(99, Type::int64, Operation::max));
  }
  const auto kernel = group_of(*driver, settings_of(6, 3, 1 << 10, Play::kernel));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().cause, Cause::unavailable);
  EXPECT_THAT(kernel.error().what, HasSubstr("no peer access"));
}

TEST(CudaTransport, CopyEnginesPlayWhereBlocksCannotWaitForEachOther) {
  FakeMachine machine({FakeGpu{}, FakeGpu{.cooperative = false}});
  const auto driver = machine.process();
  auto group = group_of(*driver, settings_of(4, 2, 64 << 10));
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_EQ((*group)->choices().play, Play::copy_engines);
  EXPECT_EQ((*group)->choices().why,
            "GPU 1 (GPU-1) does not start all blocks of a kernel at once (no cooperative launch)");
  expect_right(**group, 4, algorithm("ring"), call_of(10'000));
  EXPECT_EQ(machine.launches, 0);
  const auto kernel = group_of(*driver, settings_of(4, 2, 1024, Play::kernel));
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().what, HasSubstr("no cooperative launch"));
}

TEST(CudaTransport, ManyCallsAndReplaysOfAGraph) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  for (const Play play : {Play::kernel, Play::copy_engines}) {
    auto group = group_of(*driver, settings_of(4, 2, 8 << 10, play));
    ASSERT_TRUE(group);
    // min of a min is the same again, however often.
    expect_right(**group, 4, algorithm("ring"), call_of(1001, Type::int32, Operation::min), {.count = 20});
    expect_right(**group, 4, algorithm("two-shot"), call_of(1001, Type::float64, Operation::max),
                 {.count = 20, .graph = play == Play::kernel});
    expect_right(**group, 4, algorithm("two-shot"), call_of(1001), {});  // programs and flags go on
    expect_right(**group, 4, algorithm("ring"), call_of(1001), {});
  }
}

TEST(CudaTransport, FillsAndChecksWithoutCarryingTheData) {
  FakeMachine machine;
  const auto driver = machine.process();
  const std::uint64_t elements = 10'007;
  auto group = group_of(*driver, settings_of(2, 1, elements * 8));
  ASSERT_TRUE(group);
  for (const std::uint32_t size : {2u, 4u, 8u}) {
    std::vector<std::byte> table(4093 * size), poison(4093 * size, std::byte{0xff});
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::byte(i * 7 / size);
    ASSERT_TRUE((*group)->fill(1, table, size, elements, soon()));
    auto found = (*group)->check(1, table, {}, size, elements, soon());
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->count, 0u);
    for (const std::uint64_t at : {5000u, 9999u}) {
      const std::byte other[] = {std::byte{0x5a}};
      ASSERT_TRUE((*group)->upload(1, at * size, other, soon()));
    }
    found = (*group)->check(1, table, poison, size, elements, soon());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count, 2u);
    EXPECT_EQ(found->first, 5000u);
    EXPECT_EQ((*group)->check(1, poison, {}, size, elements, soon())->count, 0u) << "all is poisoned";
  }
}

TEST(CudaTransport, SeveralProcessesReachEachOtherByIpc) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  Settings settings = settings_of(4, 2, 64 << 10);  // even ranks on GPU 0, odd ones on GPU 1
  for (Rank r = 0; r < 4; ++r) settings.seats[std::size_t(r)].process = int(r) % 2;
  Processes all;
  const auto opened = all.open(machine, settings);
  ASSERT_TRUE(opened) << opened.error().text();
  auto& groups = all.groups;
  auto& offers = all.offers;
  for (Offer& offer : offers) {
    const auto bytes = encode(offer);
    ASSERT_LE(bytes.size(), max_offer);
    const auto read = decode(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, offer);
    offer = *read;
  }
  for (auto& group : groups) {
    const auto connected = group->connect(offers);
    ASSERT_TRUE(connected) << connected.error().text();
  }
  EXPECT_EQ(groups[0]->choices().of(0, 1).way, Way::ipc);
  EXPECT_EQ(groups[0]->choices().of(0, 2).way, Way::same_gpu);
  for (const Algorithm* each : recorded()) {
    const Call call = call_of(9'001);
    const engine::Values values(call.type, call.operation, 4, 5, call.elements);
    for (Rank r = 0; r < 4; ++r) put(*groups[std::size_t(r % 2)], values, r, call);
    std::vector<std::thread> processes;
    std::vector<Result<Times>> times(2);
    for (std::size_t p = 0; p < 2; ++p)
      processes.emplace_back(
          [&, p] { times[p] = groups[p]->run(*each, Layout::one_node(4), call, {}, soon()); });
    for (std::thread& process : processes) process.join();
    for (const auto& time : times) ASSERT_TRUE(time) << each->name << time.error().text();
    for (Rank r = 0; r < 4; ++r)
      EXPECT_EQ(wrong(*groups[std::size_t(r % 2)], values, r, 4, *each, call), 0u) << each->name;
  }
}

// What a group of two processes says when it connects.
std::string refusal(FakeMachine& machine, const Settings& settings,
                    const std::function<void(std::vector<Offer>&)>& spoil) {
  Processes all;
  if (auto opened = all.open(machine, settings); !opened) return opened.error().what;
  spoil(all.offers);
  const auto connected = all.groups[0]->connect(all.offers);
  return connected ? "" : connected.error().text();
}

TEST(CudaTransport, ProcessesThatCannotShareMemorySayWhy) {
  Settings settings = settings_of(2, 2, 4096);
  settings.seats[1].process = 1;
  const auto nothing = [](std::vector<Offer>&) {};
  {
    FakeMachine machine({FakeGpu{}, FakeGpu{}});
    EXPECT_EQ(refusal(machine, settings, nothing), "");
    machine.no_ipc = true;
    EXPECT_THAT(refusal(machine, settings, nothing), HasSubstr("cannot share memory of GPU 1 (GPU-1)"));
  }
  {
    FakeMachine machine({FakeGpu{}, FakeGpu{}});
    machine.no_access = {{0, 1}};
    EXPECT_THAT(refusal(machine, settings, nothing), HasSubstr("peer access is not supported"));
  }
  {
    FakeMachine machine;
    settings.seats[1].gpu = 0;
    EXPECT_THAT(refusal(machine, settings, nothing), HasSubstr("two processes share one GPU"));
    EXPECT_THAT(refusal(machine, settings, [](auto& offers) { offers[1].machine = "elsewhere"; }),
                HasSubstr("process 1 does not offer what was agreed"));
    EXPECT_THAT(refusal(machine, settings, [](auto& offers) { offers[1].members[0].data_bytes = 1; }),
                HasSubstr("does not offer what was agreed"));
    EXPECT_THAT(refusal(machine, settings, [](auto& offers) { offers.pop_back(); }),
                HasSubstr("leave out a rank"));
  }
}

TEST(CudaTransport, AKernelThatStandsStillMeetsTheDeadline) {
  static FakeMachine& machine = *new FakeMachine;  // a kernel that ends late is given up, and kept
  machine.stuck_rank = 2;
  const auto driver = machine.process();
  auto group = group_of(*driver, settings_of(4, 1, 4096));
  ASSERT_TRUE(group);
  const auto times = played(**group, "ring", 4, Deadline::in(Seconds{0.2}));
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().cause, Cause::deadline);
  EXPECT_THAT(times.error().what, HasSubstr("on GPU 0 (GPU-0) stood at instruction"));
  EXPECT_THAT(times.error().what, HasSubstr("waited for rank 2 on GPU 0"));
  EXPECT_EQ(played(**group, "ring", 4).error().cause, Cause::internal);
}

TEST(CudaTransport, AKernelThatNeverLeavesCostsTheGroupAndNotTheProcess) {
  static FakeMachine& machine = *new FakeMachine;  // what hangs is kept
  machine.stuck_rank = 1;
  machine.deaf = true;
  const auto driver = machine.process();
  {
    auto group = group_of(*driver, settings_of(2, 1, 4096));
    ASSERT_TRUE(group);
    const auto times = played(**group, "two-shot", 2, Deadline::in(Seconds{0.1}));
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().cause, Cause::deadline);
    EXPECT_THAT(times.error().what, HasSubstr("a kernel does not leave"));
    EXPECT_EQ(times.error().where.device, "GPU 0 (GPU-0)");
  }
  machine.released = true;
}

TEST(CudaTransport, ARunCanBeStopped) {
  static FakeMachine& machine = *new FakeMachine;  // a kernel that ends late is given up, and kept
  machine.stuck_rank = 0;
  const auto driver = machine.process();
  auto group = group_of(*driver, settings_of(2, 1, 4096));
  ASSERT_TRUE(group);
  std::thread operator_of_it([&] { (*group)->abort(); });
  const auto times = played(**group, "ring", 2);
  operator_of_it.join();
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().cause, Cause::cancelled);
}

TEST(CudaTransport, ALostGpuIsNamed) {
  for (const Play play : {Play::kernel, Play::copy_engines}) {
    FakeMachine machine({FakeGpu{}, FakeGpu{}});
    const auto driver = machine.process();
    auto group = group_of(*driver, settings_of(2, 2, 4096, play));
    ASSERT_TRUE(group);
    machine.lost = 1;
    const auto times = played(**group, "ring", 2);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().cause, Cause::peer_lost);
    EXPECT_THAT(times.error().what, HasSubstr("GPU 1 (GPU-1)"));
    EXPECT_THAT(times.error().what, HasSubstr("fallen off the bus"));
  }
}

TEST(CudaTransport, MemoryIsBoundedAndGivenBack) {
  FakeMachine machine({FakeGpu{.memory = 1 << 20}});
  const auto driver = machine.process();
  {
    auto group = group_of(*driver, settings_of(2, 1, 64 << 10));
    ASSERT_TRUE(group);
    for (int i = 0; i < 12; ++i)  // programs of old calls go
      expect_right(**group, 2, algorithm("ring"), call_of(std::uint64_t(1000 + i)));
    EXPECT_LT(machine.used(0), 400u << 10);
  }
  EXPECT_EQ(machine.used(0), 0u);
  EXPECT_EQ(machine.alive, 0);
  const auto large = group_of(*driver, settings_of(2, 1, 600 << 10));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().cause, Cause::unavailable);
  EXPECT_THAT(large.error().what, HasSubstr("out of memory"));
  EXPECT_THAT(large.error().what, HasSubstr("GPU 0 (GPU-0)"));
  machine.no_pinned = true;
  EXPECT_FALSE(group_of(*driver, settings_of(2, 1, 4096)));
  EXPECT_EQ(machine.alive, 0);
}

TEST(CudaTransport, RefusesWhatItCannotPlay) {
  FakeMachine machine({FakeGpu{.resident_blocks = 3}});
  const auto driver = machine.process();
  auto group = group_of(*driver, settings_of(4, 1, 1024));
  ASSERT_TRUE(group);
  const Layout four = Layout::one_node(4);
  const auto error = [&](const char* name, const Layout& layout, const Call& call) {
    const auto times = (*group)->run(algorithm(name), layout, call, {}, soon());
    return times ? std::string() : times.error().what;
  };
  EXPECT_THAT(error("omnireduce", four, call_of(1)), HasSubstr("omnireduce does not run between GPUs"));
  EXPECT_THAT(error("ring", four, call_of(1)), HasSubstr("cannot hold the kernels of 4 ranks"));
}

}  // namespace
}  // namespace ringtrue::transport::cuda
