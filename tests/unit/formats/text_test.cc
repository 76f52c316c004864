#include "formats/text.h"

#include <gtest/gtest.h>

namespace ringtrue::formats {
namespace {

TEST(FormatText, PciAddresses) {
  EXPECT_EQ(pci_address("0000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pci_address("3b:00.1"), "0000:3b:00.1");
  EXPECT_EQ(pci_address("00010000:01:00.0"), "10000:01:00.0");
  EXPECT_EQ(pci_address("ffff:ff:01.0"), "ffff:ff:01.0");
  for (const char* none :
       {"", "0000:3b:00", "0000:3b:20.0", "0000:3b:00.8", "fffffff:ff:ff.0", "x:y:z.0", "1:2:3:4.5"})
    EXPECT_EQ(pci_address(none), std::nullopt) << none;
  EXPECT_TRUE(pci_before("0000:ff:00.0", "0001:00:00.0"));
  EXPECT_TRUE(pci_before("ffff:00:00.0", "10000:00:00.0"));
}

TEST(FormatText, Masks) {
  EXPECT_EQ(mask("0x00000303,0x03030000,,0x0")->text(), "80-81,88-89,96-97,104-105");
  EXPECT_EQ(mask("00000000,000fffff")->text(), "0-19");
  EXPECT_EQ(mask("0xffffffff,0xffffffff")->text(), "0-63");
  EXPECT_EQ(mask("0x0")->count(), 0);
  EXPECT_EQ(mask("0x1ffffffff"), std::nullopt);
  EXPECT_EQ(mask(std::string(10000, ',')), std::nullopt);
  EXPECT_TRUE(mask("0xff")->contains(*mask("0x0f")));
  EXPECT_FALSE(mask("0x0f")->contains(*mask("0xff")));
  EXPECT_EQ(number_list("0-15,32-47")->count(), 32);
  EXPECT_EQ(number_list("5-3"), std::nullopt);
  EXPECT_EQ(number_list("0-4000000000"), std::nullopt);
}

TEST(FormatText, Utf8) {
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(clean(" \x1b[31mred\x7f\xff\n "), "[31mred");
  EXPECT_LE(clean(std::string(5000, 'x')).size(), 256u);
}

}  // namespace
}  // namespace ringtrue::formats
