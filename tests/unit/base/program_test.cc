#include "base/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace ringtrue {
namespace {

namespace fs = std::filesystem;

TEST(Program, LooksBesideItselfAndWhereThePackageIsInstalled) {
  EXPECT_EQ(package_places("helper", "/usr/bin"),
            (std::vector<std::string>{"/usr/bin/helper", "/usr/libexec/ringtrue/helper",
                                      "/usr/lib/ringtrue/helper"}));
}

TEST(Program, FindsWhatLiesBesideIt) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const auto found = find_in_package(self.filename().string());
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(fs::equivalent(*found, self));
}

TEST(Program, SaysWhereItLooked) {
  const auto missing = find_in_package("no-such-helper");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().cause, Cause::unavailable);
  EXPECT_THAT(missing.error().what, ::testing::StartsWith("no-such-helper is neither in /"));
  EXPECT_NE(missing.error().next, "");
}

}  // namespace
}  // namespace ringtrue
