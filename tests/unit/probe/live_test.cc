// Programs run for their answers, and what becomes of those that misbehave.
#include "probe/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "probe/spawn.h"

namespace ringtrue::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<std::string> shell(const std::string& script, Seconds deadline = Seconds(10),
                          std::size_t limit = 1 << 20) {
  return run_program({"/bin/sh", "-c", script}, deadline, limit);
}

TEST(RunProgram, GivesWhatItPrints) {
  EXPECT_EQ(shell("printf 'a\\nb'").value(), "a\nb");
  // More than a pipe holds, on both.
  EXPECT_EQ(shell("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero").value().size(), 300000u);
  EXPECT_EQ(shell("cat").value(), "");  // its input is /dev/null
}

TEST(RunProgram, SaysWhyItFailed) {
  EXPECT_EQ(shell("echo one >&2; echo two >&2; exit 4").error().what, "sh failed: two");
  EXPECT_EQ(shell("exit 4").error().what, "sh failed with code 4");
  EXPECT_THAT(shell("kill -9 $$").error().what, StartsWith("sh died: "));
  const auto missing = run_program({"/nonexistent/program"}, Seconds(1), 1);
  EXPECT_EQ(missing.error().cause, Cause::unavailable);
  EXPECT_THAT(missing.error().what, HasSubstr("/nonexistent/program cannot be started: No such file"));
}

TEST(RunProgram, PassesOnTheErrorThatItsChildNamed) {
  const Error error{Cause::refused, "no permission for \"umad0\"", "node3", "run as root"};
  const Error read = shell("echo noise >&2; echo '" + error_line(error) + "' >&2; exit 3").error();
  EXPECT_EQ(read.cause, error.cause);
  EXPECT_EQ(read.text(), error.text());
  for (const char* line :
       {"{}", "[]", "{\"cause\": 99, \"what\": \"x\"}", "{\"cause\": 1}", "{\"cause\": \"1\", \"what\": 2}"})
    EXPECT_EQ(read_error_line(line, {Cause::internal, "fallback", "", ""}).what, "fallback") << line;
}

TEST(RunProgram, EndsSoonAfterAStopIsAskedFor) {
  std::stop_source stop;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  Result<std::string> result;
  EXPECT_LT(seconds_of([&] {
              result = run_program({"/bin/sh", "-c", "sleep 30"}, Seconds(30), 1, stop.get_token());
            }),
            10);
  EXPECT_EQ(result.error().cause, Cause::cancelled);
}

TEST(RunProgram, EndsWhatHangsOrTalksWithoutEnd) {
  Result<std::string> result;
  EXPECT_LT(seconds_of([&] { result = shell("exec sleep 60", Seconds(0.2)); }), 5);
  EXPECT_EQ(result.error().cause, Cause::deadline);
  EXPECT_EQ(result.error().what, "sh did not answer within 0.2 s");
  EXPECT_LT(seconds_of([&] { result = shell("exec cat /dev/zero", Seconds(30), 100000); }), 20);
  EXPECT_EQ(result.error().cause, Cause::corrupted);
  // One that hands its pipes to something that outlives it.
  EXPECT_LT(seconds_of([&] { result = shell("sleep 3 & echo done"); }), 2);
  EXPECT_EQ(result.value(), "done\n");
  EXPECT_LT(seconds_of([&] { result = shell("exec >&- 2>&-; exec sleep 60", Seconds(0.2)); }), 5);
  EXPECT_EQ(result.error().cause, Cause::deadline);
}

class Live : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/ringtrue-live-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    dir = path;
    options.program = dir + "/probe";
    options.deadline = Seconds(5);
  }
  void TearDown() override { fs::remove_all(dir); }
  // $1 is "ask" or "record", $2 the library.
  void probe(const std::string& script) {
    std::ofstream(options.program) << "#!/bin/sh\n" << script << '\n';
    ::chmod(options.program.c_str(), 0755);
  }
  std::string dir;
  LiveOptions options;
};

