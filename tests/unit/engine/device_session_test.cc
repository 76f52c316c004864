// Whole runs on the memory of GPUs that are scripted: in one process, and in several of a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "collective/algorithm.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/local_job.h"
#include "tests/support/sample.h"

namespace ringtrue::engine {
namespace {

using test::FakeGpu;
using test::FakeMachine;
using test::wrong;
using testing::ElementsAre;
using testing::HasSubstr;

run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements) {
  run::Job job = test::local_job(algorithm, ranks, elements);
  job.memory = run::Memory::device;
  job.iterations = 2;
  job.warmup = 0;
  return job;
}

Result<run::RunReport> played(FakeMachine& machine, const run::Job& job, Seconds patience = Seconds(20)) {
  const auto driver = machine.process();
  return run_locally(job, Deadline::in(patience), nullptr, driver.get());
}

// Each of `machines` drives a process of one node; all play `jobs` in turn.
std::vector<Result<run::RunReport>> played_by(std::vector<FakeMachine*> machines,
                                              const std::vector<run::Job>& jobs, bool own_numbers = false) {
  const int processes = int(machines.size());
  const int memory = ::memfd_create("test", MFD_CLOEXEC);
  std::vector<int> doorbells;
  for (int p = 0; p < processes; ++p) doorbells.push_back(::eventfd(0, EFD_NONBLOCK));
  std::vector<std::unique_ptr<transport::cuda::Driver>> drivers;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int p = 0; p < processes; ++p) {
    drivers.push_back(machines[std::size_t(p)]->process());
    run::Member member;
    member.process = p;
    member.processes = processes;
    member.secret = "the secret of the lease";
    member.shared_memory = memory;
    member.doorbells = doorbells;
    member.cuda = drivers.back().get();
    member.own_numbers = own_numbers;
    sessions.push_back(std::move(*Session::open(member)));
  }
  std::vector<Result<run::RunReport>> reports;
  for (const run::Job& job : jobs) {
    EXPECT_EQ(::ftruncate(memory, off_t(Session::shared_bytes(job, 0))), 0);
    std::vector<Result<void>> done(sessions.size());
    const auto all = [&](const std::function<Result<void>(Session&)>& phase) {
      std::vector<std::thread> threads;
      for (std::size_t p = 0; p < sessions.size(); ++p)
        threads.emplace_back([&, p] {
          if (done[p]) done[p] = phase(*sessions[p]);
        });
      for (std::thread& thread : threads) thread.join();
    };
    const Deadline soon = Deadline::in(Seconds(20));
    all([&](Session& s) -> Result<void> {
      const auto port = s.prepare(job);
      return port ? Result<void>() : tl::unexpected(port.error());
    });
    all([&](Session& s) { return s.connect({std::vector<run::Address>(std::size_t(processes))}, soon); });
    all([&](Session& s) { return s.barrier(soon); });
    all([&](Session& s) { return s.run(soon); });
    std::vector<run::RunReport> parts;
    std::optional<Error> error;
    for (std::size_t p = 0; p < sessions.size(); ++p) {
      if (!done[p] && !error) error = done[p].error();
      if (done[p]) parts.push_back(*sessions[p]->collect());
    }
    if (error)
      reports.push_back(tl::unexpected(*error));
    else
      reports.push_back(merge(std::move(parts)));
  }
  sessions.clear();
  for (const int each : doorbells) ::close(each);
  ::close(memory);
  return reports;
}

TEST(Device, EveryAlgorithmIsRight) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;
    for (const int ranks : test::sample({1, 2, 5})) {
      for (const std::uint64_t elements : test::sample({0ul, 1ul, 70'001ul})) {
        const auto report = played(machine, job_of(std::string(algorithm.name).c_str(), ranks, elements));
        ASSERT_TRUE(report) << algorithm.name << ' ' << ranks << ' ' << elements << ": "
                            << report.error().text();
        EXPECT_EQ(run::to_text(report->transports), "cuda");
        EXPECT_EQ(report->ranks.size(), std::size_t(ranks));
        EXPECT_EQ(wrong(*report), 0u) << algorithm.name << ' ' << ranks << ' ' << elements;
      }
    }
  }
  EXPECT_EQ(machine.alive, 0);
}

