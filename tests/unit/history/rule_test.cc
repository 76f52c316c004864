#include "history/rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/splitmix64.h"

namespace ringtrue::history {
namespace {

constexpr std::int64_t day = 86'400'000'000;

// Sides that read about 100 each, of so much noise, and the fleet as a whole that much more.
struct Fleet {
  int sides = 16;
  double own = 0.008, whole = 0.015;
  SplitMix64 draw{5};

  double unit() { return double(draw() >> 11) / 9007199254740992.0; }
  double bell() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(6.283185307 * unit()); }
  Values session(double level = 1, int slow = -1, double share = 1) {
    const double all = level * (1 + whole * bell());
    Values out;
    for (int side = 0; side < sides; ++side)
      out[side] = {100 * all * (side == slow ? share : 1) * (1 + own * bell()), 7};
    return out;
  }
  NewNorms norms(int sessions = 20) {
    std::vector<Values> past;
    for (int i = 0; i < sessions; ++i) past.push_back(session());
    return norms_of(past);
  }
};

TEST(Fingerprint, HoldsLikeAgainstLike) {
  const Conditions eight{"tcp", "ring", "auto", 8, 62.5e6};
  EXPECT_EQ(fingerprint(eight), "tcp ring auto 5-8 nodes 62500000 B/s");
  Conditions other = eight;
  other.nodes = 5;  // three are away
  EXPECT_EQ(fingerprint(other), fingerprint(eight));
  other.nodes = 9;
  EXPECT_NE(fingerprint(other), fingerprint(eight));
  other = eight;
  other.link_rate.reset();
  EXPECT_NE(fingerprint(other), fingerprint(eight));
  other = eight;
  other.transport = "verbs";
  EXPECT_NE(fingerprint(other), fingerprint(eight));
  other.nodes = 1;
  EXPECT_NE(fingerprint(other).find(" 1 nodes"), std::string::npos);
}

TEST(Baselines, AreWhatIsUsualAtTheFleetsLevel) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  ASSERT_EQ(norms.sides.size(), 16u);
  EXPECT_TRUE(norms.refused.empty());
  for (const auto& [side, norm] : norms.sides) {
    EXPECT_NEAR(norm.median, 100, 1.5);
    EXPECT_LT(norm.mad, 1.6);  // its own noise and not the fleet's
    EXPECT_EQ(norm.n, 20);
    EXPECT_DOUBLE_EQ(norm.threshold(), std::max(0.05, 5 * std::max(0.004, norm.mad / norm.median)));
  }
  ASSERT_TRUE(norms.level);
  EXPECT_NEAR(norms.level->median, 1, 0.02);
}

// 20 sessions tell little of how much a side scatters: what all do counts as well.
TEST(Baselines, AWideSampleIsHeldBesideTheFleets) {
  Fleet fleet;
  std::vector<Values> past;
  for (int i = 0; i < 20; ++i) {
    past.push_back(fleet.session());
    past.back()[3].value *= i % 2 ? 1.012 : 0.988;
  }
  const NewNorms norms = norms_of(past);
  EXPECT_GT(norms.sides.at(3).mad, 0.9);  // still more than others
  EXPECT_LT(norms.sides.at(3).threshold(), 0.07);
  EXPECT_GT(norms.sides.at(3).threshold(), 0.05);
}

TEST(Baselines, AreRefusedOfTooFewAndOfWhatScatters) {
  Fleet fleet;
  EXPECT_EQ(fleet.norms(9).sides.size(), 0u);
  EXPECT_EQ(fleet.norms(9).refused.at(0).n, 9);
  EXPECT_EQ(fleet.norms(10).sides.size(), 16u);
  std::vector<Values> past;
  for (int i = 0; i < 20; ++i) {
    past.push_back(fleet.session());
    past.back()[3].value *= i % 2 ? 1.06 : 0.94;
  }
  const NewNorms norms = norms_of(past);
  EXPECT_EQ(norms.sides.size(), 15u);
  EXPECT_GT(norms.refused.at(3).scatter, most_mad);
}

// A node that was repaired: the others' baselines say where the fleet stands.
TEST(Baselines, OfOneSideLeaveTheOthersAlone) {
  Fleet fleet;
  const NewNorms all = fleet.norms();
  Norms pinned = all.sides;
  pinned.erase(3);
  std::vector<Values> since;
  for (int i = 0; i < 12; ++i) since.push_back(fleet.session(0.9, 3, 1.1));  // busier, and node 3 faster
  const NewNorms anew = norms_of(since, pinned);
  ASSERT_EQ(anew.sides.size(), 1u);
  EXPECT_NEAR(anew.sides.at(3).median, 110, 2);
  EXPECT_FALSE(anew.level);
}

// Readings in steps have no deviation at all.
TEST(Baselines, OfEqualReadingsAreNotExact) {
  std::vector<Values> past(10, {{0, {100, 3}}, {1, {100, 3}}, {2, {100, 3}}, {3, {100, 3}}});
  const NewNorms norms = norms_of(past);
  EXPECT_EQ(norms.sides.at(0).mad, 0);
  EXPECT_DOUBLE_EQ(norms.sides.at(0).threshold(), 0.05);
}

