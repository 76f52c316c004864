#include "collective/omnireduce/tune.h"

#include <gtest/gtest.h>

#include <optional>

#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::collective {
namespace {

std::uint64_t packet(const Omni& omni, Type type) {
  return 16 + omni.fusion * (4 + omni.block * size_of(type));
}

std::uint64_t per_aggregator(const Omni& omni) {
  return (omni.streams + std::uint32_t(omni.aggregators) - 1) / std::uint32_t(omni.aggregators);
}

void expect_sane(const Tuning& in, const Tuned& out) {
  const Omni& omni = out.omni;
  const auto a = std::uint64_t(omni.aggregators);
  EXPECT_EQ(omni.workers, in.workers);
  EXPECT_EQ(omni.aggregators, in.aggregators > 0 ? in.aggregators : in.workers);
  EXPECT_GE(omni.block, 1u);
  EXPECT_TRUE(omni.fusion >= 1 && omni.fusion <= max_fusion);
  EXPECT_TRUE(omni.streams >= 1 && omni.streams <= max_streams);
  EXPECT_EQ(omni.streams % a, 0u);  // no aggregator serves more than another
  EXPECT_EQ(omni.acked, in.acked);
  if (in.datagram > 0) {
    EXPECT_LE(packet(omni, in.type), in.datagram);
  }
  const std::uint64_t wire = packet(omni, in.type) + (in.datagram > 0 ? 48 : 0);
  if (in.rate && per_aggregator(omni) > 1) {  // with one stream each there is nothing left to give
    EXPECT_LE(double(in.workers) * double(per_aggregator(omni) * packet(omni, in.type)),
              in.rate->value * 20e-3);
  }
  // Held back for a reason, or enough in flight.
  const std::uint64_t blocks = (in.elements + omni.block - 1) / omni.block;
  const std::uint64_t columns = std::uint64_t(omni.streams) * omni.fusion;
  if (blocks >= 16 * a * omni.fusion && !in.density) {
    EXPECT_LE(columns, blocks / 16 + a * omni.fusion);
  }
  const double share = std::min(1.0, double(a) / in.workers);
  const double flight =
      2 * in.rate.value_or(BytesPerSecond(1.25e9)).value * share * (in.round_trip.value + in.allowance.value);
  const bool enough = double(omni.streams) * double(wire) >= flight;
  const bool crowded =
      in.rate && double(in.workers) * double((per_aggregator(omni) + 1) * wire) > in.rate->value * 20e-3;
  const bool short_call = (columns + a * omni.fusion) * 16 > blocks || in.density;
  EXPECT_TRUE(enough || crowded || short_call || omni.streams + a > max_streams);
  EXPECT_EQ(out.reasons.size(), 4u);
  for (const std::string& reason : out.reasons) EXPECT_EQ(reason.find('\n'), std::string::npos);
}

TEST(Tune, KeepsItsRulesEverywhere) {
  const std::optional<BytesPerSecond> rates[] = {std::nullopt, BytesPerSecond(12.5e6), BytesPerSecond(1.25e9),
                                                 BytesPerSecond(50e9)};
  const std::optional<double> densities[] = {std::nullopt, 0.001, 0.01, 1.0};
  for (const Rank workers : {1, 2, 3, 8, 16, 33})
    for (const Rank aggregators : {0, 1, 3, 8})
      for (const std::uint64_t elements : {0ul, 1ul, 255ul, 10'000ul, 1ul << 20, 1ul << 26})
        for (const auto& rate : rates)
          for (const std::uint64_t datagram : {0, 548, 1440, 8940})
            for (const Type type : {Type::float16, Type::float32, Type::float64})
              for (const auto& density : densities) {
                Tuning in;
                in.workers = workers;
                in.aggregators = aggregators;
                in.elements = elements;
                in.type = type;
                in.rate = rate;
                in.datagram = datagram;
                in.acked = datagram > 0;
                in.density = density;
                const auto out = tune(in);
                ASSERT_TRUE(out) << out.error().text();
                expect_sane(in, *out);
                ASSERT_FALSE(HasFailure())
                    << workers << " workers, " << aggregators << " aggregators, " << elements
                    << " elements, rate " << (rate ? rate->value : 0) << ", datagram " << datagram << ", "
                    << key_of(type) << ": block " << out->omni.block << " streams " << out->omni.streams
                    << " fusion " << out->omni.fusion;
              }
}

TEST(Tune, LargeCallsOnASlowLink) {
  Tuning in;
  in.workers = 8;
  in.elements = 16 << 20;
  in.rate = BytesPerSecond(12.5e6);
  in.density = 1;
  const Omni dense = tune(in)->omni;
  EXPECT_EQ(dense.block, 256u);
  EXPECT_EQ(dense.streams, 16u);
  EXPECT_EQ(dense.fusion, 15u);  // 16 would hold a port for more than 20 ms
  // At 1 % a worker has 655 blocks; what the first rows add to them stays small.
  in.density = 0.01;
  const Omni sparse = tune(in)->omni;
  EXPECT_LE(sparse.streams * sparse.fusion, 82u);
  EXPECT_GE(sparse.streams, 8u);
}

TEST(Tune, AFastLinkHoldsMoreInFlight) {
  Tuning in;
  in.workers = 8;
  in.elements = 1 << 28;
  in.density = 1;
  in.rate = BytesPerSecond(12.5e9);
  const Omni omni = tune(in)->omni;
  EXPECT_EQ(omni.fusion, 16u);
  EXPECT_GE(omni.streams * packet(omni, in.type), std::uint64_t(2 * 12.5e9 * 1.2e-3));
}

TEST(Tune, DatagramsAreFilled) {
  Tuning in;
  in.workers = 8;
  in.elements = 16 << 20;
  in.datagram = 1452;
  in.acked = true;
  in.rate = BytesPerSecond(12.5e6);
  const Omni omni = tune(in)->omni;
  EXPECT_EQ(omni.block, 88u);
  EXPECT_EQ(omni.fusion, 4u);
  in.block = 256;
  EXPECT_EQ(tune(in)->omni.fusion, 1u);
  in.block = 32;
  EXPECT_EQ(tune(in)->omni.fusion, 10u);
  in.block.reset();
  in.fusion = 2;
  EXPECT_EQ(tune(in)->omni.block, 176u);
}

TEST(Tune, TheUserDecides) {
  Tuning in;
  in.workers = 3;
  in.aggregators = 2;
  in.elements = 100'000;
  in.block = 10;
  in.streams = 7;
  in.fusion = 5;
  const auto out = tune(in);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->omni, (Omni{3, 2, 10, 7, 5, false}));
  EXPECT_EQ(out->reasons.size(), 4u);
  in.fusion.reset();
  in.rate = BytesPerSecond(1e6);  // 20 ms of it are 20,000 bytes: 4 streams x 3 workers x 1.6 KB
  const Omni slow = tune(in)->omni;
  EXPECT_EQ(slow.streams, 7u);
  EXPECT_LE(3 * 4 * packet(slow, in.type), 20'000u);
}

TEST(Tune, SmallCallsGetFewColumns) {
  Tuning in;
  in.workers = 8;
  for (const std::uint64_t elements : {256u, 2048u, 16'384u, 262'144u}) {
    in.elements = elements;
    const Omni omni = tune(in)->omni;
    EXPECT_LE(std::uint64_t(omni.streams) * omni.fusion, std::max<std::uint64_t>(8, elements / 256 / 16));
    EXPECT_GE(omni.streams, 8u);
  }
}

TEST(Tune, SaysWhatItAssumed) {
  Tuning in;
  in.workers = 2;
  in.elements = 1 << 28;
  const auto unknown = tune(in);
  EXPECT_NE(unknown->reasons.back().find("assumed"), std::string::npos) << unknown->reasons.back();
  in.rate = BytesPerSecond(5e9);
  EXPECT_EQ(tune(in)->reasons.back().find("assumed"), std::string::npos);
}

TEST(Tune, RefusesWhatCannotBe) {
  const auto refused = [](auto spoil) {
    Tuning in;
    in.workers = 4;
    in.elements = 1000;
    spoil(in);
    const auto out = tune(in);
    return !out && out.error().cause == Cause::bad_input && !out.error().what.empty();
  };
  EXPECT_TRUE(refused([](Tuning& in) { in.workers = 0; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.aggregators = -1; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.aggregators = 5000; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.block = 0; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.fusion = 65; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.streams = 4097; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.datagram = 1440, in.block = 400; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.datagram = 1440, in.block = 88, in.fusion = 5; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.datagram = 200, in.fusion = 64; }));
  EXPECT_TRUE(refused([](Tuning& in) { in.datagram = 16; }));
  EXPECT_FALSE(refused([](Tuning& in) { in.datagram = 1440, in.block = 88, in.fusion = 4; }));
}

}  // namespace
}  // namespace ringtrue::collective
