// Use cases' files: bitmaps, the operator's own data, documents to calibrate by.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "collective/algorithm.h"
#include "operator/bitmaps.h"
#include "operator/input_file.h"
#include "operator/simulate.h"

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  Files() {
    char name[] = "/tmp/ringtrue-test-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  std::string npy(const std::string& name, const std::string& shape, const std::vector<float>& values) const {
    std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    head.resize(118, ' ');
    std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
    text += head;
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return file(name, text);
  }

  std::string folder_;
};

TEST_F(Files, BitmapsAreARowAWorker) {
  const auto bitmaps = read_bitmaps(file("good.json", "[[1, 0, 1], [false, false, true]]"));
  ASSERT_TRUE(bitmaps) << bitmaps.error().text();
  EXPECT_EQ(*bitmaps, (Bitmaps{{true, false, true}, {false, false, true}}));
  const collective::Densities densities = densities_of(*bitmaps);
  EXPECT_NEAR(densities.worker, 2.0 / 3, 1e-12);
  const auto call = call_of(*bitmaps, {});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->omni.workers, 2u);
  EXPECT_EQ(call->elements, 3u);
  EXPECT_TRUE(has_block(*bitmaps)(1, 2));
  EXPECT_FALSE(has_block(*bitmaps)(1, 0));
}

TEST_F(Files, BitmapsThatAreNoneAreRefusedWithThePlace) {
  const std::pair<const char*, const char*> bad[] = {{"[", "not JSON"},
                                                     {"{}", "not an array"},
                                                     {"[]", "no row"},
                                                     {"[[], []]", "rows are empty"},
                                                     {"[[1], [0, 1]]", "row 1 has 2 blocks, row 0 has 1"},
                                                     {"[[1, 2]]", "row 0 holds 2 at 1"},
                                                     {"[1]", "row 0"}};
  for (const auto& [text, why] : bad) {
    const auto bitmaps = read_bitmaps(file("bad.json", text));
    ASSERT_FALSE(bitmaps) << text;
    EXPECT_THAT(bitmaps.error().text(), HasSubstr(why)) << text;
  }
  EXPECT_THAT(read_bitmaps(folder_ + "/missing").error().text(), HasSubstr("No such file"));
}

TEST_F(Files, OwnDataIsARowAWorkerOrTheSameForAll) {
  const std::string table = npy("table.npy", "2, 3", {1, 0, 2, 0, -0.0f, 3});
  const auto rows = input_of(table, 2, std::nullopt);
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(rows->input->rows.size(), 2u);
  EXPECT_EQ(rows->input->elements, 3u);
  EXPECT_EQ(rows->note, "");
  EXPECT_EQ(negative_zeros(*rows->input), 1u);
  EXPECT_EQ(bitmaps_of(*rows->input, 1), (Bitmaps{{true, false, true}, {false, false, true}}));
  const auto same = input_of(table, 4, std::nullopt);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->input->rows.size(), 1u);
  EXPECT_EQ(same->input->elements, 6u);
  EXPECT_THAT(same->note, HasSubstr("2 rows for 4 workers"));
}

TEST_F(Files, OwnDataMayBeAFileAWorker) {
  npy("w0.npy", "2,", {1, 2});
  npy("w1.npy", "2,", {3, 4});
  const auto both = input_of(folder_ + "/w{rank}.npy", 2, std::nullopt);
  ASSERT_TRUE(both) << both.error().text();
  ASSERT_EQ(both->input->rows.size(), 2u);
  float second = 0;
  std::memcpy(&second, both->input->row(1).data(), sizeof second);
  EXPECT_EQ(second, 3);
  EXPECT_FALSE(input_of(folder_ + "/w{rank}.npy", 3, std::nullopt));
  EXPECT_THAT(input_of(folder_ + "/w0.npy", 2, collective::Type::int32).error().text(),
              HasSubstr("holds float32"));
}

TEST_F(Files, ACalibrationGivesBackWhatWasPlayed) {
  sim::Fabric fabric;
  fabric.nodes = 4;
  fabric.ranks_per_node = 1;
  fabric.inter = {Seconds(30e-6), BytesPerSecond(2e9), Seconds(1e-6)};
  collective::Call call;
  call.slice_bytes = 1 << 20;
  const collective::Algorithm* ring = *collective::find_algorithm("ring");
  std::string results;
  for (const std::uint64_t bytes : {1u << 12, 1u << 16, 1u << 20, 1u << 24}) {
    collective::Call played = call;
    played.elements = bytes / 4;
    const auto simulated = sim::simulate(*ring, played, fabric);
    ASSERT_TRUE(simulated);
    results +=
        (results.empty() ? "" : ",") +
        fmt::format(
            R"({{"algorithm": "ring", "bytes": {}, "ranks": 4, "type": "float32", "time_s": {{"median": {}}}}})",
            bytes, simulated->time.value);
  }
  const std::string document =
      file("run.json", R"({"schema": "ringtrue.run/1", "results": [)" + results + "]}");
  sim::Fabric other;
  const auto calibrated = calibrate_by(document, call, false, other);
  ASSERT_TRUE(calibrated) << calibrated.error().text();
  EXPECT_EQ(other.nodes, 4);
  EXPECT_NEAR(calibrated->rate.value, 2e9, 2e7);
  EXPECT_NEAR(calibrated->latency.value, 30e-6, 1e-6);
  EXPECT_LT(calibrated->worst, 0.01);
  EXPECT_EQ(calibrated->samples.size(), 4u);
  EXPECT_FALSE(calibrated->of_model);
  EXPECT_THAT(
      calibrate_by(file("x.json", R"({"schema": "ringtrue.topo/1"})"), call, false, other).error().text(),
      HasSubstr("is ringtrue.topo/1"));
  EXPECT_FALSE(calibrate_by(folder_ + "/missing", call, false, other));
}

// One whose writer writes nothing would be waited for without end.
TEST_F(Files, PipesAreNotReadFrom) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const OwnedFd writer(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writer);
  const auto bitmaps = read_bitmaps(pipe);
  ASSERT_FALSE(bitmaps);
  EXPECT_THAT(bitmaps.error().text(), HasSubstr(pipe + ": cannot be read: not a regular file"));
  sim::Fabric fabric;
  const auto calibrated = calibrate_by(pipe, {}, false, fabric);
  ASSERT_FALSE(calibrated);
  EXPECT_THAT(calibrated.error().text(), HasSubstr(pipe + ": cannot be read: not a regular file"));
}

}  // namespace
}  // namespace ringtrue::ops
