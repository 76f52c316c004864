#include "probe/event_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

constexpr std::int64_t hour = 3600, day = 24 * hour;
constexpr std::int64_t noon = 1'764'072'000;  // begins a span of five minutes

run::CounterChange rise(std::uint64_t before, std::uint64_t after, const std::string& counter = "link_downed",
                        const std::string& device = "mlx5_0/1") {
  return {device, counter, before, after, false, after < before};
}

class EventLogTest : public testing::Test {
 protected:
  EventLog open(std::int64_t now, std::size_t bytes = EventLog::usual_file_bytes) {
    return EventLog(folder(), now, bytes);
  }
  std::string folder() const { return tree.root() + "/events"; }
  std::uintmax_t bytes() const {
    std::uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) sum += entry.file_size();
    return sum;
  }
  void append(const std::string& text) { std::ofstream(folder() + "/events", std::ios::app) << text; }

  test::SysfsTree tree;  // a folder
};

std::uint64_t total(const run::DeviceEvents& events) {
  std::uint64_t sum = 0;
  for (const run::DeviceEvent& e : events.events) sum += e.count;
  return sum;
}

TEST_F(EventLogTest, TellsTheLastHourAsItWasSeen) {
  EventLog log = open(noon);
  log.add({rise(0, 1)}, noon, noon + 5);
  log.add({rise(1, 3), rise(0, 9, "symbol_error")}, noon + 10, noon + 15);
  const auto told = log.since(noon, noon + 20);
  ASSERT_EQ(told.events.size(), 3u);
  EXPECT_EQ(told.events[0], (run::DeviceEvent{noon, noon + 5, "mlx5_0/1", "link_downed", 1}));
  EXPECT_EQ(told.events[1].count, 2u);
  EXPECT_EQ(told.now, noon + 20);
  EXPECT_EQ(told.watched, noon);
  EXPECT_FALSE(told.cut);
  EXPECT_EQ(log.since(noon + 10, noon + 20).events.size(), 2u);
}

// What was cleared counts from 0 again; what vanished and came back is no rise.
TEST_F(EventLogTest, AResetIsNoHugeRise) {
  EventLog log = open(noon);
  log.add({rise(100, 4)}, noon, noon + 5);
  log.add({rise(100, 0)}, noon + 5, noon + 10);
  EXPECT_EQ(total(log.since(noon, noon + 20)), 4u);
}

TEST_F(EventLogTest, KeepsThirtyDaysThroughRestarts) {
  std::int64_t now = noon;
  for (int restart = 0; restart < 35; ++restart, now += day) {
    EventLog log = open(now);
    log.add({rise(0, 1)}, now, now + 5);
    log.add({rise(1, 2)}, now + 20, now + 25);
  }
  const EventLog log = open(now);
  const auto told = log.since(now - 60 * day, now);
  EXPECT_EQ(told.events.size(), 30u);  // a span a day, summed up
  EXPECT_EQ(total(told), 60u);
  EXPECT_EQ(told.watched, now - 30 * day);
  EXPECT_EQ(total(log.since(now - 3 * day, now)), 6u);
}

// Between memory and disk nothing is told twice, and nothing is lost.
TEST_F(EventLogTest, TellsEachRiseOnce) {
  EventLog log = open(noon);
  std::uint64_t count = 0;
  for (std::int64_t at = noon; at < noon + 5 * hour; at += 7, ++count)
    log.add({rise(count, count + 1)}, at, at + 5);
  const std::int64_t now = noon + 5 * hour;
  EXPECT_EQ(total(log.since(noon, now)), count);
  EXPECT_NEAR(double(total(log.since(now - hour, now))), hour / 7, 2);
  EXPECT_LT(log.since(noon, now).events.size(), 800u);  // older ones by spans
}

