#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/runner.h"

namespace ringtrue::ops {
namespace {

TEST(ExpiryNotes, AreOfAFewNodesInFullAndOfTheOthersByName) {
  ops::Setup setup;
  setup.insecure = true;  // no certificate of the operator's own
  std::vector<fleet::NodeState> nodes;
  for (int i = 0; i < 6; ++i) {
    fleet::NodeState& node = nodes.emplace_back();
    node.node = "node" + std::to_string(i);
    if (i != 2) node.expiry = "the certificate of " + node.node + " expires in 9 days";
  }
  EXPECT_THAT(expiry_notes(setup, nodes),
              testing::ElementsAre("the certificate of node0 expires in 9 days",
                                   "the certificate of node1 expires in 9 days",
                                   "the certificate of node3 expires in 9 days",
                                   "so do those of node[4-5]: see ringtrue nodes for each"));
  EXPECT_TRUE(expiry_notes(setup, {}).empty());
}

}  // namespace
}  // namespace ringtrue::ops
