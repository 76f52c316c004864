// NVML's answer, from a library that answers from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "probe/library/gpu_power.h"
#include "probe/library/library.h"
#include "probe/live.h"
#include "probe/source.h"
#include "probe/spawn.h"

namespace ringtrue::probe {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

json h100(const std::string& pci) {
  json gpu = {{"pci", pci},
              {"name", "NVIDIA H100 80GB HBM3"},
              {"uuid", "GPU-" + pci},
              {"serial", "1650"},
              {"vbios", "96.00"},
              {"memory", 85520809984},
              {"persistence", 1},
              {"compute_capability", 90},
              {"ecc", 1},
              {"ecc_corrected", 3},
              {"ecc_uncorrected", 0},
              {"rows_pending", 0},
              {"throttle", 4},
              {"performance_state", 0},
              {"utilization", 17},
              {"sm_clock", 1980},
              {"max_sm_clock", 1980},
              {"temperature", 41},
              {"processes", 2},
              {"mig", 0}};
  for (int i = 0; i < 18; ++i)
    gpu["links"].push_back({{"state", 1},
                            {"version", 7},  // what NVML says of Hopper's
                            {"remote", 2},
                            {"remote_pci", "0000:05:00.0"},
                            {"errors", {i, 0, 0, 0, 0}},
                            {"fields", {{"164", 26562}}}});
  return gpu;
}

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/ringtrue-nvml-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    dir = path;
    machine = {{"driver", "535.104.05"}, {"cuda", 12020}, {"log", dir + "/log"}};
    machine["gpus"] = {h100("0000:3b:00.0"), h100("0000:5e:00.0")};
    ::setenv("RINGTRUE_NVML", RINGTRUE_FAKE_NVML_LIBRARY, 1);
    ::setenv("RINGTRUE_FAKE_NVML", (dir + "/machine.json").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("RINGTRUE_NVML");
    fs::remove_all(dir);
  }