TEST_F(EventLogTest, StaysWithinItsBytes) {
  constexpr std::size_t limit = 20'000;
  EventLog log = open(noon, limit);
  std::int64_t at = noon;
  for (int i = 0; i < 3000; ++i, at += 300)
    log.add({rise(0, 1, "symbol_error", "mlx5_" + std::to_string(i % 8) + "/1")}, at, at + 5);
  EXPECT_LE(bytes(), 2 * limit);
  EXPECT_GT(bytes(), limit);
  const auto told = log.since(noon, at);
  EXPECT_GT(told.events.size(), 300u);
  EXPECT_GT(told.watched, noon) << "what was dropped is not said to be known";
  EXPECT_EQ(told.events.back().last, at - 295);
}

// Eight megabytes at most, also with every device of a large machine failing all the time.
TEST_F(EventLogTest, TellsNoMoreThanAReplyHolds) {
  EventLog log = open(noon, 4 << 20);
  std::vector<run::CounterChange> all;
  for (int device = 0; device < 200; ++device)
    all.push_back(rise(0, 1, "symbol_error", "d" + std::to_string(device)));
  std::int64_t at = noon;
  for (int i = 0; i < 1500; ++i, at += 300) log.add(all, at, at + 5);
  EXPECT_LE(bytes(), 8u << 20);
  const auto told = log.since(noon, at);
  EXPECT_EQ(told.events.size(), run::max_device_events);
  EXPECT_TRUE(told.cut);
  EXPECT_EQ(told.events.back().last, at - 295);
}

TEST_F(EventLogTest, WhatACrashCutOffCostsItselfAlone) {
  { open(noon).add({rise(0, 1)}, noon, noon + 5); }
  append("1764072010 17640");
  {
    EventLog log = open(noon + hour);
    log.add({rise(0, 5)}, noon + hour, noon + hour + 5);
  }
  append("rubbish\n\n5 4 a b 1\n");
  EXPECT_EQ(total(open(noon + 2 * hour).since(0, noon + 2 * hour)), 6u);
}

TEST_F(EventLogTest, AClockThatIsSetBackLosesNothing) {
  EventLog log = open(noon);
  log.add({rise(0, 1)}, noon, noon + 5);
  log.add({rise(1, 2)}, noon - day, noon - day + 5);
  log.add({rise(2, 3)}, noon - day + 5, noon - day + 10);
  EXPECT_EQ(total(log.since(noon - 2 * day, noon - day + 20)), 3u);
}

TEST_F(EventLogTest, AFolderThatCannotBeWrittenIsSaid) {
  EventLog log("/proc/ringtrue", noon);
  EXPECT_NE(log.trouble().find("/proc/ringtrue"), std::string::npos);
  log.add({rise(0, 1)}, noon, noon + 5);
  EXPECT_EQ(total(log.since(noon, noon + 5)), 1u);  // in memory all the same
}

// A link in the place of the file is not followed.
TEST_F(EventLogTest, FollowsNoLink) {
  tree.file("/victim", "");
  tree.link("/events/events", "/victim");
  { open(noon).add({rise(0, 1)}, noon, noon + 5); }
  EXPECT_EQ(std::filesystem::file_size(tree.root() + "/victim"), 0u);
}

TEST(ParseEvent, ReadsWhatIsWhole) {
  run::DeviceEvent event;
  ASSERT_TRUE(parse_event("1764100000 1764100012 mlx5_0/1 link_downed 3", event));
  EXPECT_EQ(event, (run::DeviceEvent{1764100000, 1764100012, "mlx5_0/1", "link_downed", 3}));
  for (const char* bad : {"", "1 2 a b", "1 2 a b 0", "2 1 a b 1", "-1 2 a b 1", "1 2 a b 1 ", "1 2 a b 1 c",
                          "1  2 a b", "1 2 a \x1b[m 1", "x 2 a b 1", "1 2 a b 99999999999999999999"})
    EXPECT_FALSE(parse_event(bad, event)) << bad;
}

}  // namespace
}  // namespace ringtrue::probe
