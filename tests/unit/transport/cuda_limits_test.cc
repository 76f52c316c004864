#include "transport/cuda/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_cuda.h"

namespace ringtrue::transport::cuda {
namespace {

using run::GpuLimit;
using Kind = GpuLimit::Kind;
using test::FakeGpu;
using test::FakeMachine;
using testing::EndsWith;
using testing::HasSubstr;

LimitSettings small() {
  LimitSettings settings;
  settings.bytes = 64 << 10;
  settings.repeats = 3;
  return settings;
}

std::vector<GpuLimit> of(const std::vector<GpuLimit>& all, Kind kind) {
  std::vector<GpuLimit> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const GpuLimit& each) { return each.kind == kind; });
  return found;
}

TEST(CudaLimits, MeasuresEveryGpuAndPair) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}, FakeGpu{}});
  machine.no_access = {{0, 2}};
  const auto driver = machine.process();
  const auto limits = measure_limits(*driver, small(), Deadline::in(Seconds{20}));
  ASSERT_TRUE(limits) << limits.error().text();
  EXPECT_EQ(of(*limits, Kind::to_device).size(), 6u) << "pinned and pageable";
  EXPECT_EQ(of(*limits, Kind::host_both).size(), 3u);
  EXPECT_EQ(of(*limits, Kind::device_copy).size(), 3u);
  for (const Kind kind : {Kind::peer_copy, Kind::peer_both, Kind::peer_read, Kind::peer_write})
    EXPECT_EQ(of(*limits, kind).size(), 6u) << key_of(kind);
  for (const GpuLimit& limit : *limits) {
    const bool direct = limit.kind == Kind::peer_read || limit.kind == Kind::peer_write;
    const bool refused = direct && limit.gpu.index == 0 && limit.peer.index == 2;
    EXPECT_EQ(limit.rate.has_value(), !refused) << key_of(limit.kind);
    if (refused) {
      EXPECT_EQ(limit.why_not, "no peer access from GPU 0 (GPU-0) to GPU 2 (GPU-2)");
    }
    if (limit.kind == Kind::to_device || limit.kind == Kind::peer_copy) {
      EXPECT_TRUE(limit.latency.has_value());
    }
  }
  EXPECT_EQ(machine.alive, 0) << "all is given back";
}

TEST(CudaLimits, HostMemoryLiesOnTheNodeThatWasNamed) {
  FakeMachine machine;
  const auto driver = machine.process();
  LimitSettings settings = small();
  settings.numa_nodes = {0, 1000};
  const auto limits = measure_limits(*driver, settings, Deadline::in(Seconds{20}));
  ASSERT_TRUE(limits);
  for (const GpuLimit& limit : of(*limits, Kind::to_device)) {
    if (limit.numa == 1000) {
      EXPECT_FALSE(limit.rate);
      EXPECT_THAT(limit.why_not, HasSubstr("NUMA node 1000"));
    } else if (limit.numa == 0 && !limit.rate) {
      EXPECT_THAT(limit.why_not, HasSubstr("no memory on NUMA node 0"));  // where mbind is forbidden
    } else {
      EXPECT_TRUE(limit.rate);
    }
  }
}

TEST(CudaLimits, TakesHostMemoryFromAnywhereWhereNoNodeGivesIt) {
  FakeMachine machine;
  const auto driver = machine.process();
  LimitSettings settings = small();
  settings.numa_nodes = {1000, 1001};
  const auto limits = measure_limits(*driver, settings, Deadline::in(Seconds{20}));
  ASSERT_TRUE(limits) << limits.error().text();
  int refused = 0, measured = 0;
  for (const GpuLimit& limit : of(*limits, Kind::to_host)) {
    if (limit.host != GpuLimit::Host::pinned) continue;
    (limit.rate ? measured : refused) += 1;
    EXPECT_EQ(limit.numa < 0, limit.rate.has_value());
  }
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(of(*limits, Kind::host_both).size(), 3u) << "what is refused is in the list";
}

TEST(CudaLimits, GivesHostMemoryBackBeforeThePairs) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  LimitSettings settings = small();
  std::vector<int> alive;
  settings.stop = [&] { return alive.push_back(machine.alive), false; };
  ASSERT_TRUE(measure_limits(*driver, settings, Deadline::in(Seconds{20})));
  EXPECT_EQ(alive.back(), alive.front()) << "what the pairs need is what was there before any host memory";
}