  Result<std::string> ask_text(bool wake_gpus = false) {
    std::ofstream(dir + "/machine.json") << machine;
    return ask_nvml({dir, wake_gpus});
  }
  json ask_json(bool wake_gpus = false) {
    const auto text = ask_text(wake_gpus);
    return text ? json::parse(*text) : json(text.error().text());
  }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(dir + path).parent_path());
    std::ofstream(dir + path) << text << '\n';
  }
  void gpu_in_pci(const std::string& address, const std::string& status) {
    const std::string function = "/sys/bus/pci/devices/" + address;
    file(function + "/vendor", "0x10de");
    file(function + "/class", "0x030200");
    file(function + "/power/runtime_status", status);
  }
  std::string log() {
    std::ifstream in(dir + "/log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string dir;
  json machine;
};

TEST_F(Nvml, TellsAllOfAGpu) {
  const json answer = ask_json();
  EXPECT_EQ(answer["driver"], "535.104.05");
  EXPECT_EQ(answer["cuda"], "12.2");
  ASSERT_EQ(answer["gpus"].size(), 2u);
  json gpu = answer["gpus"][1];
  json links = gpu["nvlinks"];
  gpu.erase("nvlinks");
  EXPECT_EQ(gpu, json({{"index", 1},
                       {"pci", "0000:5e:00.0"},
                       {"name", "NVIDIA H100 80GB HBM3"},
                       {"uuid", "GPU-0000:5e:00.0"},
                       {"serial", "1650"},
                       {"vbios", "96.00"},
                       {"memory", 85520809984},
                       {"compute_capability", 90},
                       {"persistence", true},
                       {"mig", false},
                       {"ecc", true},
                       {"ecc_corrected", 3},
                       {"ecc_uncorrected", 0},
                       {"retired_pending", false},
                       {"throttle", 4},
                       {"performance_state", 0},
                       {"utilization", 17},
                       {"sm_clock_MHz", 1980},
                       {"max_sm_clock_MHz", 1980},
                       {"temperature_C", 41},
                       {"processes", 2}}));
  ASSERT_EQ(links.size(), 18u);
  EXPECT_EQ(links[5],
            json({{"index", 5},
                  {"up", true},
                  {"version", 4},
                  {"remote", "nvswitch"},
                  {"remote_pci", "0000:05:00.0"},
                  {"speed_MBps", 26562},
                  {"errors",
                   {{"replay", 5}, {"recovery", 0}, {"crc_flit", 0}, {"crc_data", 0}, {"ecc_data", 0}}}}));
}

TEST_F(Nvml, ALinkThatIsDownIsNoLinkThatTheBoardLacks) {
  auto& links = machine["gpus"][0]["links"];
  links[3]["state"] = 0;
  links[16] = links[17] = nullptr;
  const json answer = ask_json();
  const json& told = answer["gpus"][0]["nvlinks"];
  ASSERT_EQ(told.size(), 16u);
  EXPECT_EQ(told[3]["up"], false);
  EXPECT_EQ(told[2]["up"], true);
  EXPECT_EQ(told[15]["index"], 15);
}

TEST_F(Nvml, VersionsAreNvlinksOwn) {
  const auto version = [&](int compute_capability, int number) {
    machine["gpus"][0]["compute_capability"] = compute_capability;
    machine["gpus"][0]["links"][0]["version"] = number;
    return ask_json()["gpus"][0]["nvlinks"][0]["version"].get<int>();
  };
  EXPECT_EQ(version(60, 1), 1);
  EXPECT_EQ(version(70, 2), 2);
  EXPECT_EQ(version(80, 5), 3);
  EXPECT_EQ(version(90, 7), 4);
  EXPECT_EQ(version(100, 7), 5);
  EXPECT_EQ(version(130, 8), 6);
}

TEST_F(Nvml, NvlinkFiveCountsInFields) {
  auto& link = machine["gpus"][0]["links"][0];
  link.erase("errors");
  link["fields"] = {{"164", 53125}, {"215", 4}, {"221", 0}};
  const json told = ask_json()["gpus"][0]["nvlinks"][0];
  EXPECT_EQ(told["errors"], json({{"link_recovery", 4}, {"symbol", 0}}));
  EXPECT_EQ(told["speed_MBps"], 53125);
}

TEST_F(Nvml, SpeedFieldsOfOldGpusAreOneALink) {
  for (int i = 0; i < 12; ++i)
    machine["gpus"][0]["links"][i]["fields"] = {{std::to_string(i < 6 ? 84 + i : 126 + i), 25000 + i}};
  const json links = ask_json()["gpus"][0]["nvlinks"];
  EXPECT_EQ(links[5]["speed_MBps"], 25005);
  EXPECT_EQ(links[6]["speed_MBps"], 25006);
  EXPECT_EQ(links[11]["speed_MBps"], 25011);
}

TEST_F(Nvml, OneLostGpuLeavesTheOthers) {
  machine["gpus"][0]["handle"] = 15;
  json answer = ask_json();
  EXPECT_EQ(answer["gpus"][0],
            json({{"index", 0},
                  {"error", "the GPU is lost: it fell off the bus (nvmlDeviceGetHandleByIndex_v2)"}}));
  EXPECT_EQ(answer["gpus"][1]["nvlinks"].size(), 18u);
  EXPECT_FALSE(answer["gpus"][1].contains("error"));

  machine["gpus"][0]["handle"] = 0;
  machine["gpus"][0]["errors"] = {{"nvmlDeviceGetMemoryInfo", 15}};
  answer = ask_json();
  EXPECT_EQ(answer["gpus"][0]["error"], "the GPU is lost: it fell off the bus (nvmlDeviceGetMemoryInfo)");
  EXPECT_EQ(answer["gpus"][0]["serial"], "1650");
  EXPECT_FALSE(answer["gpus"][0].contains("nvlinks"));  // unknown, not none
}

TEST_F(Nvml, OneFailingCallCostsItsFactAlone) {
  machine["gpus"][0]["errors"] = {{"nvmlDeviceGetEccMode", 999}};
  const json gpu = ask_json()["gpus"][0];
  EXPECT_EQ(gpu["error"], "unknown error (nvmlDeviceGetEccMode)");
  EXPECT_FALSE(gpu.contains("ecc"));
  EXPECT_EQ(gpu["nvlinks"].size(), 18u);
}

TEST_F(Nvml, ABoardWithoutNvlinkHasNone) {
  machine["gpus"][0].erase("links");
  EXPECT_EQ(ask_json()["gpus"][0]["nvlinks"], json::array());
}

TEST_F(Nvml, AnOldDriverLacksTheNewerFunctions) {
  ::setenv("RINGTRUE_NVML", RINGTRUE_OLD_FAKE_NVML_LIBRARY, 1);
  machine["gpus"][0]["pages_pending"] = 1;
  const json answer = ask_json();
  EXPECT_FALSE(answer.contains("cuda"));
  const json& gpu = answer["gpus"][0];
  EXPECT_FALSE(gpu.contains("mig"));
  EXPECT_FALSE(gpu.contains("error"));
  EXPECT_EQ(gpu["retired_pending"], true);
  EXPECT_EQ(gpu["processes"], 2);
  ASSERT_EQ(gpu["nvlinks"].size(), 18u);
  EXPECT_FALSE(gpu["nvlinks"][0].contains("remote"));
  EXPECT_EQ(gpu["nvlinks"][0]["remote_pci"], "0000:05:00.0");
}

TEST_F(Nvml, MigAndRemotesOfAllKinds) {
  machine["gpus"][0]["mig"] = 1;
  machine["gpus"][0]["links"][0]["remote"] = 0;
  machine["gpus"][0]["links"][1]["remote"] = 1;
  machine["gpus"][0]["links"][2]["remote"] = 255;
  machine["gpus"][0]["links"][2]["remote_pci"] = "ffffffff:ff:ff.0";
  const json gpu = ask_json()["gpus"][0];
  EXPECT_EQ(gpu["mig"], true);
  EXPECT_EQ(gpu["nvlinks"][0]["remote"], "gpu");
  EXPECT_EQ(gpu["nvlinks"][1]["remote"], "cpu");
  EXPECT_FALSE(gpu["nvlinks"][2].contains("remote"));
  EXPECT_FALSE(gpu["nvlinks"][2].contains("remote_pci"));
}

TEST_F(Nvml, CountersRise) {
  machine["later"] = {{{"op", "replace"}, {"path", "/gpus/0/links/3/errors/0"}, {"value", 15}}};
  EXPECT_EQ(ask_json()["gpus"][0]["nvlinks"][3]["errors"]["replay"], 3);
  EXPECT_EQ(ask_json()["gpus"][0]["nvlinks"][3]["errors"]["replay"], 15);
}

TEST_F(Nvml, NoDriverIsSaidInOneLine) {
  ::setenv("RINGTRUE_NVML", "libringtrue-there-is-none.so.1", 1);
  auto answer = ask_text();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().cause, Cause::unavailable);
  EXPECT_EQ(answer.error().what, "no NVIDIA driver: libringtrue-there-is-none.so.1 is not installed");

  ::setenv("RINGTRUE_NVML", RINGTRUE_FAKE_NVML_LIBRARY, 1);
  machine["init"] = 9;
  answer = ask_text();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "no NVIDIA driver: its kernel module is not loaded");
  machine["init"] = 18;
  EXPECT_THAT(ask_text().error().text(), HasSubstr("different versions"));
  machine["init"] = 4;
  EXPECT_EQ(ask_text().error().cause, Cause::refused);
}

