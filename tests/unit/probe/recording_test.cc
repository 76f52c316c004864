#include <gmock/gmock.h>

#include "formats/gzip.h"
#include "probe/recording.h"
#include "tests/support/format_fixture.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using ringtrue::test::refusal;
using ringtrue::test::value;
using testing::HasSubstr;

Recording example() {
  Recording recording;
  recording.node = "node3";
  recording.made_by = "ringtrue 0.1.0";
  recording.made_at = "2026-11-21T07:15:13Z";
  recording.files["/sys/class/net/eth0/mtu"] = "9000";
  recording.files["/sys/bus/pci/devices/0000:3b:00.0/config"] = std::string("\xde\x10\x00\xff", 4);
  recording.folders["/sys/class/net"] = {"eth0", "lo"};
  recording.folders["/sys/class/infiniband"] = {};
  recording.links["/sys/class/net/eth0/device"] = "/sys/devices/pci0000:3a/0000:3b:00.0";
  recording.answers["nvml"] = R"({"gpus": []})";
  recording.errors["fabric"] = {Cause::refused, "permission denied", "umad0", "run as root"};
  recording.window_s = 1.5;
  recording.later_files["/sys/class/net/eth0/statistics/rx_bytes"] = "17";
  recording.later_answers["nvml"] = "{}";
  return recording;
}

TEST(Recording, ComesBackAsItWas) {
  const std::string bytes = write_recording(example());
  EXPECT_TRUE(formats::is_gzip(bytes));
  EXPECT_EQ(value(read_recording(bytes)), example());
  EXPECT_EQ(value(read_recording(value(formats::gunzip(bytes)))), example());
}

TEST(Recording, RefusesPathsThatClimb) {
  const auto why = [](const std::string& text) { return refusal(read_recording(text)); };
  const std::string head = R"({"schema": "ringtrue.recording/1", )";
  for (const char* path :
       {"../../etc/passwd", "/sys/../etc/passwd", "sys/x", "/sys//x", "/sys/./x", "/a\\u0000b", ""})
    for (const char* part : {"files", "later_files", "links", "folders"})
      EXPECT_THAT(why(head + "\"" + part + "\": {\"" + path + "\": \"x\"}}"),
                  HasSubstr("is not an absolute path"));
  EXPECT_THAT(why(head + R"("links": {"/sys/x": "../y"}})"), HasSubstr("leads to no absolute path"));
  EXPECT_THAT(why(head + R"("folders": {"/sys": [".."]}})"), HasSubstr("lists a path"));
  EXPECT_THAT(why(head + R"("folders": {"/sys": ["a/b"]}})"), HasSubstr("lists a path"));
}

TEST(Recording, RefusesAnotherForm) {
  const auto why = [](const std::string& text) { return refusal(read_recording(text)); };
  EXPECT_THAT(why(""), HasSubstr("not a recording: a document that is not JSON"));
  EXPECT_THAT(why("{}"), HasSubstr("no schema"));
  EXPECT_THAT(why(R"({"schema": "ringtrue.topo/1"})"), HasSubstr("schema \"ringtrue.topo/1\""));
  EXPECT_THAT(why(R"([1, 2])"), HasSubstr("not of the form"));
  const std::string head = R"({"schema": "ringtrue.recording/1", )";
  for (const char* body :
       {R"("files": [])", R"("files": {"/a": 1}})", R"("files": {"/a": ["x"]})", R"("files": "x")",
        R"("files": {"/a": {"b": {}}})", R"("folders": {"/a": "x"})", R"("folders": {"/a": [["x"]]})",
        R"("window_s": -1)", R"("node": 3)", R"("other": {"a": 1})", R"("files": null)"})
    EXPECT_THAT(why(head + body + "}"), HasSubstr("not a recording")) << body;
  EXPECT_THAT(why(head + R"("files": {"/a": {"hex": "0x"}}})"), HasSubstr("no text"));
  EXPECT_THAT(why(head + R"("node": "x"} trailing)"), HasSubstr("not JSON"));
  EXPECT_THAT(why(head + R"("files": )" + std::string(100000, '{')), HasSubstr("not a recording"));
  EXPECT_THAT(why(std::string(100000, '[')), HasSubstr("not a recording"));
  std::string errors = head + R"("errors": {)";
  for (int i = 0; i <= 1'000'000; ++i) errors += "\"" + std::to_string(i) + "\":{},";
  EXPECT_THAT(why(errors), HasSubstr("more than 1000000 entries"));
}

TEST(Gzip, Bounds) {
  using formats::gunzip;
  using formats::gzip;
  const std::string text(100000, 'x');
  EXPECT_EQ(value(gunzip(gzip(text))), text);
  EXPECT_EQ(value(gunzip(gzip("one, ") + gzip("two"))), "one, two");  // members, one after the other
  EXPECT_EQ(value(gunzip(gzip(""))), "");

  EXPECT_THAT(refusal(gunzip(gzip(std::string(8 << 20, '\0')))), HasSubstr("more than 256 times its size"));
  std::string bomb;
  const std::string member = gzip(std::string(1 << 20, '\0'));
  for (int i = 0; i < 300; ++i) bomb += member;
  EXPECT_THAT(refusal(gunzip(bomb)), HasSubstr("unpacks to more than"));
  const std::string packed = gzip(text);
  EXPECT_THAT(refusal(gunzip(packed.substr(0, packed.size() - 1))), HasSubstr("cut off"));
  EXPECT_THAT(refusal(gunzip(packed.substr(0, 12))), HasSubstr("cut off"));
  EXPECT_THAT(refusal(gunzip(packed + "more")), HasSubstr("something follows"));
  EXPECT_THAT(refusal(gunzip(packed + packed.substr(0, 30))), HasSubstr("cut off"));
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_THAT(refusal(gunzip(damaged)), HasSubstr("damaged"));
}

}  // namespace
}  // namespace ringtrue::probe
