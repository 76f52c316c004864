#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>

#include "probe/live.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

TEST(Files, ReadsWithoutTrailingWhiteSpace) {
  test::SysfsTree tree;
  tree.file("/sys/a", "16.0 GT/s PCIe\n\n");
  Files files(tree.root());
  EXPECT_EQ(files.read("/sys/a").value(), "16.0 GT/s PCIe");
}

TEST(Files, ReadsNoMoreThan256KiB) {
  test::SysfsTree tree;
  tree.file("/proc/big", std::string(300'000, 'x'));
  Files files(tree.root());
  EXPECT_EQ(files.read("/proc/big").value().size(), 256u << 10);
}

TEST(Files, TellsWhatIsAbsentFromWhatIsForbidden) {
  test::SysfsTree tree;
  tree.folder("/sys/folder");
  Files files(tree.root());
  EXPECT_EQ(files.read("/sys/none").error().cause, Cause::bad_input);
  EXPECT_EQ(files.read("/sys/folder").error().cause, Cause::bad_input);
  EXPECT_EQ(files.list("/sys/none").error().cause, Cause::bad_input);
  EXPECT_EQ(files.link("/sys/folder").error().cause, Cause::bad_input);
}

TEST(Files, DoesNotWaitForAWriter) {
  test::SysfsTree tree;
  tree.folder("/sys");
  ASSERT_EQ(::mkfifo((tree.root() + "/sys/fifo").c_str(), 0600), 0);
  EXPECT_FALSE(Files(tree.root()).read("/sys/fifo"));
}

TEST(Files, ListsNamesInOrder) {
  test::SysfsTree tree;
  tree.file("/sys/x/b", "");
  tree.file("/sys/x/a", "");
  tree.folder("/sys/x/c");
  EXPECT_EQ(Files(tree.root()).list("/sys/x").value(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Files, FollowsLinksToAbsolutePaths) {
  test::SysfsTree tree;
  const std::string folder = tree.pci("0000:3a:00.0/0000:3b:00.0");
  tree.link(folder + "/driver", "/sys/bus/pci/drivers/mlx5_core");
  Files files(tree.root());
  EXPECT_EQ(files.link("/sys/bus/pci/devices/0000:3b:00.0").value(), folder);
  // Through a link, and to something that is not there.
  EXPECT_EQ(files.link("/sys/bus/pci/devices/0000:3b:00.0/driver").value(), "/sys/bus/pci/drivers/mlx5_core");
}

// openat2 gives up on ".." when anything on the machine is renamed meanwhile.
TEST(Files, ReadsThroughLinksWhileOthersRename) {
  test::SysfsTree tree, other;
  tree.pci("0000:3a:00.0/0000:3b:00.0");
  other.file("/a", "");
  std::atomic<bool> stop = false;
  std::thread renames([&] {
    for (std::string from = other.root() + "/a", to = other.root() + "/b"; !stop; std::swap(from, to))
      if (std::rename(from.c_str(), to.c_str()) != 0) break;
  });
  Files files(tree.root());
  int failed = 0;
  for (int i = 0; i < 5000; ++i) failed += !files.read("/sys/bus/pci/devices/0000:3b:00.0/class");
  stop = true;
  renames.join();
  EXPECT_EQ(failed, 0);
}

TEST(Files, StaysBelowItsRoot) {
  test::SysfsTree tree;
  tree.folder("/sys");
  std::filesystem::create_symlink("/etc/passwd", tree.root() + "/sys/absolute");
  std::filesystem::create_symlink("../../../../../../etc/passwd", tree.root() + "/sys/climbs");
  Files files(tree.root());
  EXPECT_FALSE(files.read("/sys/absolute"));
  EXPECT_FALSE(files.read("/sys/climbs"));
  EXPECT_FALSE(files.read("/../../../../../../etc/passwd"));
}

TEST(Files, ReadsThisMachine) {
  Files files;
  EXPECT_FALSE(files.read("/proc/sys/kernel/osrelease").value().empty());
  EXPECT_FALSE(files.answer("nvml"));
}

}  // namespace
}  // namespace ringtrue::probe
