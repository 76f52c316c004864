#include "metrics/process.h"

#include <gtest/gtest.h>
#include <time.h>

#include <map>

namespace ringtrue::metrics {
namespace {

TEST(Process, TellsOfItself) {
  std::map<std::string, double> told;
  for (const Family& family : process_families())
    for (const Sample& sample : family.samples) told[family.name] = sample.value;
  EXPECT_EQ(told.size(), 4u);
  EXPECT_GT(told["process_cpu_seconds_total"], 0);
  EXPECT_GT(told["process_resident_memory_bytes"], 1e5);
  EXPECT_GE(told["process_open_fds"], 3);
  EXPECT_LT(told["process_open_fds"], 1000);
  EXPECT_NEAR(told["process_start_time_seconds"], double(::time(nullptr)), 60);
}

// Prometheus takes a process whose start has moved for another one.
TEST(Process, ItsStartStays) {
  const auto start = [] { return process_families().back().samples.at(0).value; };
  const double before = start();
  EXPECT_EQ(start(), before);
}

}  // namespace
}  // namespace ringtrue::metrics
