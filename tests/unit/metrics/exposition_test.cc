#include "metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "metrics/textfile.h"

namespace ringtrue::metrics {
namespace {

using testing::HasSubstr;

TEST(Exposition, IsTheTextFormat) {
  Family rate{"a_bytes_per_second", "What a \\ side\ncarried.", Kind::gauge};
  rate.add({{"node", "n\"1\\\n\xff"}, {"side", "send"}}, 62'500'000.0);
  rate.add({{"node", "\xc3\xa9\xed\xa0\x80"}}, 0.25);
  rate.add({}, std::optional<double>());
  Family count{"b_total", "Count.", Kind::counter};
  count.add({}, 3.0);
  EXPECT_EQ(exposition({rate, {"nothing", "Left out."}, count}),
            "# HELP a_bytes_per_second What a \\\\ side\\ncarried.\n"
            "# TYPE a_bytes_per_second gauge\n"
            "a_bytes_per_second{node=\"n\\\"1\\\\\\n\xef\xbf\xbd\",side=\"send\"} 62500000\n"
            "a_bytes_per_second{node=\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"} 0.25\n"
            "# HELP b_total Count.\n"
            "# TYPE b_total counter\n"
            "b_total 3\n");
}

TEST(Exposition, WritesEveryNumber) {
  Family family{"x", "X."};
  for (const double value : {1790000000.125, -2.0, 1e300, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()})
    family.add({}, value);
  EXPECT_EQ(exposition({family}),
            "# HELP x X.\n# TYPE x gauge\nx 1790000000.125\nx -2\nx 1e+300\nx +Inf\nx -Inf\n");
}

class Textfile : public testing::Test {
 protected:
  Textfile() {
    char name[] = "/tmp/ringtrue-prom-XXXXXX";
    folder = mkdtemp(name);
  }
  ~Textfile() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string folder;
};

TEST_F(Textfile, IsWholeAndReadableByOthers) {
  const std::string path = folder + "/ringtrue.prom";
  const mode_t before = umask(077);
  ASSERT_TRUE(write_textfile(path, "a 1\n"));
  ASSERT_TRUE(write_textfile(path, "a 2\n"));
  umask(before);
  EXPECT_EQ(read_file(path, 100).value(), "a 2\n");
  struct stat there {};
  ASSERT_EQ(stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0644u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(Textfile, StaysWhereItCannotBeReplaced) {
  EXPECT_THAT(write_textfile(folder + "/ringtrue.txt", "a").error().what, HasSubstr("does not end in .prom"));
  EXPECT_THAT(write_textfile(folder + "/none/a.prom", "a").error().what, HasSubstr("No such file"));
  std::filesystem::create_directory(folder + "/a.prom");
  EXPECT_THAT(write_textfile(folder + "/a.prom", "a").error().what, HasSubstr("directory"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace ringtrue::metrics