TEST(Judge, FindsTheSideThatFell) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  for (const double level : {1.0, 0.8, 1.1}) {
    const Judged judged = judge(fleet.session(level, 5, 0.9), norms.sides, norms.level);
    EXPECT_EQ(judged.low, 1);
    EXPECT_FALSE(judged.together);
    EXPECT_EQ(judged.sides[5].reads, Reads::low);
    EXPECT_NEAR(judged.sides[5].ratio, 0.9, 0.03);
  }
}

TEST(Judge, ABusyDayIsTheFleetsAndNobodyElses) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  const Judged judged = judge(fleet.session(0.85), norms.sides, norms.level);
  EXPECT_EQ(judged.low, 0);
  EXPECT_EQ(judged.fleet, Reads::low);
  EXPECT_NEAR(judged.fleet_ratio, 0.85, 0.04);
  EXPECT_EQ(judge(fleet.session(), norms.sides, norms.level).fleet, Reads::good);
}

// New firmware on half the nodes: told once.
TEST(Judge, ManyThatFellTogetherAreTheFleet) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  Values session = fleet.session();
  for (int side = 0; side < 7; ++side) session[side].value *= 0.9;
  const Judged judged = judge(session, norms.sides, norms.level);
  EXPECT_EQ(judged.low, 7);
  EXPECT_TRUE(judged.together);
  EXPECT_EQ(judged.fleet, Reads::low);
}

TEST(Judge, AFleetThatIsBetterThanEverIsNotLow) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  Values session = fleet.session(1.5);
  for (int side = 0; side < 7; ++side) session[side].value *= 0.8;
  const Judged judged = judge(session, norms.sides, norms.level);
  EXPECT_TRUE(judged.together);
  EXPECT_EQ(judged.fleet, Reads::good);
}

// Half a fleet lost 6 %: the middle of all is nobody's level, by which the rest would read 3 % too well.
TEST(Judge, WhereHalfTheFleetFellTheRestIsHeldAgainstTheRest) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  Values session = fleet.session();
  for (int side = 0; side < 8; ++side) session[side].value *= 0.94;
  session[12].value *= 0.94;
  const Judged judged = judge(session, norms.sides, norms.level);
  EXPECT_TRUE(judged.together);
  EXPECT_EQ(judged.fleet, Reads::low);
  for (const SideReads& side : judged.sides)
    EXPECT_NEAR(side.ratio, side.side < 8 || side.side == 12 ? 0.94 : 1, 0.03) << side.side;
}

TEST(Judge, WhoIsLowBesideThoseWhoFellTogetherStandsApart) {
  Fleet fleet;
  fleet.own = 0.002;
  const NewNorms norms = fleet.norms();
  Values session = fleet.session();
  for (int side = 0; side < 7; ++side) session[side].value *= 0.94;
  session[3].value *= 0.85;
  const Judged judged = judge(session, norms.sides, norms.level);
  ASSERT_TRUE(judged.together);
  for (const SideReads& side : judged.sides) EXPECT_EQ(side.apart, side.side == 3) << side.side;
}

TEST(Regression, IsNeitherBegunNorConfirmedByWhatTheFleetDoes) {
  EXPECT_FALSE(advance(std::nullopt, Reads::low, {0, 0.9, false, false, true}));
  auto track = advance(std::nullopt, Reads::low, {0, 0.9});
  track = advance(track, Reads::low, {day, 0.9, false, false, true});
  EXPECT_EQ(track->state, State::suspected);
  track = advance(track, Reads::low, {2 * day, 0.9});
  EXPECT_EQ(track->state, State::confirmed);
}

TEST(Judge, WhatOnePartnerShowsMayBeThePartner) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  Values session = fleet.session(1, 5, 0.8);
  session[5].n = 1;
  EXPECT_EQ(judge(session, norms.sides, norms.level).sides[5].reads, Reads::unknown);
}

TEST(Judge, SaysNothingOfWhatItDoesNotKnow) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  EXPECT_FALSE(judge({}, norms.sides, norms.level).level);
  EXPECT_FALSE(judge({{0, {50, 3}}, {1, {50, 3}}, {2, {50, 3}}}, norms.sides).level);  // too few for a level
  // A changed set of nodes: half of them new, and slower.
  Values session = fleet.session();
  for (int side = 100; side < 120; ++side) session[side] = {60, 7};
  const Judged judged = judge(session, norms.sides, norms.level);
  EXPECT_EQ(judged.low, 0);
  EXPECT_EQ(judged.sides.size(), 16u);
  EXPECT_TRUE(judge(session, {}).sides.empty());
}

