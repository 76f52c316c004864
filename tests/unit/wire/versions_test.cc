#include "wire/versions.h"

#include <gtest/gtest.h>

namespace ringtrue::wire {
namespace {

TEST(Versions, OfASeriesWorkTogether) {
  EXPECT_TRUE(compatible({"0.1.0", 9, 9}, {"0.1.17", 9, 9}));
  EXPECT_TRUE(compatible({"0.1.0", 9}, {"0.1.0", 9, 9}));  // that names no oldest one
}

TEST(Versions, NeighboursWorkTogetherWhereTheyShareAProtocol) {
  EXPECT_TRUE(compatible({"0.1.0", 9, 9}, {"0.2.3", 10, 9}));
  EXPECT_TRUE(compatible({"0.2.3", 10, 9}, {"0.1.0", 9}));
  EXPECT_TRUE(compatible({"0.9.1", 12, 11}, {"1.0.0", 13, 12}));
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"0.2.0", 10, 10}));
  EXPECT_FALSE(compatible({"0.1.0", 9}, {"0.1.1", 10}));
}

TEST(Versions, OthersDoNot) {
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"0.3.0", 9, 9}));
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"2.0.0", 9, 9}));
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"", 9, 9}));
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"0.-1.0", 9, 9}));
  EXPECT_FALSE(compatible({"0.1.0", 9, 9}, {"99999999999999.1", 9, 9}));
  EXPECT_TRUE(compatible({"development", 9, 9}, {"development", 9, 9}));
}

TEST(Versions, AMismatchNamesBoth) {
  const Error error = version_mismatch({"0.3.0", 12, 11}, {"0.1.0\x1b[2J", 9, 9});
  EXPECT_EQ(error.cause, Cause::refused);
  EXPECT_EQ(error.what,
            "ringtrued is version 0.3.0 (protocols 11 to 12), the operator's ringtrue is version 0.1.0 [2J "
            "(protocol 9)");
}

}  // namespace
}  // namespace ringtrue::wire
