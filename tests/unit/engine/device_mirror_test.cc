// Runs on GPU memory that the host's transports play: on a mirror in pinned memory.
#include "engine/device/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_verbs.h"
#include "tests/support/local_job.h"

namespace ringtrue::engine {
namespace {

using test::FakeGpu;
using test::FakeMachine;
using test::wrong;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements, const char* transport) {
  run::Job job = test::local_job(algorithm, ranks, elements);
  job.call.slice_bytes = 16 * 1024;
  job.transport = *parse_key<run::Transport>(transport);
  job.memory = run::Memory::device;
  job.iterations = 1;
  job.warmup = 0;
  return job;
}

Result<run::RunReport> played(FakeMachine& machine, const run::Job& job, Seconds patience = Seconds(20)) {
  const auto driver = machine.process();
  return run_locally(job, Deadline::in(patience), nullptr, driver.get());
}

TEST(Ranges, GivesWhatWasNotThere) {
  Ranges ranges;
  EXPECT_THAT(ranges.add(10, 10), ElementsAre(Transfer{10, 10}));
  EXPECT_THAT(ranges.add(30, 10), ElementsAre(Transfer{30, 10}));
  EXPECT_THAT(ranges.add(12, 3), IsEmpty());
  EXPECT_THAT(ranges.add(5, 40), ElementsAre(Transfer{5, 5}, Transfer{20, 10}, Transfer{40, 5}));
  EXPECT_THAT(ranges.add(45, 5), ElementsAre(Transfer{45, 5}));
  EXPECT_THAT(ranges.add(0, 0), IsEmpty());
  EXPECT_THAT(ranges.all(), ElementsAre(Transfer{5, 45}));
}

// Everything that a rank needs of its input comes down once, and all of the result goes up once.
TEST(Transfers, OfARing) {
  collective::Call call;
  call.elements = 4000;
  call.slice_bytes = 1000;
  const auto layout = collective::Layout::one_node(4);
  const Transfers plan = transfers_of(**collective::find_algorithm("ring"), layout, 1, call);
  std::uint64_t down = 0, up = 0, ups = 0;
  for (const Transfer& t : plan.down) down += t.length;
  for (const Transfer& t : plan.up) up += t.length;
  for (const auto& step : plan.steps) ups += step.ups;
  EXPECT_EQ(down, 16'000u);
  EXPECT_EQ(up, 16'000u);
  EXPECT_EQ(ups, plan.up.size());
  EXPECT_EQ(plan.steps.front().needs, 1u);                     // the first slice is enough to begin with
  EXPECT_EQ(plan.named.at(PostName::send(2, 0)).size(), 24u);  // 2 x 3 chunks of 4 slices
}

class DeviceMirror : public testing::TestWithParam<const char*> {};

TEST_P(DeviceMirror, EveryAlgorithmIsRight) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;
    for (const auto& [ranks, elements] :
         {std::pair(1, 3ul), {2, 70'001ul}, {3, 0ul}, {4, 3ul}, {5, 70'001ul}}) {
      const run::Job job = job_of(std::string(algorithm.name).c_str(), ranks, elements, GetParam());
      const auto report = played(machine, job);
      ASSERT_TRUE(report) << algorithm.name << ' ' << ranks << ' ' << elements << ": "
                          << report.error().text();
      EXPECT_EQ(wrong(*report), 0u) << algorithm.name << ' ' << ranks << ' ' << elements;
      if (ranks > 1) {
        EXPECT_EQ(run::to_text(report->transports), GetParam());
      }
    }
  }
  EXPECT_EQ(machine.launches, 0);
  EXPECT_EQ(machine.alive, 0);
}

TEST_P(DeviceMirror, EveryTypeAndOperationIsRight) {
  FakeMachine machine;
  for (const collective::Type type : collective::all_types)
    for (const collective::Operation operation : collective::all_operations) {
      run::Job job = job_of("ring", 3, 70'003, GetParam());
      job.call.type = type;
      job.call.operation = operation;
      const auto report = played(machine, job);
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(wrong(*report), 0u) << key_of(type) << ' ' << key_of(operation);
    }
}

TEST_P(DeviceMirror, OmnireduceSendsWhatTheGpuFound) {
  FakeMachine machine;
  for (const double density : {0.0, 0.1, 1.0}) {
    run::Job job = job_of("omnireduce", 5, 50'001, GetParam());
    job.call.omni.workers = 3;
    job.call.omni.aggregators = 2;
    job.call.omni.block = 64;
    job.call.omni.streams = 4;
    job.call.omni.fusion = 2;
    job.sparsity.density = density;
    job.sparsity.block = 64;
    const int before = machine.copies;
    const auto report = played(machine, job);
    ASSERT_TRUE(report) << density << ": " << report.error().text();
    EXPECT_EQ(wrong(*report), 0u) << density;
    EXPECT_GT(machine.copies, before);
    if (density == 0) {
      EXPECT_LT(report->ranks[0].counts.blocks, 20u);
    }
  }
}

TEST_P(DeviceMirror, ABrokenValueIsCounted) {
  FakeMachine machine;
  run::Job job = job_of("ring", 4, 10'000, GetParam());
  job.fault = "corrupt-value@1>2:nth=3";
  const auto report = played(machine, job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(wrong(*report), 0u);
}

TEST_P(DeviceMirror, AStallMeetsTheDeadline) {
  FakeMachine machine;
  run::Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "stall@0>1";
  const auto report = played(machine, job, Seconds(0.3));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_EQ(machine.alive, 0);
}

TEST_P(DeviceMirror, SaysWhatRanAndWhy) {
  FakeMachine machine;
  const auto report = played(machine, job_of("ring", 2, 100'000, GetParam()));
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->gpus.size(), 1u);
  EXPECT_EQ(report->gpus[0].play, run::GpuPlay::mirror);
  EXPECT_THAT(report->gpus[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(report->notes,
              ElementsAre(std::string("GPU memory is staged through pinned host memory on local: ") +
                          GetParam() + " was asked for"));
}

INSTANTIATE_TEST_SUITE_P(Transports, DeviceMirror, testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

// Two nodes of a process each, which play two ranks and one or two.
class Nodes {
 public:
  // `equip` may give a node more than its GPUs.
  explicit Nodes(
      FakeMachine (&machines)[2], const std::function<void(run::Member&)>& equip = [](run::Member&) {}) {
    for (int node = 0; node < 2; ++node) {
      drivers_.push_back(machines[node].process());
      run::Member member;
      member.node = node;
      member.secret = "the secret of the lease";
      member.data_address = "127.0.0.1";
      member.cuda = drivers_.back().get();
      equip(member);
      sessions_.push_back(std::move(*Session::open(member)));
    }
  }
  static run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements, const char* transport) {
    run::Job job = engine::job_of(algorithm, ranks, elements, transport);
    job.nodes = {"node0", "node1"};
    for (int rank = 0; rank < ranks; ++rank) job.seats[std::size_t(rank)] = {rank / 2, 0, rank % 2};
    return job;
  }
  // All of it has to go well.
  run::RunReport play(const run::Job& job) {
    std::vector<std::vector<run::Address>> addresses;
    for (auto& session : sessions_) {
      const auto port = session->prepare(job);
      EXPECT_TRUE(port) << port.error().text();
      addresses.push_back({{"127.0.0.1", port.value_or(0)}});
    }
    std::vector<run::RunReport> parts(sessions_.size());
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < sessions_.size(); ++n)
      threads.emplace_back([&, n] {
        const Deadline soon = Deadline::in(Seconds(20));
        Result<void> done = sessions_[n]->connect(addresses, soon);
        if (done) done = sessions_[n]->barrier(soon);
        if (done) done = sessions_[n]->run(soon);
        EXPECT_TRUE(done) << done.error().text();
        if (done) parts[n] = *sessions_[n]->collect();
      });
    for (std::thread& thread : threads) thread.join();
    return merge(std::move(parts));
  }

 private:
  std::vector<std::unique_ptr<transport::cuda::Driver>> drivers_;
  std::vector<std::unique_ptr<Session>> sessions_;  // these go first
};

TEST(DeviceMirrorNodes, SeveralNodesPlayOverTheNetwork) {
  FakeMachine machines[2];
  const run::RunReport report = Nodes(machines).play(Nodes::job_of("ring", 4, 100'000, "auto"));
  EXPECT_EQ(wrong(report), 0u);
  EXPECT_EQ(run::to_text(report.transports), "shm+tcp");
  EXPECT_THAT(report.notes,
              Contains("GPU memory is staged through pinned host memory on node0 and node1: its "
                       "ranks are on several nodes"));
  EXPECT_EQ(machines[0].alive + machines[1].alive, 0);
}

// Two nodes with a GPU and an RDMA device each.
run::RunReport over_verbs(bool dmabuf) {
  transport::verbs::FakeFabric fabric;
  FakeMachine machines[2];
  run::RunReport report;
  {
    Nodes nodes(machines, [&](run::Member& member) {
      FakeMachine& machine = machines[member.node];
      machine.dmabuf = dmabuf;
      machine.allocated = [&](const std::byte* at, std::uint64_t bytes) { fabric.mark_gpu(at, bytes); };
      auto device = transport::verbs::fake_roce("mlx5_0", "10.1.0." + std::to_string(member.node + 1));
      device.dmabuf = true;
      member.verbs = &fabric.add_node({device});
    });
    const run::Job job =
        Nodes::job_of("recursive-doubling", 3, 100'001, "verbs");  // of three, it copies as well
    nodes.play(job);
    report = nodes.play(job);  // again, with what the first run left
  }
  EXPECT_EQ(machines[0].alive + machines[1].alive, 0);
  EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
  return report;
}

TEST(DeviceDirect, RdmaSendsStraightFromTheGpu) {
  const run::RunReport report = over_verbs(true);
  EXPECT_EQ(wrong(report), 0u);
  EXPECT_EQ(run::to_text(report.transports), "verbs");
  ASSERT_EQ(report.gpus.size(), 2u);
  EXPECT_EQ(report.gpus[0].play, run::GpuPlay::direct);
  ASSERT_EQ(report.rdma.size(), 2u);
  EXPECT_EQ(report.rdma[0].memory, "dmabuf");
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST(DeviceDirect, WhereItCannotTheMirrorIsRegisteredAndWhyIsSaid) {
  const run::RunReport report = over_verbs(false);
  EXPECT_EQ(wrong(report), 0u);
  ASSERT_EQ(report.gpus.size(), 2u);
  EXPECT_EQ(report.gpus[0].play, run::GpuPlay::mirror);
  EXPECT_EQ(report.rdma[0].memory, "host");
  EXPECT_THAT(report.notes, Contains(HasSubstr("verbs was asked for, and")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("exports no dma-buf")));
}

TEST(DeviceMirrorErrors, ALostGpuEndsTheRunAndIsNamed) {
  FakeMachine machine;
  const auto driver = machine.process();
  run::Member member;
  member.cuda = driver.get();
  member.data_address = "127.0.0.1";
  member.secret = "the secret of the lease";
  auto session = std::move(*Session::open(member));
  const Deadline soon = Deadline::in(Seconds(20));
  ASSERT_TRUE(session->prepare(job_of("ring", 2, 1000, "shm")));
  ASSERT_TRUE(session->connect({{{"", 0}}}, soon));
  ASSERT_TRUE(session->barrier(soon));
  machine.lost = 0;
  const auto run = session->run(soon);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().cause, Cause::peer_lost);
  EXPECT_THAT(run.error().what, HasSubstr("GPU 0 (GPU-0): GPU has fallen off the bus"));
}

}  // namespace
}  // namespace ringtrue::engine
