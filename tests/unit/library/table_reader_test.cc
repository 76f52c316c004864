// Reading forwarding tables over a wire that loses, repeats, delays and lies.
#include "probe/library/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace ringtrue::probe::tables {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

std::uint8_t port_of(int at, int lid) {
  return std::uint8_t(1 + (at * 5 + lid) % 40);
}

// Answers in turn, each after a tenth of a millisecond; time stands still but while somebody waits.
class ScriptedWire : public BlockWire {
 public:
  std::set<int> dead;                  // switches
  std::map<int, int> status;           // by switch, of all its answers
  std::set<std::pair<int, int>> lost;  // switch and block
  bool twice = false, broken = false, unsendable = false;
  double pace = 1e-4;
  int most_at_once = 0, asked = 0;
  std::map<int, int> most_of_switch, asked_of;

  Result<std::uint32_t> ask(int at, int block) override {
    ++asked;
    ++asked_of[at];
    if (unsendable) return fail(Cause::unavailable, "the question could not be sent");
    const auto question = std::uint32_t(1000 + asked);
    open_.push_back({question, at, block});
    most_at_once = std::max(most_at_once, int(open_.size()));
    const auto of_switch =
        std::count_if(open_.begin(), open_.end(), [&](const auto& o) { return o.at == at; });
    most_of_switch[at] = std::max(most_of_switch[at], int(of_switch));
    return question;
  }

  Result<std::optional<BlockAnswer>> next(Seconds wait) override {
    if (broken) return fail(Cause::unavailable, "umad failed: Input/output error");
    if (!again_.empty()) {
      const BlockAnswer answer = again_.front();
      again_.pop_front();
      return answer;
    }
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& o) {
      return !dead.contains(o.at) && !lost.contains({o.at, o.block});
    });
    if (found == open_.end() || wait.value < pace) {
      now_ += wait.value + 1e-6;
      // What is not answered in time is not on its way any more.
      open_.erase(std::remove_if(open_.begin(), open_.end(),
                                 [&](const Open& o) {
                                   return dead.contains(o.at) || lost.contains({o.at, o.block});
                                 }),
                  open_.end());
      return std::nullopt;
    }
    now_ += pace;
    BlockAnswer answer;
    answer.question = found->question;
    answer.status = status.contains(found->at) ? status[found->at] : 0;
    for (int i = 0; i < lids_a_block; ++i)
      answer.ports[std::size_t(i)] = port_of(found->at, found->block * lids_a_block + i);
    open_.erase(found);
    if (twice) again_.push_back(answer);
    return answer;
  }

  Seconds now() override { return Seconds(now_); }

 private:
  struct Open {
    std::uint32_t question;
    int at, block;
  };
  std::deque<Open> open_;
  std::deque<BlockAnswer> again_;
  double now_ = 100;
};

std::vector<int> lids_up_to(int last) {
  std::vector<int> lids;
  for (int lid = 1; lid <= last; ++lid) lids.push_back(lid);
  return lids;
}

std::vector<Table> tables_of(int switches, int top) {
  std::vector<Table> out(static_cast<std::size_t>(switches));
  for (Table& table : out) {
    table.top = top;
    table.blocks = blocks_of(lids_up_to(top), top);
  }
  return out;
}

void expect_right(const Table& table, int at, int last) {
  ASSERT_GT(int(table.out.size()), last);
  for (int lid = 1; lid <= last; ++lid) ASSERT_EQ(table.out[std::size_t(lid)], port_of(at, lid)) << lid;
}

TEST(Blocks, GoUpToTheOneWithTheHighestLid) {
  EXPECT_THAT(blocks_of(lids_up_to(63), 63), ElementsAre(0));
  EXPECT_THAT(blocks_of(lids_up_to(64), 64), ElementsAre(0, 1));  // where dump_fts leaves out the last
  EXPECT_THAT(blocks_of(lids_up_to(65), 65), ElementsAre(0, 1));
  EXPECT_EQ(blocks_of(lids_up_to(1088), 1088).size(), 18u);
  EXPECT_EQ(blocks_of(lids_up_to(49151), 49151).size(), 768u);
  EXPECT_EQ(blocks_of(lids_up_to(49151), 65535).size(), 768u);  // multicast begins there
}

TEST(Blocks, HoldWantedLidsAndNoOthers) {
  EXPECT_THAT(blocks_of({1, 2, 700, 49151}, 49151), ElementsAre(0, 10, 767));
  EXPECT_THAT(blocks_of({1, 2, 700}, 100), ElementsAre(0));  // above its top a switch has no rows
  EXPECT_THAT(blocks_of({}, 100), IsEmpty());
  EXPECT_THAT(blocks_of({0}, 0), ElementsAre(0));
}

TEST(Tables, AreReadManyAtOnceWithinBounds) {
  ScriptedWire wire;
  auto tables = tables_of(64, 1088);
  read_tables(wire, tables, {});
  EXPECT_EQ(wire.asked, 64 * 18);
  EXPECT_EQ(wire.most_at_once, Limits().at_once);
  for (int at = 0; at < 64; ++at) {
    EXPECT_EQ(tables[std::size_t(at)].missing, 0u);
    EXPECT_LE(wire.most_of_switch[at], Limits().of_switch);
    expect_right(tables[std::size_t(at)], at, 1088);
  }
}

