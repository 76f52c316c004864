#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "report/text/text.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;
using testing::Not;

class Events : public testing::Test {
 protected:
  Events() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~Events() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static ops::NodeEvent event(std::int64_t first, std::int64_t last, std::uint64_t count,
                              const std::string& counter = "link_downed") {
    return {"node5", {first, last, "mlx5_0/1", counter, count}};
  }
  // 13:10 of a day in the past
  static constexpr std::int64_t at = 1'764'076'200;
};

TEST_F(Events, ALinkThatWentDownIsASentence) {
  EXPECT_EQ(sentence(event(at, at + 1800, 3)),
            "mlx5_0 port 1 of node5 went down 3 times between 2025-11-25 13:10 and 2025-11-25 13:40");
  EXPECT_EQ(sentence(event(at, at + 5, 1, "port_down")),
            "mlx5_0 port 1 of node5 went down once at 2025-11-25 13:10:05");
  EXPECT_THAT(sentence(event(at, at + 5, 412, "symbol_error")),
              HasSubstr("mlx5_0 port 1 of node5: 412 symbol errors at 2025-11-25 13:10:05"));
}

TEST_F(Events, WhatIsOfTodayNeedsNoDate) {
  const std::int64_t now = ::time(nullptr);
  EXPECT_THAT(sentence(event(now - 2, now, 1)), Not(HasSubstr("-")));
}

TEST_F(Events, RowsOfOneCauseAreOne) {
  ops::EventsDocument document;
  document.seconds = 3600;
  document.nodes = {"node5", "node6"};
  document.events = {event(at, at + 5, 1), event(at + 5, at + 10, 2), event(at + 600, at + 605, 1)};
  document.notes = {"node6 has watched for 5 minutes only"};
  const std::string shown = text(document, {});
  EXPECT_THAT(shown, HasSubstr("2 events of 2 nodes in the last 1 hour"));
  EXPECT_THAT(shown, HasSubstr("node6 has watched for 5 minutes only"));
  EXPECT_THAT(shown, HasSubstr("13:10:00  2025-11-25 13:10:10  node5  mlx5_0 port 1      3"));
}

TEST_F(Events, NothingIsSaidInALine) {
  ops::EventsDocument document;
  document.seconds = 3600;
  document.nodes = {"node5"};
  EXPECT_THAT(text(document, {}), HasSubstr("0 events of 1 node in the last 1 hour"));
  document.seconds = 30 * 86'400;
  EXPECT_THAT(text(document, {}), HasSubstr("in the last 30 days"));
  document.seconds = 90;
  EXPECT_THAT(text(document, {}), HasSubstr("in the last 90 seconds"));
}

}  // namespace
}  // namespace ringtrue::report