TEST(CudaLimits, KeepsWhatItHasWhenItIsStopped) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  const auto all = measure_limits(*driver, small(), Deadline::in(Seconds{20}));
  ASSERT_TRUE(all);
  LimitSettings settings = small();
  int asked = 0;
  settings.stop = [&] { return ++asked > 20; };
  const auto some = measure_limits(*driver, settings, Deadline::in(Seconds{20}));
  ASSERT_TRUE(some) << some.error().text();
  ASSERT_GE(some->size(), 2u);
  ASSERT_LT(some->size(), all->size());
  for (std::size_t i = 0; i + 1 < some->size(); ++i) EXPECT_TRUE((*some)[i].rate) << i;
  EXPECT_FALSE(some->back().rate);
  EXPECT_EQ(some->back().why_not, "left out, since the measurement was stopped, as were " +
                                      std::to_string(all->size() - some->size()) + " more");
  const auto none = measure_limits(*driver, small(), Deadline::in(Seconds{0}));
  ASSERT_TRUE(none);
  ASSERT_EQ(none->size(), 1u);
  EXPECT_EQ(none->front().why_not,
            "left out, since the time was up, as were " + std::to_string(all->size() - 1) + " more");
  settings.numa_nodes = {0, 1};  // three of each, two of pageable memory, a copy inside; and the pairs'
  const auto nodes = measure_limits(*driver, settings, Deadline::in(Seconds{0}));
  ASSERT_TRUE(nodes);
  EXPECT_THAT(nodes->front().why_not,
              EndsWith("as were " + std::to_string(2 * (2 * 3 + 2 + 1) + 2 * 4 - 1) + " more"));
  EXPECT_EQ(machine.alive, 0) << "all is given back";
}

TEST(CudaLimits, AGpuThatDoesNotEndMissesTheDeadlineAndNoMore) {
  static FakeMachine machine;  // what hangs is kept as long as the process lives
  static const auto driver = machine.process();
  machine.held = true;
  const std::int64_t began = now_ns();
  const auto limits = measure_limits(*driver, small(), Deadline::in(Seconds{0.1}));
  EXPECT_LT(seconds_since(began).value, 10);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().cause, Cause::deadline);
  EXPECT_THAT(limits.error().what, HasSubstr("GPU 0 (GPU-0) did not finish in time"));
  EXPECT_GT(machine.alive, 0) << "nothing is taken from under what still runs";
  machine.held = false;
}

TEST(CudaLimits, PairsReachEachOtherBothWaysBeforeTheyAreMeasured) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  ASSERT_TRUE(measure_limits(*driver, small(), Deadline::in(Seconds{20})));
  EXPECT_EQ(machine.staged, 0) << "copies between GPUs that could have gone straight";
}

TEST(CudaLimits, AWayBackThatIsRefusedExplainsTheCopiesBothWaysAlone) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  machine.not_enabled = {{1, 0}};
  const auto driver = machine.process();
  const auto limits = measure_limits(*driver, small(), Deadline::in(Seconds{20}));
  ASSERT_TRUE(limits) << limits.error().text();
  for (const GpuLimit& limit : *limits) {
    if (limit.peer.index < 0) continue;
    const bool kernel = limit.kind == Kind::peer_read || limit.kind == Kind::peer_write;
    EXPECT_EQ(limit.rate.has_value(), !(kernel && limit.gpu.index == 1))
        << key_of(limit.kind) << " of " << limit.gpu.index;
    const char* const why = limit.gpu.index == 0 && limit.kind == Kind::peer_both
                                ? "back through the host: GPU 1 (GPU-1) has no access to GPU 0"
                            : limit.gpu.index == 1 && kernel ? "GPU 1 (GPU-1) has no access to GPU 0"
                                                             : "";
    EXPECT_EQ(limit.why_not, why) << key_of(limit.kind) << " of " << limit.gpu.index;
  }
}

TEST(CudaLimits, SaysWhatEndsIt) {
  {
    FakeMachine machine(std::vector<FakeGpu>{});
    EXPECT_EQ(measure_limits(*machine.process(), small(), Deadline::never()).error().what, "no NVIDIA GPU");
  }
  FakeMachine machine({FakeGpu{.memory = 100 << 10}});
  EXPECT_THAT(measure_limits(*machine.process(), small(), Deadline::never()).error().what,
              HasSubstr("out of memory"));
  machine.lost = 0;
  EXPECT_EQ(measure_limits(*machine.process(), small(), Deadline::never()).error().cause, Cause::peer_lost);
  LimitSettings none = small();
  none.repeats = 0;
  EXPECT_EQ(measure_limits(*machine.process(), none, Deadline::never()).error().cause, Cause::bad_input);
}

}  // namespace
}  // namespace ringtrue::transport::cuda
