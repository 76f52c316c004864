#include "campaign/nuisances.h"

#include <gtest/gtest.h>

#include <set>

#include "campaign/cases.h"

namespace ringtrue::campaign {
namespace {

TEST(Nuisances, ReadBackAsTheyAreWritten) {
  for (const char* text :
       {"none", "half", "full", "spread=3%", "latency=10%,lasting=5%", "retransmits=0.01%"}) {
    const auto nuisances = parse_nuisances(text);
    ASSERT_TRUE(nuisances) << text;
    EXPECT_EQ(to_text(*nuisances), text);
  }
  EXPECT_EQ(parse_nuisances("none"), Nuisances{});
  for (const Dial& dial : dials()) {
    EXPECT_EQ((*parse_nuisances("full")).*dial.value, dial.full);
    EXPECT_EQ((*parse_nuisances("half")).*dial.value, dial.full / 2);
  }
  EXPECT_EQ(to_text(*parse_nuisances("spread=0.03")), "spread=3%");
}

TEST(Nuisances, ThatAreNoneAreRefusedWithWhatThereIs) {
  for (const char* text : {"much", "spread", "spread=", "spread=-1%", "spread=91%", "spread=3%;away=1%",
                           "=3%", "spread=3%,", ",spread=3%", "spread=nan", "spread=3%,,away=1%"}) {
    const auto nuisances = parse_nuisances(text);
    ASSERT_FALSE(nuisances) << text;
    EXPECT_EQ(nuisances.error().cause, Cause::bad_input) << text;
    EXPECT_NE(nuisances.error().next.find("spread"), std::string::npos) << text;
  }
}

// Each dial changes what it says, and nothing else of a case.
TEST(Nuisances, LeaveTheRestOfACaseAlone) {
  constexpr int cases = 40;
  const Limits none;
  for (const Dial& dial : dials()) {
    Limits limits;
    limits.nuisances.*dial.value = dial.full > 0 ? dial.full : 0.5;  // none of "full" has a dial all the same
    int changed = 0;
    for (std::uint64_t k = 0; k < cases; ++k) {
      const Case before = draw_case(9, k, none);
      Case after = draw_case(9, k, limits);
      const World &a = before.world, &b = after.world;
      changed += a.fabric.egress != b.fabric.egress || a.noise.tail != b.noise.tail ||
                 a.noise.latency != b.noise.latency || a.noise.retransmits != b.noise.retransmits ||
                 a.lasting != b.lasting || a.away != b.away || a.intermittent != b.intermittent ||
                 before.link_rate != after.link_rate;
      // A program, or a path, of an older node is slower than what that carries.
      for (sim::FabricFault& fault : after.world.fabric.faults) {
        const bool path = fault.place.what == sim::Place::What::path;
        if (fault.kind == sim::FabricFault::Kind::slow_node) fault.share /= b.generation(fault.place.node);
        if (path && fault.kind == sim::FabricFault::Kind::slow_link)
          fault.share /= std::min(b.generation(fault.place.node), b.generation(fault.place.part));
      }
      EXPECT_EQ(before.faults(), after.faults()) << dial.name;
      EXPECT_EQ(a.fabric.nodes, b.fabric.nodes) << dial.name;
      EXPECT_EQ(a.seed, b.seed) << dial.name;
      if (before.link_rate)
        EXPECT_NEAR(after.link_rate->value / before.link_rate->value, 1, limits.nuisances.declared);
    }
    EXPECT_GT(changed, cases / 4) << dial.name;
  }
}

TEST(Nuisances, OfGenerationsAreTwoOrThreeOfThem) {
  Limits limits;
  limits.min_nodes = 32;
  limits.nuisances.generations = 0.3;
  int two = 0, three = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const Case c = draw_case(9, k, limits);
    std::set<double> rates;
    for (const auto& [node, rate] : c.world.generations) {
      rates.insert(rate);
      EXPECT_NEAR(c.world.fabric.egress.at(node), rate, 1e-9);
    }
    two += rates == std::set<double>{0.5};
    three += rates == std::set<double>{0.25, 0.5};
    EXPECT_LT(c.world.generations.size(), std::size_t(c.world.fabric.nodes) * 6 / 10);
  }
  EXPECT_EQ(two + three, 60);
  EXPECT_GT(two, 15);
  EXPECT_GT(three, 15);
}

TEST(Nuisances, ThatAreNoneLeaveCasesAsTheyWere) {
  Limits limits;
  limits.nuisances = *parse_nuisances("none");
  for (std::uint64_t k = 0; k < 20; ++k)
    EXPECT_EQ(draw_case(9, k, limits).text(), draw_case(9, k, {}).text());
}

}  // namespace
}  // namespace ringtrue::campaign
