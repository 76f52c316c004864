// From what both ends of each pair saw to who is cut off; and what check, run and sweep make of it.
#include "operator/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "operator/check.h"
#include "operator/run.h"
#include "operator/sweep.h"
#include "tests/unit/operator/scripted.h"

namespace ringtrue::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Call = diagnosis::Tried::Call;

// All is well between the ranks of a job, but for what `change` does to what one end saw.
std::function<run::RunReport(const run::Job&)> seen(std::function<void(run::Reach&)> change) {
  return [change](const run::Job& job) {
    run::RunReport report;
    for (int a = 0; a < job.ranks(); ++a) {
      run::Network network;
      network.node = job.nodes[std::size_t(job.seats[std::size_t(a)].node)];
      network.interface = "eth0";
      network.address = "10.0.0." + std::to_string(a);
      network.mtu = 1500;
      report.networks.push_back(network);
      for (int b = 0; b < job.ranks(); ++b) {
        if (a == b) continue;
        run::Reach reach{a, b, true, true, false, "", "10.0.0." + std::to_string(b) + ":2000", 1500, true};
        change(reach);
        report.reaches.push_back(reach);
      }
    }
    return report;
  };
}

// Nobody reaches node2: its SYNs are dropped.
void cut_off(run::Reach& reach) {
  if (reach.peer == 2) reach.called = false;
  if (reach.self == 2) reach.taken = false;
}

TEST(ReachOfRun, ACallIsGoodIfEitherEndSaysSo) {
  Fleet fleet;
  ScriptedFleet runner(fleet);
  const run::Job job = runner.job();
  const auto judged = [&](std::function<void(run::Reach&)> change) {
    return reached(seen(std::move(change))(job), job, job.nodes).verdict;
  };
  EXPECT_TRUE(judged([](run::Reach&) {}).findings.empty());
  EXPECT_TRUE(judged([](run::Reach& r) { r.called = r.self != 0; }).findings.empty());
  const auto blocked = judged(cut_off);
  ASSERT_EQ(blocked.findings.size(), 1u);
  EXPECT_EQ(blocked.findings[0].kind, diagnosis::FindingKind::blocked_node);
  EXPECT_THAT(blocked.left_out, ElementsAre(2));
  const auto vanishing = judged([](run::Reach& r) {
    cut_off(r);
    r.knocked = r.self == 2;
  });
  EXPECT_EQ(vanishing.findings.at(0).evidence.at(0).kind, diagnosis::StatementKind::answers_vanish);
  const auto rejected = judged([](run::Reach& r) {
    cut_off(r);
    if (r.peer == 2) r.why = "Connection refused";
  });
  EXPECT_EQ(rejected.findings.at(0).evidence.at(0).kind, diagnosis::StatementKind::calls_rejected);
  const auto longer = judged([](run::Reach& r) { r.acknowledged = r.self != 1; });
  ASSERT_EQ(longer.findings.size(), 1u);
  EXPECT_EQ(longer.findings[0].kind, diagnosis::FindingKind::mtu_node);
  EXPECT_EQ(longer.findings[0].scope.type, diagnosis::ScopeType::sender);
}

// Of UDP both ends tell what came.
std::function<run::RunReport(const run::Job&)> datagrams(std::function<void(run::Reach&)> change) {
  return [change](const run::Job& job) {
    run::RunReport report = seen([](run::Reach&) {})(job);
    for (run::Reach reach : std::vector(report.reaches)) {
      reach.datagrams = reach.long_taken = true;
      change(reach);
      report.reaches.push_back(reach);
    }
    return report;
  };
}

TEST(ReachOfRun, DatagramsAreJudgedByWhatCame) {
  Fleet fleet;
  ScriptedFleet runner(fleet);
  const run::Job job = runner.job();
  const auto told = [&](std::function<void(run::Reach&)> change) {
    const auto trouble = trouble_of(reached(datagrams(std::move(change))(job), job, job.nodes));
    return trouble ? trouble->error.what : "";
  };
  EXPECT_EQ(told([](run::Reach&) {}), "");
  // A word that was lost on its way.
  EXPECT_EQ(told([](run::Reach& r) {
              if (r.datagrams && r.self == 1) r.called = r.acknowledged = false;
            }),
            "");
  EXPECT_THAT(told([](run::Reach& r) {
                if (r.datagrams && r.self == 1) r.acknowledged = false;
                if (r.datagrams && r.peer == 1) r.long_taken = false;
              }),
              HasSubstr("packets of 1500 bytes from node1 to node[0,2-3] vanish, short ones arrive"));
  EXPECT_THAT(told([](run::Reach& r) {
                if (!r.datagrams) return;
                if (r.self == 1 && r.peer == 3) r.called = r.acknowledged = false;
                if (r.self == 3 && r.peer == 1) r.taken = r.long_taken = false;
              }),
              HasSubstr("node1 cannot send datagrams to node3: UDP port 10.0.0.3:2000 gives no answer"));
  // Of a release that sends none there is no word.
  EXPECT_FALSE(trouble_of(reached(datagrams([](run::Reach& r) {
                                    if (r.datagrams && r.self == 1) r.peer = 99;
                                    if (r.datagrams && r.peer == 1)
                                      r.called = r.taken = r.acknowledged = false;
                                  })(job),
                                  job, job.nodes)));
}