TEST(Device, EveryTypeAndOperationIsRight) {
  FakeMachine machine;
  for (const collective::Type type : collective::all_types)
    for (const collective::Operation operation : collective::all_operations) {
      run::Job job = job_of("two-shot", 5, 70'003);
      job.call.type = type;
      job.call.operation = operation;
      job.iterations = 1;
      const auto report = played(machine, job);
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(wrong(*report), 0u) << key_of(type) << ' ' << key_of(operation);
    }
}

TEST(Device, SparseValuesAreRight) {
  FakeMachine machine;
  run::Job job = job_of("ring", 4, 100'000);
  job.sparsity.density = 0.3;
  const auto report = played(machine, job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
}

TEST(Device, ReportsWhatRanAndWhere) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}, FakeGpu{}});
  run::Job job = job_of("ring", 4, 100'000);
  job.gpus = {2, 0};
  const auto report = played(machine, job);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->gpus.size(), 2u);
  EXPECT_EQ(report->gpus[0].uuid, "GPU-0");
  EXPECT_THAT(report->gpus[0].ranks, ElementsAre(1, 3));
  EXPECT_EQ(report->gpus[1].uuid, "GPU-2");
  EXPECT_THAT(report->gpus[1].ranks, ElementsAre(0, 2));
  EXPECT_EQ(report->gpus[1].play, run::GpuPlay::kernel);
  EXPECT_THAT(report->gpus[1].ways, ElementsAre(run::GpuWay::peer, run::GpuWay::same_gpu));
  EXPECT_TRUE(report->notes.empty());
  // In a ring of 4 a rank sends 2 x 3 / 4 of its data; twice.
  ASSERT_EQ(report->trace.hops.size(), 4u);
  for (const run::Hop& hop : report->trace.hops) EXPECT_EQ(hop.bytes.value, 2u * 600'000u);
  for (const run::RankReport& rank : report->ranks) {
    ASSERT_EQ(rank.time_s.size(), 2u);
    EXPECT_GT(rank.time_s[0], 0);
  }
  EXPECT_GT(report->cpu_s, 0);
}

TEST(Device, ShortCallsAreReplayedInRows) {
  FakeMachine machine;
  run::Job job = job_of("one-shot", 2, 256);
  job.iterations = 1;
  const auto report = played(machine, job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->ranks[0].batch, 100);
  EXPECT_EQ(machine.launches, 1 + 1 + 100);  // compared; captured; replayed
}

