#include "fleet/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "probe/recording.h"
#include "tests/unit/fleet/fake_daemon.h"
#include "topology/json.h"

namespace ringtrue::fleet {
namespace {

using testing::HasSubstr;

std::string recording(const std::string& node, const std::string& kernel) {
  probe::Recording recording;
  recording.node = node;
  recording.files["/proc/sys/kernel/osrelease"] = kernel;
  return probe::write_recording(recording);
}

TEST(Inspect, GivesEachNodeItsFactsOrTheReason) {
  std::vector<std::unique_ptr<FakeDaemon>> daemons;
  std::vector<Target> targets;
  for (int i = 0; i < 6; ++i) {
    daemons.push_back(std::make_unique<FakeDaemon>("node" + std::to_string(i)));
    targets.push_back(daemons.back()->target());
  }
  daemons[0]->tell(recording("other name", "6.1"));
  daemons[1]->tell(recording("node1", "6.2"));
  daemons[2]->script(Phase::inspect, FakeDaemon::Do::error,
                     {Cause::unavailable, "ringtrue-probe is not there", "", ""});
  daemons[3]->tell("{\"schema\": \"something else\"}");
  daemons[4]->tell(topology::to_json({}));
  // 5 is of an older version.
  targets.push_back({"gone", "127.0.0.1", 1, ""});
  const auto nodes = inspect(targets, {}, {}, Seconds(30));
  ASSERT_EQ(nodes.size(), 7u);
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].node, targets[i].node);
  ASSERT_TRUE(nodes[0].facts) << nodes[0].facts.error().text();
  EXPECT_EQ(nodes[0].facts->nodes[0].name, "node0");  // as the operator calls it
  ASSERT_TRUE(nodes[1].facts) << nodes[1].facts.error().text();
  EXPECT_EQ(*nodes[1].facts->nodes[0].system.kernel, "6.2");
  const auto why = [&](int i) { return nodes[std::size_t(i)].facts.error(); };
  EXPECT_EQ(why(2).what, "ringtrue-probe is not there");
  EXPECT_EQ(why(3).cause, Cause::corrupted);
  EXPECT_EQ(why(4).cause, Cause::corrupted);
  EXPECT_THAT(why(5).what, HasSubstr("another version"));
  EXPECT_THAT(why(6).what, HasSubstr("connection refused"));
}

TEST(Inspect, WaitsForNobodyLongerThanItsDeadline) {
  FakeDaemon daemon("a");
  daemon.script(Phase::inspect, FakeDaemon::Do::freeze);
  const std::int64_t began = now_ns();
  const auto nodes = inspect({daemon.target()}, {}, {}, Seconds(0.5));
  EXPECT_LT(seconds_since(began).value, 10);
  ASSERT_EQ(nodes.size(), 1u);
  ASSERT_FALSE(nodes[0].facts);
  EXPECT_EQ(nodes[0].facts.error().cause, Cause::deadline);
  daemon.stop();
}

TEST(Inspect, BringsRecordings) {
  FakeDaemon daemon("a");
  probe::Recording recording;
  recording.node = "a";
  recording.files["/proc/sys/kernel/osrelease"] = "6.1.0";
  daemon.tell(probe::write_recording(recording));
  const auto nodes = inspect({daemon.target()}, {}, {}, Seconds(10));
  ASSERT_TRUE(nodes[0].facts) << nodes[0].facts.error().text();
  EXPECT_EQ(*probe::read_recording(nodes[0].recording), recording);
}

TEST(Inspect, BringsRoutesOrWhyThereAreNone) {
  FakeDaemon daemon("a");
  probe::Recording told;
  told.answers["routes"] = "the tables";
  daemon.tell(probe::write_recording(told));
  EXPECT_EQ(routes_of(daemon.target(), {}, Seconds(10)).value(), "the tables");
  told.answers.clear();
  daemon.tell(probe::write_recording(told));  // as a daemon that knows no routes does
  EXPECT_EQ(routes_of(daemon.target(), {}, Seconds(10)).error().text(),
            "a: its daemon is older and reads no forwarding tables; install this release there");
  told.errors["routes"] = {Cause::unavailable, "no InfiniBand port is active", "", ""};
  daemon.tell(probe::write_recording(told));
  EXPECT_EQ(routes_of(daemon.target(), {}, Seconds(10)).error().text(), "a: no InfiniBand port is active");
  daemon.tell("nonsense");
  EXPECT_EQ(routes_of(daemon.target(), {}, Seconds(10)).error().cause, Cause::corrupted);
  daemon.script(Phase::inspect, FakeDaemon::Do::freeze);
  const std::int64_t began = now_ns();
  EXPECT_EQ(routes_of(daemon.target(), {}, Seconds(0.5)).error().cause, Cause::deadline);
  EXPECT_LT(seconds_since(began).value, 10);
  daemon.stop();
}

TEST(Inspect, AsksMoreNodesThanAtOnce) {
  FakeDaemon daemon("a");
  daemon.tell(recording("a", "6.1"));
  const auto nodes = inspect(std::vector<Target>(300, daemon.target()), {}, {}, Seconds(10));
  for (const auto& node : nodes) EXPECT_TRUE(node.facts) << node.facts.error().text();
}

}  // namespace
}  // namespace ringtrue::fleet
