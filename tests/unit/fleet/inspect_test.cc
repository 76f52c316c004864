#include "fleet/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/unit/fleet/fake_daemon.h"
#include "topology/format/format.h"
#include "topology/json.h"

namespace ringtrue::fleet {
namespace {

using testing::HasSubstr;

std::string document(const std::string& node, const std::string& kernel, int nodes = 1) {
  topology::Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    topology::Node n;
    n.name = node;
    n.system.kernel = {kernel, topology::origin::system};
    cluster.nodes.push_back(std::move(n));
  }
  return topology::to_json(cluster);
}

TEST(Inspect, GivesEachNodeItsFactsOrTheReason) {
  std::vector<std::unique_ptr<FakeDaemon>> daemons;
  std::vector<Target> targets;
  for (int i = 0; i < 7; ++i) {
    daemons.push_back(std::make_unique<FakeDaemon>("node" + std::to_string(i)));
    targets.push_back(daemons.back()->target());
  }
  daemons[0]->tell(document("other name", "6.1"));
  daemons[1]->tell(document("node1", "6.2"));
  daemons[2]->script("inspect", FakeDaemon::Do::error,
                     {Cause::unavailable, "ringtrue-probe is not there", "", ""});
  daemons[3]->script("inspect", FakeDaemon::Do::freeze);
  daemons[4]->tell("{\"schema\": \"something else\"}");
  daemons[5]->tell(document("node5", "6.1", 2));
  // 6 is of an older version.
  targets.push_back({"gone", "127.0.0.1", 1, ""});
  InspectOptions what;
  what.window = Seconds(0);
  what.deadline = Seconds(2);
  const std::int64_t began = now_ns();
  const auto nodes = inspect(targets, {}, what);
  EXPECT_LT(seconds_since(began).value, 10);
  ASSERT_EQ(nodes.size(), 8u);
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].node, targets[i].node);
  ASSERT_TRUE(nodes[0].facts) << nodes[0].facts.error().text();
  EXPECT_EQ(nodes[0].facts->nodes[0].name, "node0");  // as the operator calls it
  EXPECT_EQ(*nodes[1].facts->nodes[0].system.kernel, "6.2");
  const auto why = [&](int i) { return nodes[std::size_t(i)].facts.error(); };
  EXPECT_EQ(why(2).what, "ringtrue-probe is not there");
  EXPECT_EQ(why(3).cause, Cause::deadline);
  EXPECT_EQ(why(4).cause, Cause::corrupted);
  EXPECT_THAT(why(5).what, HasSubstr("2 nodes instead of one"));
  EXPECT_THAT(why(6).what, HasSubstr("another version"));
  EXPECT_THAT(why(7).what, HasSubstr("connection refused"));
  daemons[3]->stop();
}

TEST(Inspect, BringsRecordings) {
  FakeDaemon daemon("a");
  topology::Recording recording;
  recording.node = "a";
  recording.files["/proc/sys/kernel/osrelease"] = "6.1.0";
  daemon.tell(topology::write_recording(recording));
  InspectOptions what;
  what.recording = true;
  const auto nodes = inspect({daemon.target()}, {}, what);
  ASSERT_TRUE(nodes[0].facts) << nodes[0].facts.error().text();
  EXPECT_EQ(*topology::read_recording(nodes[0].recording), recording);
}

TEST(Inspect, AsksMoreNodesThanAtOnce) {
  FakeDaemon daemon("a");
  daemon.tell(document("a", "6.1"));
  const auto nodes = inspect(std::vector<Target>(300, daemon.target()), {}, {});
  for (const auto& node : nodes) EXPECT_TRUE(node.facts) << node.facts.error().text();
}

}  // namespace
}  // namespace ringtrue::fleet