TEST(Device, WithoutPeerAccessTheHostDrivesCopiesAndSaysWhy) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  machine.no_access = {{0, 1}};
  const auto report = played(machine, job_of("ring", 2, 100'000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  EXPECT_EQ(report->gpus[0].play, run::GpuPlay::copy_engines);
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_THAT(report->notes[0], HasSubstr("no peer access from GPU 0 (GPU-0) to GPU 1 (GPU-1)"));
}

TEST(Device, AHungKernelMeetsTheDeadlineAndIsNamed) {
  static FakeMachine& machine = *new FakeMachine;  // a kernel that ends late is given up, and kept
  machine.stuck_rank = 1;
  const std::int64_t began = now_ns();
  const auto report = played(machine, job_of("ring", 3, 100'000), Seconds(0.3));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_THAT(report.error().what, HasSubstr("stood at instruction"));
  EXPECT_THAT(report.error().what, HasSubstr("waited for rank 1 on GPU 0 (GPU-0)"));
  EXPECT_LT(seconds_since(began).value, 3.0);
}

TEST(Device, AbortEndsARun) {
  static FakeMachine& machine = *new FakeMachine;  // a kernel that ends late is given up, and kept
  machine.stuck_rank = 0;
  const auto driver = machine.process();
  run::Member member;
  member.cuda = driver.get();
  auto session = std::move(*Session::open(member));
  ASSERT_TRUE(session->prepare(job_of("ring", 2, 1000)));
  ASSERT_TRUE(session->connect({{{"", 0}}}, Deadline::in(Seconds(5))));
  ASSERT_TRUE(session->barrier(Deadline::in(Seconds(5))));
  std::thread soon([&] {
    ::usleep(50'000);
    session->abort();
  });
  const auto run = session->run(Deadline::in(Seconds(20)));
  soon.join();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().cause, Cause::cancelled);
}

TEST(Device, MemoryIsKeptOverRunsAndGivenBackForTheHosts) {
  FakeMachine machine;
  const auto driver = machine.process();
  run::Member member;
  member.cuda = driver.get();
  auto session = std::move(*Session::open(member));
  run::Job large = job_of("ring", 2, 1'000'000), small = job_of("ring", 2, 1000);
  ASSERT_TRUE(session->prepare(large));
  const std::uint64_t used = machine.used(0);
  EXPECT_GT(used, 8'000'000u);
  ASSERT_TRUE(session->prepare(small));
  EXPECT_EQ(machine.used(0), used);
  small.memory = run::Memory::host;
  ASSERT_TRUE(session->prepare(small));
  EXPECT_EQ(machine.used(0), 0u);
}

TEST(Device, AnOccupiedGpuIsLeftAloneUnlessToldOtherwise) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  machine.gpu_processes[1] = {{1, "python3", 1 << 20}};
  run::Job job = job_of("ring", 2, 1000);
  const auto refused = played(machine, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "GPU 1 (GPU-1) is used by python3 (process 1)");
  EXPECT_THAT(refused.error().next, HasSubstr("--share-gpus"));
  EXPECT_EQ(machine.used(0) + machine.used(1), 0u);
  job.gpus = {0};
  EXPECT_TRUE(played(machine, job));
  job.gpus = {};
  job.share_gpus = true;
  EXPECT_TRUE(played(machine, job));
}

TEST(Device, TellsWhatItMeasuredOfGpusWhenItIsStopped) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto driver = machine.process();
  run::Job job = job_of("ring", 1, 16 << 10);
  job.gpu_limits = true;
  std::stop_source stopper;
  stopper.request_stop();  // before it begins is early enough, too
  const auto report = run_locally(job, Deadline::in(Seconds(20)), nullptr, driver.get(), stopper.get_token());
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_FALSE(report->gpu_limits.empty());
  EXPECT_THAT(report->gpu_limits.back().why_not, HasSubstr("left out, since the measurement was stopped"));
  EXPECT_EQ(machine.alive, 0);
  EXPECT_EQ(machine.used(0), 0u);
}

TEST(Device, MeasuringGpusLeavesTimeToTellOfIt) {
  FakeMachine machine;
  const auto driver = machine.process();
  run::Job job = job_of("ring", 1, 1 << 20);
  job.gpu_limits = true;
  job.iterations = 1'000'000;
  const std::int64_t began = now_ns();
  const auto report = run_locally(job, Deadline::in(Seconds(2)), nullptr, driver.get());
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_LT(seconds_since(began).value, 10);
  EXPECT_THAT(report->gpu_limits.back().why_not, HasSubstr("left out, since the time was up"));
}

TEST(Device, SaysThatOthersUseCannotBeKnown) {
  FakeMachine machine;
  machine.no_nvml = true;
  const auto report = played(machine, job_of("ring", 2, 1000));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(report->notes,
              ElementsAre("it is not known whether others use the GPUs of local: NVML cannot be asked"));
}

TEST(Device, RefusesGpusThatAreNotThere) {
  FakeMachine machine;
  run::Job job = job_of("ring", 2, 1000);
  job.gpus = {0, 3};
  const auto report = played(machine, job);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "there is no GPU 3: there are 1");
}

TEST(Device, TooLittleMemoryNamesTheGpu) {
  FakeMachine machine({FakeGpu{.memory = 4 << 20}});
  const auto report = played(machine, job_of("ring", 4, 1'000'000));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::unavailable);
  EXPECT_THAT(report.error().what, HasSubstr("GPU 0 (GPU-0): out of memory"));
}

run::Job in_processes(run::Job job, int processes) {
  for (std::size_t r = 0; r < job.seats.size(); ++r)
    job.seats[r].process = int(r * std::size_t(processes) / job.seats.size());
  return job;
}