TEST(Tables, ASilentSwitchCostsItselfAlone) {
  ScriptedWire wire;
  wire.dead = {3};
  auto tables = tables_of(8, 1000);
  read_tables(wire, tables, {});
  EXPECT_EQ(wire.asked_of[3], 2);  // given up
  EXPECT_EQ(tables[3].missing, tables[3].blocks.size());
  EXPECT_EQ(tables[3].why, "no answer");
  EXPECT_THAT(tables[3].out, Each(unknown_port));
  for (int at = 0; at < 8; ++at)
    if (at != 3) expect_right(tables[std::size_t(at)], at, 1000);
}

TEST(Tables, ManySilentSwitchesDoNotWaitInARow) {
  ScriptedWire wire;
  for (int at = 0; at < 100; ++at) wire.dead.insert(at);
  auto tables = tables_of(120, 640);
  const double began = wire.now().value;
  read_tables(wire, tables, {});
  EXPECT_LT(wire.now().value - began, 10);
  for (int at = 100; at < 120; ++at) expect_right(tables[std::size_t(at)], at, 640);
}

TEST(Tables, ALostBlockIsUnknownAndNoMore) {
  ScriptedWire wire;
  wire.lost = {{1, 2}};
  auto tables = tables_of(3, 300);
  read_tables(wire, tables, {});
  EXPECT_EQ(tables[1].missing, 1u);
  EXPECT_EQ(tables[1].out[127], port_of(1, 127));
  EXPECT_EQ(tables[1].out[128], unknown_port);
  EXPECT_EQ(tables[1].out[191], unknown_port);
  EXPECT_EQ(tables[1].out[192], port_of(1, 192));
}

TEST(Tables, ARefusalHasItsStatus) {
  ScriptedWire wire;
  wire.status[0] = 0xc;
  auto tables = tables_of(2, 300);
  read_tables(wire, tables, {});
  EXPECT_EQ(tables[0].why, "refused with status 0xc");
  EXPECT_EQ(wire.asked_of[0], 2);
  expect_right(tables[1], 1, 300);
}

TEST(Tables, WhatComesTwiceCountsOnce) {
  ScriptedWire wire;
  wire.twice = true;
  auto tables = tables_of(4, 500);
  read_tables(wire, tables, {});
  for (int at = 0; at < 4; ++at) {
    EXPECT_EQ(tables[std::size_t(at)].missing, 0u);
    expect_right(tables[std::size_t(at)], at, 500);
  }
}

TEST(Tables, AllTogetherHaveADeadline) {
  ScriptedWire wire;
  wire.pace = 0.02;
  auto tables = tables_of(100, 49151);
  Limits limits;
  limits.total = Seconds(3);
  const double began = wire.now().value;
  read_tables(wire, tables, limits);
  EXPECT_LT(wire.now().value - began, 3.2);
  for (const Table& table : tables) {
    EXPECT_GT(table.missing, 0u);
    EXPECT_EQ(table.why, "not within 3 s for the whole fabric");
  }
}

TEST(Tables, AWireThatBreaksEndsIt) {
  ScriptedWire wire;
  wire.broken = true;
  auto tables = tables_of(2, 300);
  read_tables(wire, tables, {});
  EXPECT_EQ(tables[1].why, "umad failed: Input/output error");
  wire.unsendable = true;
  tables = tables_of(2, 300);
  read_tables(wire, tables, {});
  EXPECT_EQ(tables[0].why, "the question could not be sent");
}

TEST(Tables, WithoutSwitchesOrBlocksNothingIsAsked) {
  ScriptedWire wire;
  std::vector<Table> none;
  read_tables(wire, none, {});
  std::vector<Table> empty(3);
  read_tables(wire, empty, {});
  EXPECT_EQ(wire.asked, 0);
  EXPECT_EQ(empty[0].missing, 0u);
}

TEST(Tables, KeepWhatIsForHostsAlone) {
  Table table;
  table.top = 5;
  table.out = {0, 1, 2, no_port, 253, 0, 7, 8};
  keep_only({1, 3, 4, 5, 6, 100}, table);
  // 253 is no port; above its top a switch discards, by the specification.
  ASSERT_EQ(table.out.size(), 101u);
  EXPECT_EQ(table.out[0], unknown_port);
  EXPECT_EQ(table.out[1], 1);
  EXPECT_EQ(table.out[2], unknown_port);
  EXPECT_EQ(table.out[3], no_port);
  EXPECT_EQ(table.out[4], unknown_port);
  EXPECT_EQ(table.out[5], 0);
  EXPECT_EQ(table.out[6], no_port);
  EXPECT_EQ(table.out[7], unknown_port);
  EXPECT_EQ(table.out[100], no_port);
}

}  // namespace
}  // namespace ringtrue::probe::tables