TEST_F(Nvml, FilesUnderARootAreNotThisMachines) {
  ::unsetenv("RINGTRUE_NVML");
  const auto answer = ask_text();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text(), HasSubstr("NVML tells of this machine"));
}

TEST_F(Nvml, SleepingGpusAreLeftAlone) {
  gpu_in_pci("0000:3b:00.0", "suspended");
  gpu_in_pci("0000:5e:00.0", "suspended");
  const json answer = ask_json();
  EXPECT_EQ(
      answer,
      json({{"gpus",
             {{{"pci", "0000:3b:00.0"}, {"asleep", true}}, {{"pci", "0000:5e:00.0"}, {"asleep", true}}}}}));
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_FALSE(fs::exists(dir + "/machine.json.second"));
  EXPECT_EQ(ask_json(true)["gpus"].size(), 2u);
  EXPECT_THAT(log(), HasSubstr("nvmlDeviceGetName 0000:3b:00.0"));
}

TEST_F(Nvml, AmongSleepersTheBusyOnesAreAsked) {
  gpu_in_pci("0000:3b:00.0", "suspended");
  gpu_in_pci("0000:5e:00.0", "active");
  const json answer = ask_json();
  ASSERT_EQ(answer["gpus"].size(), 2u);
  EXPECT_EQ(answer["gpus"][0]["index"], 1);
  EXPECT_EQ(answer["gpus"][0]["nvlinks"].size(), 18u);
  EXPECT_EQ(answer["gpus"][1], json({{"pci", "0000:3b:00.0"}, {"asleep", true}}));
  EXPECT_THAT(log(), Not(HasSubstr("0000:3b:00.0")));
}

#ifdef RINGTRUE_PROBE
// ---- in a process of its own

TEST_F(Nvml, OneThatHangsIsEndedAndTheRestIsRead) {
  machine["hang"] = "nvmlDeviceGetNvLinkState";
  std::ofstream(dir + "/machine.json") << machine;
  LiveOptions options;
  options.program = RINGTRUE_PROBE;
  options.root = dir;
  options.deadline = Seconds(1);
  file("/sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de");
  const auto recording = read_this_machine(options, "node1", Seconds(0));
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_EQ(recording->errors.at("nvml").what, "nvml did not answer within 1 s");
  EXPECT_EQ(recording->files.at("/sys/bus/pci/devices/0000:3b:00.0/vendor"), "0x10de");
}

