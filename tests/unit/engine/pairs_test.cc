// OmniReduce of (key, value) pairs on wires: the arithmetic on values that lie apart, and whole runs in one
// process, over udp with datagrams that are lost, doubled, reordered and broken by a script.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "collective/omnireduce/omnireduce.h"
#include "engine/packets/scattered.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/local_job.h"
#include "tests/support/reference.h"

namespace ringtrue::engine {
namespace {

using test::wrong;

// Against one element after the other, by arithmetic of the test's own; down to the last bit.
TEST(Scattered, CombinesEveryTypeWhereItsPlacesAre) {
  std::mt19937_64 random(7);
  for (const collective::Type type : collective::all_types) {
    for (const collective::Operation operation : collective::all_operations) {
      for (const std::size_t count : {1u, 7u, 255u, 256u, 257u, 700u}) {
        for (const bool apart : {false, true}) {
          std::vector<std::uint32_t> places;
          std::uint32_t place = 3;
          for (std::size_t i = 0; i < count; ++i)
            places.push_back(place += apart ? 1 + std::uint32_t(random() % 4) : 1);
          const std::uint64_t size = collective::size_of(type);
          std::vector<std::byte> into = test::input_of(type, operation, 1, place + 5);
          const std::vector<std::byte> from = test::input_of(type, operation, 2, count);
          std::vector<std::byte> right = into;
          for (std::size_t i = 0; i < count; ++i) {
            std::byte* at = right.data() + places[i] * size;
            test::reduce(type, operation, at, at, from.data() + i * size, size, false, 1);
          }
          combine(type, operation, into.data(), places, from.data());
          ASSERT_EQ(into, right) << key_of(type) << ' ' << key_of(operation) << ' ' << count << ' ' << apart;
        }
      }
    }
  }
}

TEST(Scattered, TakesValuesFromWhereTheyAreAndPutsThemBack) {
  for (const std::uint64_t size : {2u, 4u, 8u}) {
    std::vector<std::uint64_t> elements;
    for (std::uint64_t i = 1; i < 100; i += 1 + i % 3) elements.push_back(i);
    std::vector<std::byte> data(100 * size), together(elements.size() * size), back(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i * 37);
    collect(size, together.data(), data.data(), elements);
    distribute(size, back.data(), elements, together.data());
    for (std::uint64_t i = 0; i < 100; ++i) {
      const bool there = std::find(elements.begin(), elements.end(), i) != elements.end();
      const std::vector<std::byte> none(size);
      EXPECT_EQ(std::memcmp(&back[i * size], there ? &data[i * size] : none.data(), size), 0) << i;
    }
  }
}

run::Job pairs_job(run::Transport transport, int workers, int aggregators, std::uint64_t elements) {
  run::Job job;
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.transport = transport;
  job.nodes = {"local"};
  for (int r = 0; r < workers + aggregators; ++r) job.seats.push_back({0, 0, r});
  job.call.elements = elements;
  collective::Omni& omni = job.call.omni;
  omni.workers = workers;
  omni.aggregators = aggregators;
  omni.block = job.sparsity.block = 64;
  omni.streams = std::uint32_t(3 * aggregators);
  omni.pairs = 100;
  omni.acked = transport == run::Transport::udp;
  job.sparsity.density = 0.5;
  job.sparsity.value_density = 0.2;
  job.sparsity.overlap = collective::Overlap::random;
  job.iterations = 2;
  job.warmup = 1;
  return job;
}

std::uint64_t pairs_sent(const run::RunReport& report) {
  std::uint64_t sum = 0;
  for (const run::RankReport& rank : report.ranks) sum += rank.counts.pairs;
  return sum;
}

void expect_exact(const run::Job& job) {
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(run::to_text(report->transports), key_of(job.transport));
  EXPECT_EQ(wrong(*report), 0u);
  // A tenth of the values of every worker, give or take what was drawn.
  const double expected = 0.1 * double(job.call.elements) * job.workers();
  EXPECT_NEAR(double(pairs_sent(*report)), expected, 0.1 * expected + 50);
}

TEST(Pairs, AreExactOverEveryTransport) {
  for (const auto transport : {run::Transport::shm, run::Transport::tcp, run::Transport::udp}) {
    for (const int workers : {1, 2, 8}) {
      for (const int aggregators : {1, 3}) {
        SCOPED_TRACE(std::string(key_of(transport)) + ", " + std::to_string(workers) + " workers, " +
                     std::to_string(aggregators) + " aggregators");
        expect_exact(pairs_job(transport, workers, aggregators, 60'000));
      }
    }
  }
}

TEST(Pairs, AreExactForEveryTypeOperationAndKey) {
  for (const collective::Type type : collective::all_types) {
    for (const collective::Operation operation : collective::all_operations) {
      for (const auto transport : {run::Transport::shm, run::Transport::udp}) {
        run::Job job = pairs_job(transport, 3, 2, 5'000);
        job.call.type = type;
        job.call.operation = operation;
        job.call.omni.key_bytes = operation == collective::Operation::sum ? 8 : 4;
        job.call.omni.pairs = 50;
        if (transport == run::Transport::udp) job.fault = "loss@*>*:share=3%";
        SCOPED_TRACE(std::string(key_of(type)) + " " + std::string(key_of(operation)));
        expect_exact(job);
      }
    }
  }
}

// The longest packets there are: header and values of many frames' length.
TEST(Pairs, FillTheLongestPackets) {
  for (const auto transport : {run::Transport::shm, run::Transport::tcp}) {
    for (const std::uint32_t key_bytes : {4u, 8u}) {
      run::Job job = pairs_job(transport, 3, 1, 400'000);
      job.call.omni.pairs = collective::max_pairs;
      job.call.omni.streams = 2;
      job.call.omni.key_bytes = key_bytes;
      expect_exact(job);
    }
  }
}

// Values of the operator's own, which are rounded in every addition.
TEST(Pairs, ReduceTheOperatorsOwnValues) {
  std::mt19937_64 random(3);
  for (const auto transport : {run::Transport::shm, run::Transport::tcp, run::Transport::udp}) {
    run::Job job = pairs_job(transport, 4, 2, 20'000);
    auto input = std::make_shared<run::Input>();
    input->elements = job.call.elements;
    for (int w = 0; w < 4; ++w) {
      std::vector<float> row(job.call.elements);
      for (float& value : row)
        if (random() % 5 == 0) value = float(std::int64_t(random())) * 1e-15f;
      const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
      input->rows.emplace_back(bytes, bytes + row.size() * sizeof(float));
    }
    job.input = input;
    const auto report = run_locally(job, Deadline::in(Seconds(20)));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u) << key_of(transport);
  }
}

class LossyPairs : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(LossyPairs, AreExactInBoundedTime) {
  for (const int workers : {2, 5, 8}) {
    run::Job job = pairs_job(run::Transport::udp, workers, 2, 30'000);
    job.fault = GetParam().second;
    job.iterations = 1;
    job.warmup = 0;
    const auto report = run_locally(job, Deadline::in(Seconds(20)));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u) << workers;
    std::uint64_t packets = 0, multicasts = 0, resent = 0;
    for (const run::RankReport& rank : report->ranks) {
      packets += rank.counts.packets;
      multicasts += rank.counts.multicasts;
      resent += rank.counts.resent;
    }
    if (job.fault.find("loss") != job.fault.npos) {
      EXPECT_GT(resent, 0u);
    }
    // Whatever is lost, a round is answered by all and multicast once.
    EXPECT_EQ(packets, multicasts * std::uint64_t(workers));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, LossyPairs,
    testing::Values(std::pair{"Loss1", "loss@*>*:share=1%"}, std::pair{"Loss10", "loss@*>*:share=10%"},
                    std::pair{"Duplicates", "duplicate@*>*:share=30%"},
                    std::pair{"Reordered", "reorder@*>*:share=20%"},
                    std::pair{"Everything",
                              "loss@*>*:share=5%;duplicate@*>*:share=5%;reorder@*>*:share=10%;"
                              "corrupt@*>*:share=1%"}),
    [](const auto& info) { return std::string(info.param.first); });

TEST(Pairs, ThatDoNotFitADatagramAreRefused) {
  run::Job job = pairs_job(run::Transport::udp, 2, 1, 1'000);
  job.call.omni.pairs = 400;
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::bad_input);
  EXPECT_NE(report.error().what.find("400 pairs"), std::string::npos) << report.error().what;
}

}  // namespace
}  // namespace ringtrue::engine
