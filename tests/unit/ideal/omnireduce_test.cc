#include "ideal/omnireduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ringtrue::ideal {
namespace {

OmniInputs inputs(int workers, int aggregators, double density, double united) {
  OmniInputs in;
  in.workers = workers;
  in.aggregators = aggregators;
  in.density = density;
  in.density_union = united;
  in.bytes = Bytes(64 << 20);
  in.rate = BytesPerSecond(12.5e6);
  return in;
}

OmniModel model(const OmniInputs& in) {
  const auto made = omnireduce_model(in);
  EXPECT_TRUE(made.has_value());
  return made.value_or(OmniModel{});
}

TEST(OmniModel, SpeedsUpAsPublished) {  // 2(N-1) / (N D), with as many aggregators as workers
  for (const int n : {2, 4, 8})
    for (const double d : {1.0, 0.4, 0.1, 0.01})
      EXPECT_NEAR(*model(inputs(n, n, d, d)).dedicated.speedup, 2.0 * (n - 1) / (n * d), 1e-9);
}

TEST(OmniModel, FewerAggregatorsAreAPortThatAllShare) {
  const double s = double(64 << 20) / 12.5e6;
  EXPECT_NEAR(model(inputs(8, 4, 0.01, 0.01)).dedicated.time.value, 0.01 * 2 * s, 1e-12);
  EXPECT_NEAR(model(inputs(8, 1, 0.01, 0.077)).dedicated.time.value, 0.077 * 8 * s, 1e-12);
  // More of them than workers: the workers' own ports remain.
  EXPECT_NEAR(model(inputs(8, 32, 0.01, 0.077)).dedicated.time.value, 0.077 * s, 1e-12);
}

TEST(OmniModel, BesideTheWorkersDenseCostsWhatARingCosts) {
  for (const int n : {2, 3, 8, 16}) {
    const OmniModel dense = model(inputs(n, n, 1, 1));
    EXPECT_NEAR(*dense.colocated.speedup, 1, 1e-9) << n;
    const OmniModel sparse = model(inputs(n, n, 0.01, 0.077));
    EXPECT_NEAR(sparse.colocated.time.value, (n - 1.0) / n * 0.087 * double(64 << 20) / 12.5e6, 1e-12);
  }
}

// Every block by itself: who sends and receives it through which port.
TEST(OmniModel, BesideTheWorkersCountsWhatCrossesEachPort) {
  for (const int n : {1, 2, 3, 5, 8}) {
    for (int a = 1; a <= 2 * n + 1; ++a) {
      const int blocks = 10 * a, own = 3 * a, united = 7 * a;  // D = 0.3, Du = 0.7, evenly over aggregators
      std::vector<double> sent(std::size_t(n), 0), received(std::size_t(n), 0);
      for (int k = 0; k < united; ++k) {
        const std::size_t home = std::size_t(k % a % n);
        for (std::size_t w = 0; w < std::size_t(n); ++w) {
          if (w == home) continue;
          if (k < own) ++sent[w], ++received[home];
          ++sent[home], ++received[w];
        }
      }
      const double most = std::max(*std::max_element(sent.begin(), sent.end()),
                                   *std::max_element(received.begin(), received.end()));
      OmniInputs in = inputs(n, a, 0.3, 0.7);
      EXPECT_NEAR(model(in).colocated.time.value, most / blocks * double(64 << 20) / 12.5e6, 1e-9)
          << n << " workers, " << a << " aggregators";
    }
  }
}

TEST(OmniModel, AddsLatencyAndHeaders) {
  OmniInputs in = inputs(8, 8, 0.01, 0.01);
  const OmniModel bare = model(in);
  in.latency = Seconds(1e-3);
  const OmniModel late = model(in);
  EXPECT_NEAR(late.ring.time.value - bare.ring.time.value, 14e-3, 1e-12);
  EXPECT_NEAR(late.dedicated.time.value - bare.dedicated.time.value, 1e-3, 1e-12);
  EXPECT_NEAR(late.colocated.time.value - bare.colocated.time.value, 1e-3, 1e-12);
  EXPECT_NEAR(late.all_gather.time.value - bare.all_gather.time.value, 7e-3, 1e-12);
  EXPECT_NEAR(bare.all_gather.time.value, 7 * 2 * 0.01 * double(64 << 20) / 12.5e6, 1e-9);
  in = inputs(8, 8, 0.01, 0.01);
  in.payload = 0.5;
  EXPECT_NEAR(model(in).dedicated.time / bare.dedicated.time, 2, 1e-9);
  EXPECT_EQ(model(in).ring.time, bare.ring.time);
  EXPECT_NEAR(payload_share(1024, 16), 16384.0 / (16384 + 16 + 64), 1e-12);
  EXPECT_NEAR(payload_share(352, 4, 28), 1408.0 / (1408 + 16 + 16 + 28), 1e-12);
}

TEST(OmniModel, CountsOnTheWireWhatTheModelLeavesOut) {
  OmniInputs in = inputs(8, 8, 0.1, 0.1);
  in.latency = Seconds(1e-4);
  const double bare = model(in).dedicated.time.value;
  EXPECT_NEAR(omnireduce_on_the_wire(in, false)->value, bare + 1e-4, 1e-12);  // the way back
  in.packet = Bytes(12500);
  EXPECT_NEAR(omnireduce_on_the_wire(in, false)->value, bare + 1e-4 + 15e-3, 1e-12);
  in.packet = Bytes(0);
  in.first = 0.5;  // half of the blocks go out anyway, and a tenth of the others
  EXPECT_NEAR(omnireduce_on_the_wire(in, false)->value, 2e-4 + 0.55 * double(64 << 20) / 12.5e6, 1e-9);
  in.first = 2;
  EXPECT_FALSE(omnireduce_on_the_wire(in, false));
}

TEST(OmniModel, ShowsItsArithmetic) {
  const OmniModel shown = model(inputs(8, 4, 0.01, 0.0773));
  EXPECT_EQ(shown.dedicated.arithmetic,
            "a + max(D, Du) max(1, N/A) S/B = 0 + max(0.01, 0.0773) x max(1, 8/4) x 6.71089e+07 / 1.25e+07 "
            "= " +
                to_text(shown.dedicated.time));
  EXPECT_NE(shown.colocated.arithmetic.find("1/4"), std::string::npos);
  EXPECT_NE(shown.ring.arithmetic.find("14 x (0 + 6.71089e+07 / (8 x 1.25e+07))"), std::string::npos);
}

TEST(OmniModel, OneWorkerHasNothingToSpeedUp) {
  const OmniModel one = model(inputs(1, 1, 0.5, 0.5));
  EXPECT_EQ(one.ring.time.value, 0);
  EXPECT_EQ(one.colocated.time.value, 0);
  EXPECT_GT(one.dedicated.time.value, 0);
  EXPECT_FALSE(one.dedicated.speedup || one.colocated.speedup || one.ring.speedup);
}

TEST(OmniModel, KnowsTheFactsAboutDensities) {
  EXPECT_NEAR(union_of_random(0.01, 8), 0.077, 5e-4);
}

TEST(OmniModel, RefusesWhatIsNone) {
  for (const auto& spoil : std::vector<void (*)(OmniInputs&)>{
           [](OmniInputs& in) { in.workers = 0; }, [](OmniInputs& in) { in.aggregators = 0; },
           [](OmniInputs& in) { in.density = -0.1; }, [](OmniInputs& in) { in.density_union = 1.5; },
           [](OmniInputs& in) { in.density_union = 0.1; }, [](OmniInputs& in) { in.rate.value = 0; },
           [](OmniInputs& in) { in.density = std::nan(""); }, [](OmniInputs& in) { in.payload = 0; },
           [](OmniInputs& in) { in.latency.value = -1; }}) {
    OmniInputs in = inputs(8, 8, 0.5, 0.5);
    spoil(in);
    const auto made = omnireduce_model(in);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().cause, Cause::bad_input);
  }
}

}  // namespace
}  // namespace ringtrue::ideal
