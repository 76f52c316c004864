#include "tui/model/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::tui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> names = {"node1", "node2", "", "node4"};

TEST(Order, NothingTypedIsAllNodesAndTheCommandsOwnValues) {
  const auto order = order_of({}, names);
  ASSERT_TRUE(order);
  EXPECT_THAT(order->nodes, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(check_of(*order).budget);
  const ops::RunRequest usual;
  EXPECT_EQ(run_of(*order).iterations, usual.iterations);
  EXPECT_EQ(sweep_of(*order).size.value, ops::SweepRequest().size.value);
}

TEST(Order, NodesAreNamedOnceInTheirOrder) {
  const auto order = order_of({.nodes = "node4,node[1-2],node4"}, names);
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_THAT(order->nodes, ElementsAre(0, 1, 3));
}

TEST(Order, WhatIsTypedIsCheckedBeforeAnythingStarts) {
  const auto wrong = [](const Task& task) {
    const auto order = order_of(task, names);
    EXPECT_FALSE(order);
    return order ? "" : order.error().text();
  };
  EXPECT_THAT(wrong({.nodes = "node3"}), HasSubstr("node3"));
  EXPECT_THAT(wrong({.nodes = "node[1-"}), HasSubstr("without ']'"));
  EXPECT_THAT(wrong({.nodes = "node1"}), HasSubstr("two nodes"));
  EXPECT_THAT(wrong({.kind = Task::Kind::run, .algorithm = "rnig"}), HasSubstr("did you mean ring"));
  EXPECT_THAT(wrong({.amount = "16 parsecs"}), HasSubstr("16 parsecs"));
  EXPECT_THAT(wrong({.kind = Task::Kind::run, .amount = "1"}), HasSubstr("between 4K and 64G"));
  EXPECT_THAT(wrong({.kind = Task::Kind::sweep, .amount = "65G"}), HasSubstr("between 4K and 64G"));
}

TEST(Order, ARunCostsItsCallsTheBytesOfItsScheduleAndTheirTime) {
  const auto order = order_of({.kind = Task::Kind::run, .algorithm = "ring", .amount = "64K"}, names);
  ASSERT_TRUE(order);
  const Price price = price_of(*order, {.rate = 1e6, .held = "held by nobody"}, names.size());
  EXPECT_EQ(price.what, "run of ring up to 64.0 KiB");
  // Six calls of 64 KiB: each of four nodes sends 2 * 3 / 4 of that.
  EXPECT_EQ(price.cost, "6 calls, at least 1 s, 2.2 MiB on 4 nodes, held by nobody");
  EXPECT_THAT(price_of(*order, {}, names.size()).cost, HasSubstr("time unknown"));
}

TEST(Order, ASweepCostsOneRunAShift) {
  const auto order = order_of({.kind = Task::Kind::sweep, .nodes = "node[1-2]", .amount = "1M"}, names);
  ASSERT_TRUE(order);
  EXPECT_EQ(price_of(*order, {.held = "held by nobody"}, names.size()).cost,
            "1 run, time unknown, 4.0 MiB on 2 nodes, held by nobody");
}

TEST(Order, ACheckOfAllCostsWhatTheLastOneDid) {
  const CostsKnown known{.last = "18 runs, 9 s, 2.3 GiB", .held = "held by nobody"};
  EXPECT_EQ(price_of(*order_of({}, names), known, 4).cost,
            "18 runs, 9 s, 2.3 GiB on 4 nodes, held by nobody");
  EXPECT_EQ(price_of(*order_of({.amount = "40s"}, names), known, 4).cost,
            "up to 50 s of load on 4 nodes, held by nobody");
  EXPECT_EQ(price_of(*order_of({.nodes = "node[1-2]"}, names), known, 4).cost,
            "up to 20 s of load on 2 nodes, held by nobody");
}

}  // namespace
}  // namespace ringtrue::tui
