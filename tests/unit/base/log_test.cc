#include "base/log.h"

#include <gtest/gtest.h>

#include <regex>

namespace ringtrue {
namespace {

TEST(Log, IsOneLineAMessage) {
  EXPECT_EQ(log_format(LogLevel::error, "a\nb\x1b", true), "<3>a b \n");
  EXPECT_EQ(log_format(LogLevel::debug, "x", true), "<7>x\n");
  set_log_program("ringtrued");
  const std::string line = log_format(LogLevel::warning, "disk full", false);
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ringtrued warning: disk full\n)")))
      << line;
  set_log_program("");
}

TEST(Log, DropsWhatIsBelowItsLevel) {
  EXPECT_TRUE(log_enabled(LogLevel::info));
  EXPECT_FALSE(log_enabled(LogLevel::debug));
  set_log_level(LogLevel::error);
  EXPECT_FALSE(log_enabled(LogLevel::warning));
  testing::internal::CaptureStderr();
  log_warn("not {}", "seen");
  log_error("seen {}", 7);
  const std::string text = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::info);
  EXPECT_EQ(text.find("not seen"), std::string::npos);
  EXPECT_NE(text.find("seen 7"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue
