#include "base/width.h"

#include <gtest/gtest.h>
#include <locale.h>
#include <wchar.h>

#include <string>

namespace ringtrue {
namespace {

TEST(Width, CountsColumnsAndNotCodePoints) {
  EXPECT_EQ(columns_of("node1"), 5u);
  EXPECT_EQ(columns_of("東京"), 4u);
  EXPECT_EQ(columns_of("e\xcc\x81t\xc3\xa9"), 3u);  // a combining accent, and a letter that has its own
  EXPECT_EQ(columns_of("ｆ！"), 4u);                // fullwidth
  EXPECT_EQ(columns_of("각"), 2u);
  EXPECT_EQ(columns_of("\x1b[31mred\x1b[0m"), 3u);
  EXPECT_EQ(columns_of("\x1b[31"), 0u);  // ends within the sequence
  EXPECT_EQ(columns_of("\xff\xfe"), 2u);
  EXPECT_EQ(columns_of("😀"), 2u);
}

TEST(Width, OfAmbiguousCharactersTheTerminalDecides) {
  EXPECT_EQ(columns_of("…α"), 2u);
  EXPECT_EQ(columns_of("…α", Ambiguous::wide), 4u);
  EXPECT_EQ(columns_of("ab", Ambiguous::wide), 2u);
}

TEST(Width, CharactersAreReadInTheirShortestFormAlone) {
  EXPECT_FALSE(first_character("\xc0\x80").valid);
  EXPECT_FALSE(first_character("\xed\xa0\x80").valid);  // a surrogate
  EXPECT_FALSE(first_character("\xe2\x82").valid);
  EXPECT_FALSE(first_character("\xf5\x80\x80\x80").valid);
  const Character euro = first_character("€x");
  EXPECT_TRUE(euro.valid);
  EXPECT_EQ(euro.code, 0x20acu);
  EXPECT_EQ(euro.bytes, 3u);
}

// The C library's tables are of another version of Unicode, and have their own mind about some hundred.
TEST(Width, AgreesWithTheCLibraryOnAlmostAll) {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) GTEST_SKIP() << "no C.UTF-8";
  const locale_t before = uselocale(utf8);
  int compared = 0, differing = 0;
  std::string which;
  for (std::uint32_t code = 0xa0; code < 0x20000; ++code) {
    const int theirs = wcwidth(wchar_t(code));
    if (theirs < 0) continue;  // not assigned
    ++compared;
    if (theirs == columns_of(code)) continue;
    if (++differing < 20) which += " " + std::to_string(code);
  }
  uselocale(before);
  freelocale(utf8);
  EXPECT_GT(compared, 60'000);
  EXPECT_LT(differing, 160) << which;
}

}  // namespace
}  // namespace ringtrue
