#include "formats/xml.h"

#include <gmock/gmock.h>

#include "tests/support/format_fixture.h"

namespace ringtrue::formats {
namespace {

using ringtrue::test::refusal;
using testing::HasSubstr;

Result<void> load(std::string_view text) {
  pugi::xml_document document;
  return load_xml(text, document);
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "<a>";
  for (int i = 0; i < depth; ++i) text += "</a>";
  return text;
}

TEST(FormatXml, ReadsWhatToolsWrite) {
  pugi::xml_document document;
  ASSERT_TRUE(
      load_xml("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
               "<!-- <x> --><topology a='1 > 0' b=\"&lt;&#65;\n\"><x/><![CDATA[<]]></topology>\n",
               document));
  EXPECT_EQ(attribute(document.document_element(), "a"), "1 > 0");
  EXPECT_EQ(attribute(document.document_element(), "b"), "<A ");
  EXPECT_EQ(xml_root("<?xml?> <!-- c --> <!DOCTYPE t SYSTEM 'x'>\n<system version='1'>"), "system");
  EXPECT_EQ(xml_root("Switch 36"), "");
}

TEST(FormatXml, RefusesEntities) {
  EXPECT_THAT(refusal(load("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>")),
              HasSubstr("line 1: declarations of entities"));
  EXPECT_THAT(refusal(load("<!DOCTYPE a [\n<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>")),
              HasSubstr("entities"));
  EXPECT_THAT(refusal(load("<!ENTITY b 'c'><a/>")), HasSubstr("entities"));
  EXPECT_THAT(refusal(load("<a><!ENTITY b 'c'></a>")), HasSubstr("entities"));
  // One that nobody declared stays as it is written.
  pugi::xml_document document;
  ASSERT_TRUE(load_xml("<a b='&boom;'/>", document));
  EXPECT_EQ(attribute(document.document_element(), "b"), "&boom;");
}

TEST(FormatXml, RefusesWhatIsTooMuch) {
  EXPECT_TRUE(load(nested(max_xml_depth)));
  EXPECT_THAT(refusal(load(nested(max_xml_depth + 1))), HasSubstr("nests deeper than 256"));
  std::string many = "<a>";
  for (std::size_t i = 0; i < max_xml_elements; ++i) many += "<b/>";
  EXPECT_THAT(refusal(load(many + "</a>")), HasSubstr("more than 1000000 elements"));
}

TEST(FormatXml, RefusesWhatIsBroken) {
  EXPECT_THAT(refusal(load("")), HasSubstr("no element"));
  EXPECT_THAT(refusal(load("<a>\n<b></a>")), HasSubstr("line 2"));
  EXPECT_THAT(refusal(load("<a><b>")), HasSubstr("line 1: start-end tags mismatch"));
  EXPECT_THAT(refusal(load("<a b=\"c>")), HasSubstr("line 1: error parsing element attribute"));
  EXPECT_THAT(refusal(load("<a/><b/>")), HasSubstr("second root"));
  EXPECT_THAT(refusal(load("<a/>\ngarbage")), HasSubstr("outside of the root"));
  EXPECT_THAT(refusal(load("x<a/>")), HasSubstr("outside of the root"));
  EXPECT_THAT(refusal(load("</a>")), HasSubstr("start-end tags mismatch"));
  EXPECT_THAT(refusal(load("<!-- <a/>")), HasSubstr("comment"));
  EXPECT_THAT(refusal(load(std::string_view("<a>\n\0</a>", 9))), HasSubstr("line 2: a NUL byte"));
  EXPECT_THAT(refusal(load("<a b='\xff'/>")), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal(load(std::string_view("\xff\xfe<\0a\0", 6))), HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace ringtrue::formats