TEST(ReachOfRun, NodesWithAFasterNetworkAreTold) {
  run::Network slow{
      "node0", "eth0", "10.0.0.0", 1500, 1500, BytesPerSecond(125e6), "eth1", BytesPerSecond(12.5e9)};
  run::Network alike = slow;
  alike.node = "node1";
  run::Network fine{"node2", "eth0", "10.0.0.2", 1500, 1500, BytesPerSecond(12.5e9), "", {}};
  EXPECT_THAT(notes_on({slow, alike, fine}),
              ElementsAre("node[0-1]: data goes over eth0 (1 Gbit/s), and eth1 is faster (100 Gbit/s): "
                          "--data-interface eth1 measures that"));
}

TEST(ReachOfCheck, LeavesOutWhoIsCutOffAndMeasuresTheOthers) {
  Scene scene;
  scene.fleet.nodes = 6;
  scene.fleet.reach = seen(cut_off);
  CheckRequest request;
  request.setup = scene.setup();
  request.no_inspect = true;
  std::size_t told_by = 99;  // run
  scene.fleet.before = [&] {
    if (!scene.told<progress::Suspects>().empty()) told_by = std::min(told_by, scene.fleet.played.size());
  };
  const auto document = check(request, scene.control);
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->error);
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::faulty);
  ASSERT_EQ(document->diagnosis.findings.size(), 1u);
  EXPECT_EQ(document->diagnosis.findings[0].kind, diagnosis::FindingKind::blocked_node);
  EXPECT_EQ(told_by, 0u) << "not before the others were measured";
  EXPECT_EQ(document->networks.size(), 6u);
  ASSERT_FALSE(scene.fleet.played.empty());
  for (const run::Job& job : scene.fleet.played)
    for (const run::Seat& seat : job.seats) EXPECT_NE(seat.node, 2) << "it was measured";
  EXPECT_GT(document->diagnosis.cost.runs, 2);
}

TEST(ReachOfCheck, WithNobodyLeftSaysWhy) {
  Scene scene;
  scene.fleet.reach = seen([](run::Reach& r) { r.called = r.taken = false; });
  CheckRequest request;
  request.setup = scene.setup();
  request.no_inspect = true;
  const auto document = check(request, scene.control);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::faulty);
  ASSERT_EQ(document->diagnosis.findings.size(), 1u);
  EXPECT_EQ(document->diagnosis.findings[0].kind, diagnosis::FindingKind::blocked_fleet);
  EXPECT_TRUE(scene.fleet.played.empty());
}

TEST(ReachOfRun, NeedsAll) {
  Scene scene;
  scene.fleet.reach = seen(cut_off);
  RunRequest request;
  request.setup = scene.setup();
  request.call.algorithm = collective::AlgorithmId::ring;
  request.call.size = Bytes(1 << 20);
  const auto document = run(request, scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.cause, Cause::unreachable);
  EXPECT_EQ(document->error->error.where.node, "node2");
  EXPECT_THAT(document->error->error.what,
              AllOf(HasSubstr("cannot connect to node2: TCP port 10.0.0.2:2000 gives no answer within 2 s"),
                    HasSubstr("node2: eth0, 10.0.0.2, MTU 1500")));
  EXPECT_TRUE(scene.fleet.played.empty());
}

TEST(ReachOfSweep, NeedsAll) {
  Scene scene;
  scene.fleet.reach = seen(cut_off);
  SweepRequest request;
  request.setup = scene.setup();
  const auto document = sweep(request, scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_THAT(document->error->error.what, HasSubstr("cannot connect to node2"));
  EXPECT_TRUE(scene.fleet.played.empty());
}

}  // namespace
}  // namespace ringtrue::ops
