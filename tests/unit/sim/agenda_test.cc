// What the event engine stands on: events in their order, and memory for millions of things.
#include "sim/agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/splitmix64.h"
#include "sim/index.h"

namespace ringtrue::sim {
namespace {

// Times that collide often, of rows that are told in order and of rows that are not.
TEST(Agenda, GivesEventsByTimeAndThenAsTheyWereTold) {
  Agenda agenda;
  std::vector<std::pair<double, std::uint32_t>> told;
  std::uint32_t number = 0;
  double now = 0;
  std::vector<std::pair<double, std::uint32_t>> seen;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    for (std::uint64_t i = 0; i < splitmix64(step) % 4; ++i) {
      const std::uint64_t drawn = splitmix64(step << 8 | i);
      const double time = now + double(drawn % 8);
      agenda.push(time, Event::Kind::sent, number, drawn % 5 == 0 ? Agenda::no_row : drawn % 7);
      told.emplace_back(time, number++);
    }
    if (agenda.empty() || splitmix64(~step) % 3 == 0) continue;
    now = agenda.next_time();
    const Event event = agenda.pop();
    EXPECT_EQ(event.time, now);
    seen.emplace_back(event.time, event.index);
  }
  while (!agenda.empty()) {
    const Event event = agenda.pop();
    seen.emplace_back(event.time, event.index);
  }
  EXPECT_EQ(agenda.size(), 0u);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(seen, told);
}

TEST(StableVector, KeepsThingsWhereTheyAreAndEndsThem) {
  const auto counted = std::make_shared<int>(0);
  {
    StableVector<std::shared_ptr<int>> shelf;
    std::vector<const std::shared_ptr<int>*> places;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
      shelf.add() = counted;
      places.push_back(&shelf[i]);
    }
    for (std::uint32_t i = 0; i < shelf.size(); i += 997) EXPECT_EQ(places[i], &shelf[i]) << i;
    EXPECT_EQ(std::set<const void*>(places.begin(), places.end()).size(), places.size());
    EXPECT_EQ(counted.use_count(), 100'001);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace ringtrue::sim