TEST(Judge, TellsOfABaselineThatIsTooLow) {
  Fleet fleet;
  const NewNorms norms = fleet.norms();
  const Judged judged = judge(fleet.session(1, 2, 1.2), norms.sides, norms.level);
  EXPECT_TRUE(judged.sides[2].high);
  EXPECT_EQ(judged.sides[2].reads, Reads::good);
}

TEST(Regression, IsSuspectedThenConfirmedThenRecovers) {
  auto track = advance(std::nullopt, Reads::good, {0});
  EXPECT_FALSE(track);
  track = advance(track, Reads::low, {day});
  EXPECT_EQ(track->state, State::suspected);
  track = advance(track, Reads::low, {day + confirm_after_us - 1});  // the same disturbance, perhaps
  EXPECT_EQ(track->state, State::suspected);
  track = advance(track, Reads::unknown, {2 * day});
  EXPECT_EQ(track->state, State::suspected);
  track = advance(track, Reads::low, {2 * day});
  EXPECT_EQ(track->state, State::confirmed);
  track = advance(track, Reads::good, {3 * day});
  EXPECT_EQ(track->state, State::confirmed);
  track = advance(track, Reads::low, {4 * day});  // one good day is no repair
  track = advance(track, Reads::good, {5 * day});
  EXPECT_EQ(track->state, State::confirmed);
  track = advance(track, Reads::between, {6 * day});
  track = advance(track, Reads::good, {6 * day});
  EXPECT_EQ(track->state, State::recovered);
  track = advance(track, Reads::low, {7 * day});  // a new one
  EXPECT_EQ(track->state, State::suspected);
  EXPECT_EQ(track->first_us, 7 * day);
}

TEST(Regression, ASuspicionThatDoesNotComeBackIsWithdrawn) {
  auto track = advance(std::nullopt, Reads::low, {0});
  track = advance(track, Reads::good, {day});
  EXPECT_EQ(track->state, State::withdrawn);
}

TEST(Regression, IsConfirmedAtOnceWhereItIsMeasuredForThat) {
  auto track = advance(std::nullopt, Reads::low, {0});
  track = advance(track, Reads::low, {10'000'000, 1, true});
  EXPECT_EQ(track->state, State::confirmed);
}

// Two disturbances are seldom of one depth.
TEST(Regression, IsNotConfirmedByWhatDoesNotAgree) {
  auto track = advance(std::nullopt, Reads::low, {0, 0.93});
  track = advance(track, Reads::low, {day, 0.8});
  EXPECT_EQ(track->state, State::suspected);
  auto other = advance(track, Reads::low, {2 * day, 0.79});
  EXPECT_EQ(other->state, State::confirmed);
  other = advance(advance(std::nullopt, Reads::low, {0, 0.93}), Reads::low, {day, 0.92});
  EXPECT_EQ(other->state, State::confirmed);
}

TEST(Regression, TheClockMayGoBack) {
  auto track = advance(std::nullopt, Reads::low, {day});
  track = advance(track, Reads::low, {-day});
  EXPECT_EQ(track->state, State::confirmed);
}

TEST(Regression, OfTheFleetTakesOneCheckMore) {
  auto track = advance(std::nullopt, Reads::low, {0, 1, false, true});
  track = advance(track, Reads::low, {day, 1, false, true});
  EXPECT_EQ(track->state, State::suspected);
  track = advance(track, Reads::low, {2 * day, 1, false, true});
  EXPECT_EQ(track->state, State::confirmed);
}

// ---- since when

std::vector<Point> points(std::initializer_list<double> values) {
  std::vector<Point> out;
  for (const double value : values)
    out.push_back({std::int64_t(out.size()) + 1, std::int64_t(out.size()) * day,
                   value > 0 ? std::optional(value) : std::nullopt, 3, std::nullopt, true});
  return out;
}

TEST(SinceWhen, CountsBackToTheLastGoodOne) {
  const auto since = since_when(points({60, 61, 60, 0, 59, 30, 31, 30}), Norm{60, 0.5, 10});
  ASSERT_TRUE(since);
  EXPECT_EQ(since->low, 3);
  EXPECT_EQ(since->good, 4);
  EXPECT_EQ(since->usual, 60);
  EXPECT_EQ(since->last_good_us, 4 * day);
  EXPECT_EQ(since->first_low_us, 5 * day);
  EXPECT_EQ(since->falls, 1);
  EXPECT_EQ(since_when(points({60, 61, 60, 0, 59, 30, 31, 30}), std::nullopt)->low, 3);
}

TEST(SinceWhen, KnowsWhatFlapsAndWhatWasNeverGood) {
  EXPECT_EQ(since_when(points({60, 30, 60, 30, 60, 60, 30}), std::nullopt)->falls, 3);
  const auto never = since_when(points({30, 30, 31}), Norm{60, 0.5, 10});
  EXPECT_EQ(never->low, 3);
  EXPECT_EQ(never->good, 0);
  EXPECT_FALSE(never->last_good_us);
  EXPECT_FALSE(since_when(points({60, 30}), std::nullopt));
}

}  // namespace
}  // namespace ringtrue::history
