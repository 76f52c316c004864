// The figures that a GPU is asked for, small, by a scripted one: that all are there, and results are right.
#include "tests/support/gpu_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/fake_cuda.h"

namespace ringtrue::test {
namespace {

using testing::HasSubstr;

FigureSettings small() {
  FigureSettings settings;
  settings.large = 64 << 10;
  settings.medium = 16 << 10;
  settings.repeats = 1;
  settings.ranks = {1, 3};
  return settings;
}

TEST(GpuFigures, AreAllTold) {
  FakeMachine machine;
  const auto driver = machine.process();
  std::map<std::string, Figure> told;
  const auto done = tell_figures(*driver, small(), [&](const Figure& figure) { told[figure.what] = figure; });
  ASSERT_TRUE(done) << done.error().text();
  const std::pair<const char*, const char*> wanted[] = {
      {"reduction, float32 sum", ">= 90 % of the copy"},
      {"reduction, bfloat16 sum", ">= 90 % of the copy"},
      {"host-to-device, pinned", "within 5 % of the loop"},
      {"two-shot, 8 ranks, 64 KiB", ">= 80 % of what its bytes need"},
      {"one-shot, 8 ranks, 1 KiB, replays of a graph", "< 15 us"},
  };
  for (const auto& [what, limit] : wanted) {
    ASSERT_TRUE(told.contains(what)) << what;
    EXPECT_EQ(told[what].wanted, limit);
  }
  for (const int ranks : {1, 3}) {
    const std::string what = std::to_string(ranks) + " rank" + (ranks == 1 ? "" : "s") +
                             ", every algorithm, type and operation, to 64 KiB";
    ASSERT_TRUE(told.contains(what)) << what;
    EXPECT_TRUE(told[what].met) << told[what].measured;
    EXPECT_THAT(told[what].measured, HasSubstr("wrong = 0"));
  }
  EXPECT_EQ(machine.alive, 0);
}

TEST(GpuFigures, HalveTheirBuffersUntilTheyFit) {
  FakeMachine machine({FakeGpu{.memory = 40 << 20}});
  const auto driver = machine.process();
  FigureSettings settings = small();
  settings.large = settings.medium = 32 << 20;
  settings.ranks = {};
  std::set<std::string> told;
  const auto done = tell_figures(*driver, settings, [&](const Figure& figure) { told.insert(figure.what); });
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(told.contains("device copy, 8 MiB")) << "three buffers";
}

TEST(GpuFigures, EndWithTheGpu) {
  FakeMachine machine;
  const auto driver = machine.process();
  machine.lost = 0;
  const auto done = tell_figures(*driver, small(), [](const Figure&) {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().cause, Cause::peer_lost);
}

}  // namespace
}  // namespace ringtrue::test