TEST_F(Nvml, AWindowAsksItTwice) {
  machine["later"] = {{{"op", "replace"}, {"path", "/gpus/0/links/3/errors/0"}, {"value", 15}}};
  std::ofstream(dir + "/machine.json") << machine;
  LiveOptions options;
  options.program = RINGTRUE_PROBE;
  options.root = dir;
  const auto recording = read_this_machine(options, "node1", Seconds(0.1));
  ASSERT_TRUE(recording) << recording.error().text();
  const auto replays = [](const std::string& answer) {
    return json::parse(answer)["gpus"][0]["nvlinks"][3]["errors"]["replay"].get<int>();
  };
  EXPECT_EQ(replays(recording->answers.at("nvml")), 3);
  EXPECT_EQ(replays(recording->later_answers.at("nvml")), 15);
  EXPECT_GE(recording->window_s, 0.1);
}

TEST(Probe, SaysInOneLineWhatItDoesNotUnderstand) {
  const auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), RINGTRUE_PROBE);
    const auto result = run_program(words, Seconds(10), 1 << 20);
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(error({"ask", "oracle"}).text(),
            "no library is called 'oracle'; one of system, ethtool, verbs, nvml, hwloc, fabric, routes");
  EXPECT_EQ(error({"ask"}).what, "no library is called ''");
  EXPECT_EQ(error({}).cause, Cause::bad_input);
  EXPECT_EQ(error({"record", "--window", "-1"}).what, "--window takes seconds from 0 to 3600, not '-1'");
  EXPECT_EQ(error({"record", "--node"}).what, "--node takes a value");
  EXPECT_EQ(error({"ask", "nvml", "--window", "1"}).what, "ringtrue-probe ask does not know '--window'");
}

TEST(Probe, HwlocTellsOfARootNothingOfThisMachine) {
  const auto answer =
      run_program({RINGTRUE_PROBE, "ask", "hwloc", "--root", "/nonexistent"}, Seconds(10), 1 << 20);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "no processors under /nonexistent: /sys/devices/system/cpu is missing");
}
#endif

// ---- who sleeps

class Sleep : public ::testing::Test {
 protected:
  void gpu(const std::string& address, const std::string& status, const std::string& memory = {}) {
    const std::string function = "/sys/bus/pci/devices/" + address;
    recording.folders["/sys/bus/pci/devices"].push_back(address);
    recording.files[function + "/vendor"] = "0x10de";
    recording.files[function + "/class"] = "0x030200";
    recording.files[function + "/power/runtime_status"] = status;
    if (!memory.empty())
      recording.files["/proc/driver/nvidia/gpus/" + address + "/power"] =
          "Runtime D3 status:          Disabled by default\nVideo Memory:               " + memory +
          "\n\nGPU Hardware Support:\n Video Memory Self Refresh: Not Supported";
  }
  void driver(const std::string& refcnt, std::vector<std::string> holders) {
    recording.files["/sys/module/nvidia/refcnt"] = refcnt;
    recording.folders["/sys/module/nvidia/holders"] = std::move(holders);
  }
  NvidiaGpus look() {
    RecordedSource source(recording);
    return nvidia_gpus(source);
  }
  Recording recording;
};

TEST_F(Sleep, ASuspendedFunctionSleepsWhateverElseIsSaid) {
  gpu("0000:01:00.0", "suspended", "Active");
  driver("40", {"nvidia_uvm"});
  EXPECT_THAT(look().asleep, ElementsAre("0000:01:00.0"));
}

TEST_F(Sleep, TheDriverSaysWhoseMemoryIsOn) {
  gpu("0000:01:00.0", "active", "Active");
  gpu("0000:02:00.0", "active", "Off");
  gpu("0000:03:00.0", "active", "?");
  driver("2", {"nvidia_uvm", "nvidia_modeset"});
  const auto gpus = look();
  EXPECT_THAT(gpus.awake, ElementsAre("0000:01:00.0"));
  EXPECT_THAT(gpus.asleep, ElementsAre("0000:02:00.0", "0000:03:00.0"));
}

TEST_F(Sleep, WhereTheDriverSaysNothingItsClientsAreCounted) {
  gpu("0000:01:00.0", "active", "?");
  gpu("0000:02:00.0", "active");
  driver("2", {"nvidia_uvm", "nvidia_modeset"});
  EXPECT_THAT(look().awake, IsEmpty());
  driver("11", {"nvidia_uvm", "nvidia_modeset"});
  EXPECT_THAT(look().asleep, IsEmpty());
}

TEST_F(Sleep, WithoutAnySignTheyAreAwake) {
  gpu("0000:01:00.0", "active");
  EXPECT_THAT(look().awake, ElementsAre("0000:01:00.0"));
}

}  // namespace
}  // namespace ringtrue::probe
