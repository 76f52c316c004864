#include "metrics/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::metrics {
namespace {

using testing::HasSubstr;

TEST(BuildInfo, NamesVersionRevisionAndProtocol) {
  EXPECT_THAT(
      exposition({build_info("0.1.0", 9, "a04f06f0aaaa")}),
      HasSubstr("\nringtrue_build_info{version=\"0.1.0\",revision=\"a04f06f0aaaa\",protocol=\"9\"} 1\n"));
}

TEST(BuildInfo, HasNoLabelForARevisionThatIsNotKnown) {
  EXPECT_THAT(exposition({build_info("0.1.0", 9, "")}),
              HasSubstr("\nringtrue_build_info{version=\"0.1.0\",protocol=\"9\"} 1\n"));
}

}  // namespace
}  // namespace ringtrue::metrics
