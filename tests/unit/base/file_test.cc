#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "base/fd.h"

namespace ringtrue {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(OwnedFd, IsClosedOnceByItsLastOwner) {
  int number = -1;
  {
    OwnedFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    ASSERT_TRUE(first);
    OwnedFd second(std::move(first));
    EXPECT_FALSE(first);
    OwnedFd third;
    third = std::move(second);
    EXPECT_EQ(third.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(OwnedFd, LetsGoOfWhatItReleasesAndClosesWhatItReplaces) {
  OwnedFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const OwnedFd released(fd.release());
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(released.get()));
  fd.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = fd.get();
  fd.reset();
  EXPECT_FALSE(is_open(number));
}

class File : public ::testing::Test {
 protected:
  File() {
    std::string form = ::testing::TempDir() + "fileXXXXXX";
    path_ = ::mkdtemp(form.data());
  }
  ~File() override { (void)!std::system(("rm -rf " + path_).c_str()); }
  std::string file(std::size_t bytes) const {
    const std::string name = path_ + "/" + std::to_string(bytes);
    std::ofstream(name) << std::string(bytes, 'x');
    return name;
  }
  std::string path_;
};

TEST_F(File, IsReadToItsEndAndNotBeyondItsLimit) {
  for (const std::size_t bytes : {0, 1, 16383, 16384, 100000}) {
    const auto text = read_file(file(bytes), 100000);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, std::string(bytes, 'x'));
  }
  EXPECT_EQ(read_file(file(100001), 100000).error().code, EFBIG);
  EXPECT_EQ(read_file(file(100001), 100000).error().what, "larger than 100000 bytes");
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).error().what, "larger than 1 MiB");
}

TEST_F(File, WithoutALengthOfItsOwnIsReadAll) {
  const auto text = read_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, ::testing::HasSubstr("VmPin"));
}

TEST_F(File, ThatCannotBeReadSaysWhy) {
  EXPECT_EQ(read_file(path_ + "/none", 10).error().code, ENOENT);
  EXPECT_EQ(read_file(path_ + "/none", 10).error().what, "No such file or directory");
  EXPECT_EQ(read_file(path_, 10).error().code, EISDIR);
}

TEST_F(File, OfAnotherKindIsRefusedWhereARegularOneIsWanted) {
  EXPECT_EQ(read_file(path_, 10, FileKind::regular).error().code, EISDIR);
  EXPECT_EQ(read_file("/dev/zero", 10, FileKind::regular).error().what, "not a regular file");
  EXPECT_TRUE(read_file(file(10), 10, FileKind::regular));
}

TEST_F(File, ThatIsAPipeIsReadToItsEndAndNeverWaitedForWithoutAWriter) {
  const std::string pipe = path_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe, 10), "");
  EXPECT_EQ(read_file(pipe, 10, FileKind::regular).error().code, EINVAL);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd from(ends[0]);
  std::thread writer([to = OwnedFd(ends[1])] {
    ::usleep(20000);
    EXPECT_EQ(::write(to.get(), "late", 4), 4);
  });
  const auto text = read_file("/proc/self/fd/" + std::to_string(from.get()), 10);
  writer.join();
  EXPECT_EQ(text, "late");
}

TEST_F(File, ThatIsOpenIsReadUpToALimit) {
  const OwnedFd open(::open(file(100).c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read_up_to(open.get(), 60)->size(), 60u);
  EXPECT_EQ(read_up_to(open.get(), 60)->size(), 40u);
}

TEST(KernelsFiles, TheFirstLineAndAFieldInKib) {
  char name[] = "/tmp/ringtrue-test-XXXXXX";
  const OwnedFd made(::mkstemp(name));
  std::ofstream(name) << "Name:\tx\nVmPinned:\t  7 kB\nVmPin:\t  8 kB\n";
  EXPECT_EQ(first_line(name), "Name:\tx");
  EXPECT_EQ(kib_field(name, "VmPin"), 8192u);
  EXPECT_EQ(kib_field(name, "Pin"), std::nullopt);
  ::unlink(name);
  EXPECT_EQ(first_line(name), "");
  EXPECT_EQ(kib_field(name, "VmPin"), std::nullopt);
}

}  // namespace
}  // namespace ringtrue
