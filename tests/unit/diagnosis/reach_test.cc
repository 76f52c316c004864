// Who is cut off, from which pairs of nodes reach each other.
#include "diagnosis/findings/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "report/text/wording.h"

namespace ringtrue::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Call = Tried::Call;
using Bad = std::function<void(Tried&)>;

std::vector<std::string> names_of(int nodes) {
  std::vector<std::string> names;
  for (int node = 0; node < nodes; ++node) names.push_back("node" + std::to_string(node));
  return names;
}

// All ordered pairs, each as `bad` leaves it.
Reached judged(int nodes, const Bad& bad) {
  std::vector<Tried> tried;
  std::map<int, DataEnd> ends;
  for (int a = 0; a < nodes; ++a) {
    ends[a] = {"eth0", "10.0.0." + std::to_string(a), 9000};
    for (int b = 0; b < nodes; ++b) {
      if (a == b) continue;
      Tried t{.source = a, .destination = b, .needed = a < b, .packet = 9000};
      t.address = "10.0.0." + std::to_string(b) + ":20" + std::to_string(b);
      bad(t);
      tried.push_back(t);
    }
  }
  return judge_reach(tried, ends, names_of(nodes), Seconds(2));
}

Bad vanishes(const std::function<bool(int, int)>& which) {
  return [which](Tried& t) {
    if (which(t.source, t.destination)) t.call = Call::vanishes;
  };
}

std::vector<std::string> told(const Reached& reached) {
  std::vector<std::string> out;
  for (const Finding& f : reached.findings)
    out.push_back(std::string(key_of(f.severity)) + " " + std::string(key_of(f.kind)) + ": " +
                  f.scope.text());
  return out;
}

std::string words(const Finding& f) {
  std::string out;
  for (const std::string& line : report::sentences(f.evidence)) out += line + "\n";
  return out + report::sentence(f.impact) + "\n" + report::sentence(f.next);
}

TEST(Reach, AllIsWell) {
  const Reached seen = judged(5, [](Tried&) {});
  EXPECT_THAT(told(seen), IsEmpty());
  EXPECT_THAT(seen.left_out, IsEmpty());
}

