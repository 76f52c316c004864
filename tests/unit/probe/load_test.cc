#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "formats/format.h"
#include "formats/gzip.h"
#include "paths.h"
#include "probe/recording.h"
#include "tests/support/format_fixture.h"
#include "topology/json.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using ringtrue::test::fixture;
using ringtrue::test::refusal;
using ringtrue::test::value;
using testing::HasSubstr;

TEST(Load, ByContent) {
  const Cluster hwloc = value(read_any(fixture("hwloc-v2.xml"), "/tmp/dgx.xml"));
  ASSERT_EQ(hwloc.nodes.size(), 1u);
  EXPECT_EQ(hwloc.nodes[0].name, "dgx");
  EXPECT_EQ(hwloc.nodes[0].recorded, "dgx.xml (hwloc XML)");
  EXPECT_EQ(value(read_any(fixture("hwloc-v1.xml"), "x.xml")).nodes.at(0).name, "old1");
  EXPECT_EQ(value(read_any(fixture("nccl-cloud.xml"), "ndv4-topo.txt")).nodes.at(0).name, "ndv4-topo");
  EXPECT_EQ(value(read_any(formats::gzip(fixture("nccl-h100.xml")), "a/h100.xml.gz")).nodes.at(0).name,
            "h100");
  EXPECT_EQ(value(read_any(fixture("fabric.ibnetdiscover"), "ib")).fabric->switches.size(), 2u);
  const Cluster again = value(read_any(to_json(hwloc), "x.json"));
  EXPECT_EQ(again, hwloc);

  Recording recording;
  recording.node = "node3";
  recording.answers["hwloc"] = fixture("hwloc-v2.xml");
  const Cluster recorded = value(read_any(write_recording(recording), "/tmp/node3.recording"));
  ASSERT_EQ(recorded.nodes.size(), 1u);
  EXPECT_EQ(recorded.nodes[0].name, "node3");
  EXPECT_EQ(recorded.nodes[0].recorded, "node3.recording (recording)");
  EXPECT_FALSE(recorded.fabric);
}

TEST(Load, SaysWhatElseItIs) {
  const auto why = [](std::string_view bytes) {
    const std::string line = refusal(read_any(bytes, "file"));
    EXPECT_THAT(line, testing::StartsWith("file: "));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    return line;
  };
  EXPECT_THAT(why(""), HasSubstr("an empty file"));
  EXPECT_THAT(why("PK\x03\x04..."), HasSubstr("a zip archive"));
  EXPECT_THAT(why("\x7f"
                  "ELF..."),
              HasSubstr("a program"));
  EXPECT_THAT(why(std::string(257, 'x') + "ustar"), HasSubstr("a tar archive"));
  EXPECT_THAT(why(formats::gzip("../evil" + std::string(250, '\0') + "ustar")), HasSubstr("a tar archive"));
  EXPECT_THAT(why(std::string_view("abc\0def", 7)), HasSubstr("binary data"));
  EXPECT_THAT(why("some words"), HasSubstr("not the output of ibnetdiscover"));
  EXPECT_THAT(why("<html><body/></html>"), HasSubstr("an XML document of <html>"));
  EXPECT_THAT(why("<"), HasSubstr("damaged XML"));
  EXPECT_THAT(why("<!DOCTYPE topology [<!ENTITY a 'b'>]><topology>&a;</topology>"), HasSubstr("entities"));
  EXPECT_THAT(why("{\"schema\": \"other/1\"}"), HasSubstr("schema \"other/1\""));
  EXPECT_THAT(why("{\"nodes\": ["), HasSubstr("without a schema"));
  EXPECT_THAT(why(formats::gzip(formats::gzip("x"))), HasSubstr("packed by gzip twice"));
  EXPECT_THAT(why(formats::gzip("<topology>").substr(0, 15)), HasSubstr("cut off"));
}

TEST(Load, Files) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "load_test";
  std::filesystem::create_directories(folder);
  EXPECT_THAT(refusal(load((folder / "none").string())), HasSubstr("No such file"));
  EXPECT_THAT(refusal(load(folder.string())), HasSubstr("a folder"));
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(load(pipe)), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(load("/dev/zero")), HasSubstr("not a regular file"));
  const std::string large = (folder / "large").string();
  std::ofstream(large) << "x";
  std::filesystem::resize_file(large, formats::max_file_bytes + 1);
  EXPECT_THAT(refusal(load(large)), HasSubstr("larger than 64 MiB"));
  std::filesystem::remove_all(folder);

  const std::string fixtures = std::string(RINGTRUE_SOURCE_DIR) + "/tests/fixtures/topology/";
  const Cluster all =
      value(load({fixtures + "hwloc-v1.xml", fixtures + "nccl-h100.xml", fixtures + "fabric.ibnetdiscover"}));
  EXPECT_EQ(all.nodes.size(), 2u);
  EXPECT_TRUE(all.fabric);
  EXPECT_THAT(refusal(load({fixtures + "hwloc-v1.xml", fixtures + "none"})), HasSubstr("none: No such file"));
}

}  // namespace
}  // namespace ringtrue::probe
