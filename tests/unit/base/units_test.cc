#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ringtrue {
namespace {

TEST(Size, ReadsBinaryUnits) {
  EXPECT_EQ(parse_size("0")->value, 0u);
  EXPECT_EQ(parse_size("4096")->value, 4096u);
  EXPECT_EQ(parse_size("1K")->value, 1024u);
  EXPECT_EQ(parse_size("64M")->value, 64u << 20);
  EXPECT_EQ(parse_size("64m")->value, 64u << 20);
  EXPECT_EQ(parse_size("64MiB")->value, 64u << 20);
  EXPECT_EQ(parse_size("1.5G")->value, 3u << 29);
  EXPECT_EQ(parse_size(" 12 B ")->value, 12u);
  EXPECT_EQ(parse_size("4E")->value, std::uint64_t(1) << 62);
}

TEST(Size, IsReadInTheUnitThatFits) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::ldexp(64, 20)), "64.0 MiB");
  EXPECT_EQ(size_text(std::ldexp(3, 60)), "3.0 EiB");
  EXPECT_EQ(size_text(std::ldexp(2000, 60)), "2000.0 EiB");
}

TEST(Size, RefusesWhatIsNone) {
  for (const char* text : {"", "-1", "-4K", "M", ".", "1e6", "0x10", "12Q", "1KK", "1Ki", "iB", "5E", "nan",
                           "inf", "99999999999999999999999999", "1 2", "1..2"}) {
    const auto r = parse_size(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().cause, Cause::bad_input);
    EXPECT_FALSE(r.error().next.empty());
  }
  EXPECT_NE(parse_size("-1").error().what.find("negative"), std::string::npos);
  EXPECT_FALSE(parse_size(std::string(1000, '9')));
}

TEST(Size, TextReadsBackAsTheSameSize) {
  EXPECT_EQ(to_text(Bytes(64u << 20)), "64M");
  EXPECT_EQ(to_text(Bytes(1536)), "1.5K");
  EXPECT_EQ(to_text(Bytes(123)), "123");
  EXPECT_EQ(to_text(Bytes(0)), "0");
  std::uint64_t x = 1;
  for (int i = 0; i < 4000; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    const Bytes size((x >> (2 + i % 60)) & ~((std::uint64_t(1) << (i % 23)) - 1));
    EXPECT_EQ(parse_size(to_text(size)).value(), size) << to_text(size);
  }
}

TEST(Rate, ReadsDecimalUnits) {
  EXPECT_DOUBLE_EQ(parse_rate("500Mbit")->value, 62.5e6);
  EXPECT_DOUBLE_EQ(parse_rate("400Gbit/s")->value, 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("12.5GB/s")->value, 12.5e9);
  EXPECT_DOUBLE_EQ(parse_rate("62.5 MB/s")->value, 62.5e6);
  EXPECT_DOUBLE_EQ(parse_rate("10Gbps")->value, 1.25e9);
  EXPECT_DOUBLE_EQ(parse_rate("8bit/s")->value, 1);
  EXPECT_DOUBLE_EQ(parse_rate("800kbit")->value, 1e5);
}

TEST(Rate, RefusesWhatIsNone) {
  for (const char* text :
       {"", "500", "0Mbit", "-500Mbit", "Mbit", "1GiB/s", "1e9B/s", "5Mbyte", "inf", "9999999TB/s"}) {
    ASSERT_FALSE(parse_rate(text)) << text;
    EXPECT_EQ(parse_rate(text).error().cause, Cause::bad_input);
  }
}

TEST(Rate, TextHasThreeDigits) {
  EXPECT_EQ(to_text(BytesPerSecond(61.2e6)), "61.2 MB/s");
  EXPECT_EQ(to_text(BytesPerSecond(231e9)), "231 GB/s");
  EXPECT_EQ(to_text(BytesPerSecond(999.6e6)), "1.00 GB/s");
  EXPECT_EQ(to_text(BytesPerSecond(0)), "0 B/s");
  EXPECT_EQ(to_text(BytesPerSecond(std::nan(""))), "unknown");
  for (double rate = 1; rate < 1e13; rate *= 1.37) {
    EXPECT_NEAR(parse_rate(to_text(BytesPerSecond(rate)))->value, rate, rate * 0.0051) << rate;
  }
}

TEST(Duration, ReadsUnits) {
  EXPECT_DOUBLE_EQ(parse_duration("20ms")->value, 0.02);
  EXPECT_DOUBLE_EQ(parse_duration("1.5s")->value, 1.5);
  EXPECT_DOUBLE_EQ(parse_duration("3us")->value, 3e-6);
  EXPECT_DOUBLE_EQ(parse_duration("2m")->value, 120);
  EXPECT_DOUBLE_EQ(parse_duration("7")->value, 7);
  EXPECT_DOUBLE_EQ(parse_duration("0")->value, 0);
  for (const char* text : {"", "-1s", "s", "1x", "1e3", "1000000d"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Duration, ADelayHasAUnit) {
  EXPECT_DOUBLE_EQ(parse_delay("5us")->value, 5e-6);
  EXPECT_DOUBLE_EQ(parse_delay("0")->value, 0);
  EXPECT_DOUBLE_EQ(parse_delay("2m")->value, 120);
  for (const char* text : {"5", "0.5", "5.", "-1us", ""}) EXPECT_FALSE(parse_delay(text)) << text;
  EXPECT_EQ(parse_delay("5").error().next, "say 5us, 5ms or 5s");
}

TEST(Duration, TextHasThreeDigits) {
  EXPECT_EQ(to_text(Seconds(12.3e-6)), "12.3 us");
  EXPECT_EQ(to_text(Seconds(4.51e-3)), "4.51 ms");
  EXPECT_EQ(to_text(Seconds(2.07)), "2.07 s");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Seconds(-0.5)), "-500 ms");
  EXPECT_EQ(to_text(Seconds(std::numeric_limits<double>::infinity())), "unknown");
}

TEST(ErrorText, IsOneLine) {
  EXPECT_EQ((Error{Cause::peer_lost, "connection reset", "node3 run", "try again"}.text()),
            "node3 run: connection reset; try again");
  EXPECT_EQ((Error{Cause::internal, "a\nb\x1b[31m", "", ""}.text()), "a b [31m");
}

}  // namespace
}  // namespace ringtrue
