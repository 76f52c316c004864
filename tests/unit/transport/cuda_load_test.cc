#include "transport/cuda/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace ringtrue::transport::cuda {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Where modules are that were built with this test.
std::string beside_the_test(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

// One line, without a stack of reasons.
void expect_one_line(const Error& error) {
  EXPECT_EQ(error.cause, Cause::unavailable);
  EXPECT_FALSE(error.what.empty());
  EXPECT_EQ(error.text().find('\n'), std::string::npos);
}

TEST(CudaLoad, SaysThatThereIsNoDriver) {
  const auto driver = load(beside_the_test(module_name), "libcuda-that-nobody-has.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().what, "no NVIDIA driver: libcuda-that-nobody-has.so.1 is missing");
  expect_one_line(driver.error());
}

TEST(CudaLoad, TakesNoModuleThatIsNotOne) {
  const auto missing = load("/nowhere/libringtrue-cuda.so", "libc.so.6");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("the CUDA module cannot be loaded"));
  expect_one_line(missing.error());
  const auto other = load("libm.so.6", "libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what, "libm.so.6 is not a CUDA module of ringtrue");
  const auto newer = load(beside_the_test("libfake-cuda-module.so"), "libc.so.6");
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().what, HasSubstr("is of another build"));
}

// The real module, whose own copy of the runtime has to say that there is nothing to drive.
TEST(CudaLoad, TheModuleLoadsWithoutAGpu) {
  const std::string module = beside_the_test(module_name);
  if (!fs::exists(module)) GTEST_SKIP() << module_name << " was not built: no nvcc";
  const auto driver = load(module, "libc.so.6");
  if (driver) {
    const auto gpus = (*driver)->gpus();
    ASSERT_TRUE(gpus);
    EXPECT_FALSE(gpus->empty());
    EXPECT_THAT((*driver)->version(), HasSubstr("CUDA "));
    return;
  }
  EXPECT_THAT(driver.error().what, HasSubstr("NVIDIA"));
  expect_one_line(driver.error());
}

TEST(CudaLoad, TheMachinesOwnDriverSaysWhatIsMissing) {
  const auto driver = system_driver();
  if (driver) {
    EXPECT_FALSE((*driver)->gpus()->empty());
  } else {
    expect_one_line(driver.error());
    EXPECT_EQ(system_driver().error().what, driver.error().what);
  }
}

}  // namespace
}  // namespace ringtrue::transport::cuda