TEST_F(Live, LibrariesAreAskedSideBySide) {
  probe("sleep 0.3; echo $2");
  const double took = seconds_of([&] {
    LiveSource source(options);
    for (const char* library : {"hwloc", "nvml", "verbs", "ethtool", "fabric", "system"})
      EXPECT_EQ(source.answer(library).value(), std::string(library) + "\n");
    EXPECT_EQ(source.answer("nvml").value(), "nvml\n");  // again, without asking again
  });
  EXPECT_LT(took, 1.5);
}

TEST_F(Live, OneThatHangsCostsItselfAlone) {
  options.deadline = Seconds(0.5);
  probe("[ $2 = nvml ] && exec sleep 60; echo $2");
  LiveSource source(options);
  EXPECT_EQ(source.answer("hwloc").value(), "hwloc\n");
  const auto nvml = source.answer("nvml");
  EXPECT_EQ(nvml.error().cause, Cause::deadline);
  EXPECT_EQ(nvml.error().what, "nvml did not answer within 0.5 s");
  EXPECT_EQ(source.answer("verbs").value(), "verbs\n");
}

TEST_F(Live, OnlyWhatIsWantedIsAsked) {
  probe("echo $2 >> " + dir + "/asked; echo $@");
  options.libraries = {"nvml"};
  options.root = dir;
  options.wake_gpus = true;
  options.fabric = false;
  {
    LiveSource source(options);
    EXPECT_EQ(source.answer("nvml").value(), "ask nvml --root " + dir + " --wake-gpus\n");
    EXPECT_EQ(source.answer("fabric").error().cause, Cause::bad_input);
  }
  std::ifstream asked(dir + "/asked");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(asked), {}), "nvml\n");
}

TEST_F(Live, AProbeThatPrintsNoRecordingIsRefusedInOneLine) {
  probe("echo nonsense");
  const auto read = read_this_machine(options, "node1", Seconds(0));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().cause, Cause::corrupted);
  EXPECT_THAT(read.error().text(), StartsWith("ringtrue-probe printed no recording: "));
  options.program = dir + "/missing";
  EXPECT_EQ(read_this_machine(options, "node1", Seconds(0)).error().cause, Cause::unavailable);
}

TEST_F(Live, RoutesAreReadAlone) {
  probe("echo $2 >> " + dir + "/asked; echo $2");
  options.routes = true;
  const Recording read = record(options, "node1", Seconds(0));
  EXPECT_EQ(read.answers, (std::map<std::string, std::string>{{"routes", "routes\n"}}));
  EXPECT_TRUE(read.files.empty());
  std::ifstream asked(dir + "/asked");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(asked), {}), "routes\n");
  EXPECT_LT(max_reading_time(options), Seconds(38));  // a daemon's client has 40
}

TEST_F(Live, WhyThereAreNoRoutesIsRecorded) {
  probe("echo '{\"cause\":\"refused\",\"what\":\"no permission\"}' >&2; exit 3");
  options.routes = true;
  const Recording read = record(options, "node1", Seconds(0));
  ASSERT_TRUE(read.errors.contains("routes"));
  EXPECT_EQ(read.errors.at("routes").what, "no permission");
}

#ifdef RINGTRUE_PROBE
TEST_F(Live, ThisMachineIsReadWithinASecond) {
  options.program = RINGTRUE_PROBE;
  Result<Recording> read;
  EXPECT_LT(seconds_of([&] { read = read_this_machine(options, "node7", Seconds(0)); }),
            5);  // tests share cores
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->node, "node7");
  EXPECT_THAT(read->made_by, StartsWith("ringtrue "));
  EXPECT_THAT(read->answers["hwloc"], HasSubstr("<topology"));
  EXPECT_TRUE(read->answers.contains("nvml") || read->errors.contains("nvml"));
}

TEST_F(Live, AWindowHasASecondReading) {
  options.program = RINGTRUE_PROBE;
  const auto read = read_this_machine(options, "node7", Seconds(0.3));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GE(read->window_s, 0.3);
  EXPECT_FALSE(read->later_files.empty());
}

TEST_F(Live, AnEmptyRootIsNoError) {
  options.program = RINGTRUE_PROBE;
  options.root = dir;
  const auto read = read_this_machine(options, "node7", Seconds(0));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(read->answers.contains("hwloc"));  // not this machine's
}
#endif

}  // namespace
}  // namespace ringtrue::probe