TEST(Device, ProcessesReachEachOthersGpus) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  // Dealt in turn: two ranks, two GPUs, two processes.
  std::vector<run::Job> jobs;
  for (const char* algorithm : {"ring", "double-tree", "one-shot"})
    for (const std::uint64_t elements : {1000ul, 70'001ul, 3ul})
      jobs.push_back(in_processes(job_of(algorithm, 2, elements), 2));
  for (const auto& report : played_by({&machine, &machine}, jobs)) {
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(run::to_text(report->transports), "cuda");
    EXPECT_EQ(wrong(*report), 0u);
    ASSERT_EQ(report->gpus.size(), 2u);
    EXPECT_THAT(report->gpus[0].ways, ElementsAre(run::GpuWay::ipc));
  }
  EXPECT_EQ(machine.freed_early, 0) << "memory that others had open";
  EXPECT_EQ(machine.alive, 0);
}

TEST(Device, ProcessesThatShareAGpuStageThroughTheHost) {
  FakeMachine machine;
  const run::Job job = in_processes(job_of("ring", 2, 100'000), 2);
  const auto reports = played_by({&machine, &machine}, {job, job});
  for (const auto& report : reports) {
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(run::to_text(report->transports), "shm");
    EXPECT_EQ(wrong(*report), 0u);
    ASSERT_EQ(report->gpus.size(), 2u);
    EXPECT_EQ(report->gpus[0].play, run::GpuPlay::mirror);
    ASSERT_EQ(report->notes.size(), 1u);
    EXPECT_THAT(report->notes[0], HasSubstr("two processes share one GPU and take turns on it"));
  }
  run::Job named = job;
  named.transport = run::Transport::cuda;
  const auto refused = played_by({&machine, &machine}, {named});
  ASSERT_FALSE(refused[0]);
  EXPECT_THAT(refused[0].error().what, HasSubstr("two processes share one GPU"));
  EXPECT_EQ(machine.alive, 0);
}

// In a container the driver may know siblings by the host's numbers.
TEST(Device, WhoMayBeASiblingIsNotTakenForAnother) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  constexpr int nobody_here = 2'000'000'000;
  const auto two = [&](bool own_numbers) {
    return played_by({&machine, &machine}, {in_processes(job_of("ring", 2, 1000), 2)}, own_numbers)[0];
  };
  machine.gpu_processes[0] = {{nobody_here, "", 0}};
  const auto allowed = two(true);
  ASSERT_TRUE(allowed) << allowed.error().text();
  ASSERT_FALSE(allowed->notes.empty());
  EXPECT_THAT(allowed->notes[0], HasSubstr("process 2000000000 on GPU 0 (GPU-0) is not of this container"));
  const auto ended = two(false);
  ASSERT_TRUE(ended) << "where numbers are the driver's, nobody has this one any more";
  EXPECT_TRUE(ended->notes.empty());
  machine.gpu_processes[0].push_back({nobody_here + 1, "", 0});
  const auto many = two(true);
  ASSERT_FALSE(many) << "there is one sibling";
  EXPECT_THAT(many.error().what, HasSubstr("2 processes that are not of this container"));
  machine.gpu_processes[0] = {{1, "init", 0}};
  const auto refused = two(true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is used by init (process 1)"));
  machine.gpu_processes[0] = {{nobody_here, "", 0}};
  const auto alone = played_by({&machine}, {job_of("ring", 1, 1000)}, true)[0];
  ASSERT_FALSE(alone) << "without siblings it is somebody else";
  EXPECT_THAT(alone.error().what, HasSubstr("is used by process 2000000000"));
}

// One process alone learns that the other's memory cannot be opened; both take the same way.
TEST(Device, OneProcessWithoutAccessMakesAllStage) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  machine.no_access = {{1, 0}};
  const auto reports = played_by({&machine, &machine}, {in_processes(job_of("ring", 2, 100'000), 2)});
  ASSERT_TRUE(reports[0]) << reports[0].error().text();
  EXPECT_EQ(wrong(*reports[0]), 0u);
  EXPECT_EQ(run::to_text(reports[0]->transports), "shm");
  EXPECT_THAT(reports[0]->notes[0], HasSubstr("peer access is not supported"));
  EXPECT_EQ(machine.freed_early, 0);
}

}  // namespace
}  // namespace ringtrue::engine