TEST(Reach, ANodeThatNobodyReachesIsNamedForAll) {
  const Reached seen = judged(8, vanishes([](int, int b) { return b == 5; }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-node: node5's receiving side"));
  EXPECT_THAT(seen.left_out, ElementsAre(5));
  EXPECT_THAT(words(seen.findings[0]),
              AllOf(HasSubstr("node[0-4,6-7] -> node5, TCP port 10.0.0.5:205: no answer within 2 s"),
                    HasSubstr("node5's data goes over eth0, 10.0.0.5, MTU 9000"),
                    HasSubstr("let TCP pass from node0 to node5's data ports")));
}

TEST(Reach, ANodeThatReachesNobody) {
  const Reached seen = judged(8, vanishes([](int a, int) { return a == 2; }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-node: node2's sending side"));
  EXPECT_THAT(seen.left_out, ElementsAre(2));
  EXPECT_THAT(words(seen.findings[0]), HasSubstr("node2 -> node[0-1,3-7], TCP ports such as 10.0.0.0:200"));
}

TEST(Reach, ANodeThatIsCutOffBothWays) {
  const Reached seen = judged(4, vanishes([](int a, int b) { return a == 1 || b == 1; }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-node: node1"));
}

TEST(Reach, TwoNodesEachForItself) {
  const Reached seen = judged(8, vanishes([](int, int b) { return b == 5 || b == 7; }));
  EXPECT_THAT(told(seen), testing::UnorderedElementsAre("critical blocked-node: node5's receiving side",
                                                        "critical blocked-node: node7's receiving side"));
  EXPECT_THAT(seen.left_out, ElementsAre(5, 7));
}

TEST(Reach, APairAlone) {
  const Reached seen = judged(8, [](Tried& t) {
    if (t.source == 2 && t.destination == 5) t.call = Call::rejected, t.why = "Connection refused";
  });
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-path: the path node2 -> node5"));
  EXPECT_EQ(seen.left_out.size(), 1u);
  EXPECT_THAT(words(seen.findings[0]),
              AllOf(HasSubstr("node2 -> node5, TCP port 10.0.0.5:205: rejected (Connection refused)"),
                    HasSubstr("node5 -> node2: connections are made")));
}

TEST(Reach, APairBothWaysIsOneFinding) {
  const Reached seen = judged(8, vanishes([](int a, int b) { return a + b == 7 && (a == 2 || b == 2); }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-path: the path node2 -> node5"));
  EXPECT_THAT(words(seen.findings[0]),
              AllOf(HasSubstr("node2 -> node5, TCP port"), HasSubstr("node5 -> node2, TCP port"),
                    Not(HasSubstr("connections are made"))));
}

TEST(Reach, AnswersThatVanishAreToldApart) {
  const Reached seen = judged(3, [](Tried& t) {
    if (t.source == 0 && t.destination == 1) t.call = Call::answer_vanishes;
  });
  ASSERT_EQ(seen.findings.size(), 1u);
  EXPECT_THAT(words(seen.findings[0]), HasSubstr("calls arrive there, and the answers vanish"));
}

TEST(Reach, TheWholeFleet) {
  const Reached seen = judged(6, vanishes([](int, int) { return true; }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-fleet: the whole fleet"));
  EXPECT_EQ(seen.left_out.size(), 5u) << "one is left that needs nobody";
}

TEST(Reach, TwoNodesHaveOnePath) {
  const Reached seen = judged(2, vanishes([](int, int) { return true; }));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-path: the path node0 -> node1"));
}

TEST(Reach, HalvesThatDoNotMeetAreOneFinding) {
  const Reached seen = judged(6, vanishes([](int a, int b) { return (a < 3) != (b < 3); }));
  ASSERT_EQ(seen.findings.size(), 1u);
  EXPECT_THAT(words(seen.findings[0]), AllOf(HasSubstr("node[0-2] -> node[3-5], TCP ports such as"),
                                             HasSubstr("node[3-5] -> node[0-2], TCP ports such as")));
  EXPECT_EQ(seen.left_out.size(), 3u);
}

TEST(Reach, WhatNobodyNeedsIsAWarningAndCostsNobody) {
  const Reached seen = judged(4, vanishes([](int, int b) { return b == 0; }));
  EXPECT_THAT(told(seen), ElementsAre("warning blocked-node: node0's receiving side"));
  EXPECT_THAT(seen.left_out, IsEmpty());
  EXPECT_THAT(words(seen.findings[0]), HasSubstr("not in the way here"));
}

TEST(Reach, LongPacketsNameTheirLengthAndTheTest) {
  const Reached seen = judged(5, [](Tried& t) { t.long_lost = t.destination == 3; });
  EXPECT_THAT(told(seen), ElementsAre("critical mtu-node: node3's receiving side"));
  EXPECT_THAT(seen.left_out, ElementsAre(3));
  EXPECT_THAT(words(seen.findings[0]),
              AllOf(HasSubstr("node[0-2,4] -> node3: packets of 9000 bytes vanish, short ones arrive"),
                    HasSubstr("MTU 9000"), HasSubstr("ping -M do -s 8972 10.0.0.3")));
}

TEST(Reach, FewPairsOfALargeFleetNameTheNode) {
  constexpr int nodes = 100;
  std::vector<Tried> tried;
  for (int node = 0; node < nodes; ++node)
    for (const int step : {1, 2, 4, 8, 16, 32, 64}) {
      const int other = (node + step) % nodes;
      for (const auto& [a, b] : {std::pair(node, other), std::pair(other, node)}) {
        Tried t{.source = a, .destination = b, .needed = a < b};
        if (a == 41 || b == 41) t.call = Call::vanishes;
        tried.push_back(t);
      }
    }
  const Reached seen = judge_reach(tried, {}, names_of(nodes), Seconds(2));
  EXPECT_THAT(told(seen), ElementsAre("critical blocked-node: node41"));
  EXPECT_THAT(seen.left_out, ElementsAre(41));
}

}  // namespace
}  // namespace ringtrue::diagnosis
