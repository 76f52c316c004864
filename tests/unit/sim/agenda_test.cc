// What the event engine stands on: events in their order, and memory for millions of things.
#include "sim/agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/mix.h"
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
    for (std::uint64_t i = 0; i < mixed(step) % 4; ++i) {
      const std::uint64_t drawn = mixed(step << 8 | i);
      const double time = now + double(drawn % 8);
      agenda.push(time, Event::Kind::sent, number, drawn % 5 == 0 ? Agenda::no_row : drawn % 7);
      told.emplace_back(time, number++);
    }
    if (agenda.empty() || mixed(~step) % 3 == 0) continue;
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

TEST(Shelf, KeepsThingsWhereTheyAreAndEndsThem) {
  const auto counted = std::make_shared<int>(0);
  {
    Shelf<std::shared_ptr<int>> shelf;
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

TEST(Pool, GivesPiecesOfTheirOwnAndTakesThemBack) {
  Pool pool;
  std::vector<std::pair<unsigned char*, std::size_t>> pieces;
  for (std::size_t i = 0; i < 5000; ++i) {
    const std::size_t bytes = 1 + mixed(i) % Pool::most;
    pieces.emplace_back(static_cast<unsigned char*>(pool.take(bytes)), bytes);
    std::memset(pieces.back().first, int(i % 251), bytes);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto& [piece, bytes] = pieces[i];
    EXPECT_TRUE(std::all_of(piece, piece + bytes, [i](unsigned char c) { return c == i % 251; })) << i;
  }
  pool.give(pieces[0].first, pieces[0].second);
  EXPECT_EQ(pool.take(pieces[0].second), pieces[0].first);
}

}  // namespace
}  // namespace ringtrue::sim
