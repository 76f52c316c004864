// Which way bytes go, and what processes offer each other.
#include "transport/cuda/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/cuda/offer.h"

namespace ringtrue::transport::cuda {
namespace {

using testing::HasSubstr;

TEST(CudaWays, OfOnePair) {
  EXPECT_EQ(choose({.same_gpu = true}).way, Way::same_gpu);
  EXPECT_EQ(choose(Pair{}).way, Way::peer);
  EXPECT_EQ(choose({.same_process = false}).way, Way::ipc);
  const Choice staged = choose({.refused = "no peer access"});
  EXPECT_EQ(staged.way, Way::staged);
  EXPECT_EQ(staged.why, "no peer access");
  const Choice turns = choose({.same_process = false, .same_gpu = true});
  EXPECT_EQ(turns.way, Way::staged);
  EXPECT_THAT(turns.why, HasSubstr("take turns"));
}

TEST(CudaWays, OfAGroup) {
  std::vector<Pair> pairs{{.reader = 0, .owner = 1}, {.reader = 1, .owner = 0}};
  auto all = choose(pairs, 2, Play::automatic);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->play, Play::kernel);
  EXPECT_EQ(all->why, "");
  EXPECT_EQ(all->of(0, 1).way, Way::peer);
  EXPECT_EQ(all->of(1, 1).way, Way::same_gpu);
  EXPECT_EQ(choose(pairs, 2, Play::copy_engines)->play, Play::copy_engines);

  pairs[1].refused = "behind another root complex";
  all = choose(pairs, 2, Play::automatic);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->play, Play::copy_engines);
  EXPECT_EQ(all->why, "rank 1 cannot read rank 0's GPU memory: behind another root complex");
  const auto kernel = choose(pairs, 2, Play::kernel);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().what, all->why);

  pairs[1].refused.clear();
  all = choose(pairs, 2, Play::automatic, "no such launch");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->play, Play::copy_engines);
  EXPECT_EQ(all->why, "no such launch");
  EXPECT_EQ(all->of(0, 1).way, Way::peer);
  EXPECT_EQ(choose(pairs, 2, Play::kernel, "no such launch").error().what, "no such launch");
  pairs[1].refused = "behind another root complex";

  // Between processes there is nothing but direct access here.
  for (Pair& pair : pairs) pair.same_process = false;
  EXPECT_EQ(choose(pairs, 2, Play::automatic).error().cause, Cause::unavailable);
  EXPECT_THAT(choose(pairs, 2, Play::copy_engines).error().what, HasSubstr("one process only"));
  for (Pair& pair : pairs) pair.refused.clear();
  EXPECT_EQ(choose(pairs, 2, Play::automatic)->of(1, 0).way, Way::ipc);
  EXPECT_EQ(choose(pairs, 2, Play::automatic, "no such launch").error().what, "no such launch");
}

TEST(CudaOffer, IsReadAsItWasWritten) {
  Offer offer;
  offer.process = 3;
  offer.machine = "8b7c";
  offer.members.resize(2);
  offer.members[0].rank = 5;
  offer.members[0].gpu = "GPU-1";
  offer.members[0].handle[7] = std::byte{9};
  offer.members[0].data_bytes = 1ull << 40;
  offer.members[1].why_not = "not\nsupported";
  const auto bytes = encode(offer);
  auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->members[1].why_not, "not?supported");
  read->members[1].why_not = offer.members[1].why_not;
  EXPECT_EQ(*read, offer);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::span(bytes).first(length))) << length;
  auto longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(decode(longer));

  offer.members.resize(std::size_t(max_ranks));
  for (Offer::Member& member : offer.members) member.why_not = std::string(600, 'x');
  EXPECT_LE(encode(offer).size(), max_offer);
  EXPECT_TRUE(decode(encode(offer)));
}

}  // namespace
}  // namespace ringtrue::transport::cuda
