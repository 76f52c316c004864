#include "pki/expiry.h"

#include <gtest/gtest.h>

#include "pki/x509.h"

namespace ringtrue::pki {
namespace {

constexpr std::int64_t day = 24 * 60 * 60;

TEST(Expiry, IsWarnedOfInTheLastDays) {
  const std::int64_t end = 2'000'000'000;
  Profile profile{.name = "node3", .unit = "role:node", .hosts = {"node3"}};
  profile.server = true;
  profile.not_before = end - 100 * day, profile.not_after = end;
  const auto made = make_certificate(profile, nullptr);
  ASSERT_TRUE(made) << made.error().text();
  const auto warned = [&](std::int64_t before) { return expiry_warning(made->certificate, end - before); };
  EXPECT_EQ(warned(15 * day), "");
  EXPECT_EQ(warned(14 * day),
            "the certificate of node3 expires in 14 days; make another with `ringtrue pki issue`");
  EXPECT_EQ(warned(day + 1),
            "the certificate of node3 expires in 1 day; make another with `ringtrue pki issue`");
  EXPECT_NE(warned(60).find("in less than a day"), std::string::npos);
  EXPECT_EQ(warned(-60), "");
  EXPECT_EQ(expiry_warning("no certificate", end), "");
}

}  // namespace
}  // namespace ringtrue::pki
