#include "daemon/self_inspection.h"

#include <gtest/gtest.h>

#include <atomic>

#include "probe/live.h"
#include "probe/probe.h"
#include "tests/support/sysfs_tree.h"
#include "tests/unit/daemon/daemon_process.h"

namespace ringtrue::daemon {
namespace {

// A node with one NIC whose slot gives it half of the lanes that it could use.
probe::Recording slow_slot() {
  test::SysfsTree tree;
  tree.pci("0000:3a:00.0");
  tree.rdma("mlx5_0",
            tree.pci("0000:3a:00.0/0000:3b:00.0",
                     {.device_class = 0x020700, .vendor = 0x15b3, .device = 0x101b, .width = "8"}),
            "200 Gb/sec (4X HDR)");
  probe::Recording recording;
  recording.node = "node0";
  probe::Files files(tree.root());
  probe::RememberingSource source(files, recording);
  topology::Node node;
  probe::probe_pci(source, node);
  probe::probe_rdma(source, node);
  return recording;
}

TEST(SelfInspection, CountsWhatTheRulesFind) {
  const Tally tally;
  SelfInspection inspection([](const auto&, const auto&) { return slow_slot(); }, tally);
  ASSERT_TRUE(eventually([&] { return inspection.last().has_value(); }));
  const SelfInspection::Found found = *inspection.last();
  EXPECT_EQ(found.findings[std::size_t(diagnosis::Severity::critical)] +
                found.findings[std::size_t(diagnosis::Severity::warning)],
            1);
  EXPECT_GT(found.at_us, 1'700'000'000'000'000);
}

TEST(SelfInspection, OfANodeThatCannotBeReadTellsNothing) {
  const Tally tally;
  std::atomic<bool> asked = false;
  SelfInspection inspection(
      [&](const auto&, const auto&) -> Result<probe::Recording> {
        asked = true;
        return fail(Cause::unavailable, "no probe");
      },
      tally);
  ASSERT_TRUE(eventually([&] { return asked.load(); }));
  inspection.stop();
  EXPECT_FALSE(inspection.last());
}

TEST(SelfInspection, LeavesANodeAloneThatAnOperatorHas) {
  Tally tally;
  tally.held = true;
  std::atomic<bool> asked = false;
  SelfInspection inspection(
      [&](const auto&, const auto&) {
        asked = true;
        return probe::Recording();
      },
      tally);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  inspection.stop();  // does not wait for the next look
  EXPECT_FALSE(asked);
}

// A reading in progress ends with the daemon.
TEST(SelfInspection, EndsInTheMiddleOfAReading) {
  const Tally tally;
  std::atomic<bool> asked = false;
  SelfInspection inspection(
      [&](const auto&, const std::stop_token& stop) -> Result<probe::Recording> {
        asked = true;
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return fail(Cause::cancelled, "stopped");
      },
      tally);
  ASSERT_TRUE(eventually([&] { return asked.load(); }));
  inspection.stop();
  EXPECT_FALSE(inspection.last());
}

}  // namespace
}  // namespace ringtrue::daemon
