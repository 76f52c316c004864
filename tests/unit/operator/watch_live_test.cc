#include "operator/watch_live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/file.h"
#include "operator/watch_idle.h"

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

class WatchFolder : public testing::Test {
 protected:
  WatchFolder() {
    char name[] = "/tmp/ringtrue-watch-XXXXXX";
    folder = mkdtemp(name);
  }
  ~WatchFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string script(const std::string& name, const std::string& text) const {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  std::string read(const std::string& name) const {
    return read_file(folder + "/" + name, 1 << 24).value_or("");
  }

  std::string folder;
};

TEST_F(WatchFolder, TheHookReadsAllOfItAndNoShellSeesIt) {
  const std::string input = "{\"a\": \"$(touch " + folder + "/bad)\"}" + std::string(3 << 20, 'x');
  ASSERT_TRUE(run_hook(script("hook", "cat > " + folder + "/got; echo $# > " + folder + "/args"), input,
                       Seconds(20)));
  EXPECT_EQ(read("got"), input);
  EXPECT_EQ(read("args"), "0\n");
  EXPECT_FALSE(std::filesystem::exists(folder + "/bad"));
}

TEST_F(WatchFolder, AHookThatReadsNothingIsGoodEnough) {
  EXPECT_TRUE(run_hook(script("hook", "exit 0"), std::string(3 << 20, 'x'), Seconds(20)));
}

TEST_F(WatchFolder, AHookThatFailsHangsOrIsNoneIsTold) {
  EXPECT_THAT(run_hook(script("fails", "exit 3"), "x", Seconds(20)).error().what, HasSubstr("exit code 3"));
  EXPECT_THAT(run_hook(script("dies", "kill -9 $$"), "x", Seconds(20)).error().what, HasSubstr("signal 9"));
  EXPECT_THAT(run_hook(folder + "/none", "x", Seconds(20)).error().what, HasSubstr("No such file"));
  const std::int64_t began = now_ns();
  EXPECT_THAT(
      run_hook(script("hangs", "sleep 60 & wait"), std::string(3 << 20, 'x'), Seconds(0.3)).error().what,
      HasSubstr("took longer than"));
  EXPECT_LT(seconds_since(began).value, 10);
}

TEST_F(WatchFolder, MemorySurvivesAndWhatIsBrokenSaysNothing) {
  const std::string file = folder + "/m";
  WatchMemory memory;
  memory.verdict = "faulty";
  memory.regressions = {{"node5's sending side", "confirmed"}};
  memory.absent = {"n\xff\n3"};
  memory.next_us = 17;
  ASSERT_TRUE(write_watch_memory(file, memory));
  const WatchMemory read = read_watch_memory(file);
  EXPECT_EQ(read.verdict, "faulty");
  EXPECT_EQ(read.regressions, memory.regressions);
  EXPECT_EQ(read.absent.size(), 1u);
  EXPECT_EQ(read.next_us, 17);
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  for (const char* broken :
       {"", "[1]", "{\"verdict\": 3, \"absent\": {\"a\": 1}, \"next_us\": \"x\"}", "{"}) {
    std::ofstream(file) << broken;
    EXPECT_FALSE(read_watch_memory(file).verdict) << broken;
  }
  EXPECT_FALSE(read_watch_memory(folder + "/none").verdict);
  EXPECT_THAT(write_watch_memory("/proc/none/m", memory).error().what, HasSubstr("could not be kept"));
  EXPECT_THAT(write_watch_memory("/dev/full/m", memory).error().what, HasSubstr("could not be kept"));
}

TEST_F(WatchFolder, OneWatcherAtATimeAFleet) {
  const std::string one = watch_file({folder + "/h.db", "a b"});
  EXPECT_NE(one, watch_file({folder + "/h.db", "a/b"}));
  EXPECT_THAT(one, HasSubstr("h.db.watch-a_20b"));
  WatchTurn first, second;
  EXPECT_FALSE(first.take(one));
  EXPECT_FALSE(first.take(one));
  EXPECT_THAT(second.take(one).value_or(""), HasSubstr("process "));
  first = WatchTurn();
  EXPECT_FALSE(second.take(one));
  EXPECT_FALSE(WatchTurn().take("/proc/none/lock"));
}

TEST(WatchIdle, ReadsWhatSlurmSays) {
  const auto states =
      slurm_states("n1 idle\nn2 alloc\nn3 mix-\nn4 idle*\nn5 drain\nn2 idle\n\nbad\nn6 idle~ ");
  EXPECT_EQ(states.at("n1"), "");
  EXPECT_EQ(states.at("n2"), "Slurm has it as alloc");
  EXPECT_EQ(states.at("n3"), "Slurm has it as mix-");
  EXPECT_EQ(states.at("n4"), "");
  EXPECT_EQ(states.at("n5"), "Slurm has it as drain");
  EXPECT_EQ(states.at("n6"), "");
  EXPECT_EQ(states.size(), 6u);
}

TEST(WatchIdle, SeesProcessesAndTraffic) {
  topology::Cluster cluster;
  cluster.nodes.resize(4);
  for (int i = 0; i < 4; ++i) cluster.nodes[std::size_t(i)].name = "n" + std::to_string(i);
  topology::Gpu gpu;
  gpu.name = "GPU0";
  gpu.processes = {2, "test"};
  cluster.nodes[1].gpus.push_back(gpu);
  cluster.nodes[2].window =
      run::CounterWindow{1, {{"eth0", "rx_bytes", 100, 100 + 20'000'000, false, false}}};
  cluster.nodes[3].window = run::CounterWindow{1,
                                               {{"eth0", "rx_bytes", 100, 100 + 9'000'000, false, false},
                                                {"eth0", "rx_packets", 0, 20'000'000, false, false},
                                                {"lo", "tx_bytes", 0, 20'000'000, false, false},
                                                {"mlx5_0/1", "port_xmit_data", 0, 2'000'000, false, false}}};
  auto busy = busy_nodes(cluster);
  EXPECT_EQ(busy["n0"], "");
  EXPECT_EQ(busy["n1"], "2 processes on GPU0");
  EXPECT_EQ(busy["n2"], "eth0 carries 20.0 MB/s");
  EXPECT_EQ(busy["n3"], "");
  cluster.nodes[3].window->changes.back().after = 3'000'000;  // words of four bytes
  EXPECT_EQ(busy_nodes(cluster)["n3"], "mlx5_0/1 carries 12.0 MB/s");
}

}  // namespace
}  // namespace ringtrue::ops
