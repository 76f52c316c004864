// GPUs, from PCI and NVML's answer.
#include "probe/probe.h"
#include "run/counter_window.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ringtrue::probe {
namespace {

using namespace topology;

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvmlProbe : public ::testing::Test {
 protected:
  void pci(const std::string& address, std::uint32_t device_class, std::uint32_t vendor = 0x10de) {
    PciDevice device;
    device.address = address;
    device.kind = PciKind::endpoint;
    device.device_class = {device_class, origin::sysfs};
    device.vendor = {vendor, origin::sysfs};
    node.pci.push_back(device);
  }
  void gpus(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string address = fmt::format("0000:{:02x}:00.0", 0x10 + 16 * i);
      pci(address, 0x030200);
      json gpu = {{"index", i}, {"pci", address}, {"name", "NVIDIA H100"}, {"nvlinks", json::array()}};
      for (int link = 0; link < 18; ++link)
        gpu["nvlinks"].push_back({{"index", link},
                                  {"up", true},
                                  {"version", 4},
                                  {"speed_MBps", 26562},
                                  {"remote", "nvswitch"},
                                  {"remote_pci", fmt::format("0000:{:02x}:00.0", 3 + link % 4)},
                                  {"errors", {{"replay", link}}}});
      answer["gpus"].push_back(gpu);
    }
  }
  void run() {
    recording.answers["nvml"] = answer.dump();
    probe_it();
  }
  void fail_with(Error error) {
    recording.errors["nvml"] = std::move(error);
    probe_it();
  }
  void probe_it() {
    RecordedSource source(recording);
    probe_nvml(source, node);
    counters = nvml_counters(source, node);
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& gpu : node.gpus) all.push_back(gpu.name + " " + gpu.address);
    return all;
  }

  Node node;
  Recording recording;
  json answer = {{"driver", "535.104.05"}, {"cuda", "12.2"}, {"gpus", json::array()}};
  std::vector<run::CounterSet> counters;
};

TEST_F(NvmlProbe, GpusWithTheirLinks) {
  for (int i = 3; i < 7; ++i) pci(fmt::format("0000:{:02x}:00.0", i), 0x068000);
  gpus(8);
  run();
  EXPECT_THAT(node.gaps, IsEmpty());
  EXPECT_EQ(*node.system.nvidia_driver, "535.104.05");
  EXPECT_EQ(*node.system.cuda, "12.2");
  ASSERT_EQ(node.gpus.size(), 8u);
  ASSERT_EQ(node.nvswitches.size(), 4u);
  EXPECT_EQ(node.nvswitches[3].address, "0000:06:00.0");
  const Gpu& gpu = node.gpus[7];
  EXPECT_EQ(gpu.name, "GPU7");
  EXPECT_EQ(gpu.address, "0000:80:00.0");
  EXPECT_EQ(gpu.model, Fact<std::string>("NVIDIA H100", origin::nvml));
  ASSERT_EQ(gpu.nvlinks->size(), 18u);
  const NvLink& link = (*gpu.nvlinks)[2];
  EXPECT_TRUE(link.up.is(true));
  EXPECT_EQ(link.remote, Remote::nvswitch);
  EXPECT_EQ(link.rate,
            Fact<BytesPerSecond>(BytesPerSecond(25e9), origin::nvml));  // payload, not the line's 26.6
  ASSERT_EQ(counters.size(), 8u);
  EXPECT_EQ(counters[7].device, "GPU7");
  EXPECT_EQ(counters[7].values.at("nvlink17_replay"), 17u);
}

TEST_F(NvmlProbe, ALineSlowerThanItsVersionIsBelieved) {
  gpus(1);
  auto& link = answer["gpus"][0]["nvlinks"][0];
  link["version"] = 3;
  link["speed_MBps"] = 14062;  // a GeForce's bridge
  answer["gpus"][0]["nvlinks"][1].erase("version");
  answer["gpus"][0]["nvlinks"][2].erase("version");
  answer["gpus"][0]["nvlinks"][2].erase("speed_MBps");
  run();
  const auto& links = *node.gpus[0].nvlinks;
  EXPECT_DOUBLE_EQ(links[0].rate->value, 14.062e9);
  EXPECT_DOUBLE_EQ(links[1].rate->value, 26.562e9);
  EXPECT_FALSE(links[2].rate.known());
}

TEST_F(NvmlProbe, NoLinksAreNotUnknownLinks) {
  gpus(2);
  answer["gpus"][0]["nvlinks"] = json::array();
  answer["gpus"][1].erase("nvlinks");
  run();
  ASSERT_TRUE(node.gpus[0].nvlinks);
  EXPECT_THAT(*node.gpus[0].nvlinks, IsEmpty());
  EXPECT_FALSE(node.gpus[1].nvlinks);
}

TEST_F(NvmlProbe, NumbersAreNvmls) {
  gpus(3);
  answer["gpus"][0]["index"] = 2;
  answer["gpus"][2]["index"] = 0;
  run();
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:30:00.0", "GPU1 0000:20:00.0", "GPU2 0000:10:00.0"));
}

TEST_F(NvmlProbe, WithoutADriverThereAreTheGpusOfPci) {
  pci("0000:3b:00.0", 0x030200);
  pci("0000:03:00.0", 0x030000, 0x1a03);  // the BMC's
  fail_with({Cause::unavailable, "no NVIDIA driver: libnvidia-ml.so.1 is not installed", "", "install it"});
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:3b:00.0"));
  EXPECT_FALSE(node.gpus[0].nvlinks);
  EXPECT_FALSE(node.gpus[0].ecc.known());
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0],
            (Gap{"nvml", "GPUs", "no NVIDIA driver: libnvidia-ml.so.1 is not installed; install it"}));
}

TEST_F(NvmlProbe, ANodeWithoutNvidiaGpusMissesNothing) {
  pci("0000:03:00.0", 0x120000, 0x1002);
  fail_with({Cause::unavailable, "no NVIDIA driver", "", ""});
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:03:00.0"));
  EXPECT_THAT(node.gaps, IsEmpty());
}

TEST_F(NvmlProbe, ThatNvmlHangsIsSaidAnyway) {
  fail_with({Cause::deadline, "nvml did not answer within 3 s", "", ""});
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].why, "nvml did not answer within 3 s");
}

TEST_F(NvmlProbe, ALostGpuIsFoundByWhatIsLeftOver) {
  gpus(3);
  answer["gpus"][1] = {{"index", 1}, {"error", "the GPU is lost: it fell off the bus"}};
  run();
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:10:00.0", "GPU1 0000:20:00.0", "GPU2 0000:30:00.0"));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0], (Gap{"nvml", "GPU1", "the GPU is lost: it fell off the bus"}));
  EXPECT_EQ(node.gpus[2].nvlinks->size(), 18u);
}

TEST_F(NvmlProbe, SleepersAreNamedWithTheWayOut) {
  gpus(3);
  answer["gpus"][1] = {{"pci", "0000:20:00.0"}, {"asleep", true}};
  run();
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:10:00.0", "GPU1 0000:20:00.0", "GPU2 0000:30:00.0"));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].what, "GPU1");

  node.gpus.clear();
  node.gaps.clear();
  for (int i : {0, 2}) answer["gpus"][i] = {{"pci", answer["gpus"][i]["pci"]}, {"asleep", true}};
  run();
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0],
            (Gap{"nvml", "GPUs",
                 "GPUs sleep (persistence mode is off): NVML not asked, because that wakes them; "
                 "--wake-gpus asks"}));
}

TEST_F(NvmlProbe, AGpuOfAnotherDriverIsNotNvmls) {
  gpus(1);
  pci("0000:90:00.0", 0x030200);
  node.pci.back().driver = {"vfio-pci", origin::sysfs};
  run();
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:10:00.0", "GPU1 0000:90:00.0"));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].why, "NVML does not list it; its driver is vfio-pci");
}

TEST_F(NvmlProbe, OldDriversSayWhereALinkLeadsAndNotToWhat) {
  gpus(2);
  pci("0000:05:00.0", 0x068000);
  pci("0006:00:00.0", 0x068000, 0x1014);
  const char* remotes[] = {"0000:20:00.0", "0000:05:00.0", "0006:00:00.0", "0000:77:00.0"};
  for (int i = 0; i < 4; ++i) {
    answer["gpus"][0]["nvlinks"][i].erase("remote");
    answer["gpus"][0]["nvlinks"][i]["remote_pci"] = remotes[i];
  }
  run();
  const auto& links = *node.gpus[0].nvlinks;
  EXPECT_EQ(links[0].remote, Remote::gpu);
  EXPECT_EQ(links[1].remote, Remote::nvswitch);
  EXPECT_EQ(links[2].remote, Remote::cpu);
  EXPECT_EQ(links[3].remote, Remote::unknown);
}

TEST_F(NvmlProbe, NothingInAnAnswerIsTrusted) {
  gpus(1);
  answer["gpus"][0]["nvlinks"][0]["version"] = -3;
  answer["gpus"][0]["nvlinks"][1] = "up";
  answer["gpus"][0]["nvlinks"][2]["errors"] = {{"replay", "many"}};
  answer["gpus"][0]["name"] = "a\nb";
  answer["gpus"][0]["memory"] = 1.5;
  answer["gpus"].push_back(answer["gpus"][0]);  // the same address again
  answer["gpus"].push_back(7);
  run();
  ASSERT_EQ(node.gpus.size(), 1u);
  EXPECT_EQ(node.gpus[0].nvlinks->size(), 17u);
  EXPECT_FALSE((*node.gpus[0].nvlinks)[0].version.known());
  EXPECT_FALSE(node.gpus[0].memory.known());
  EXPECT_EQ(node.gpus[0].model->find('\n'), std::string::npos);

  node = {};
  pci("0000:10:00.0", 0x030200);
  recording.answers["nvml"] = "{\"gpus\": [";
  probe_it();
  EXPECT_THAT(names(), ElementsAre("GPU0 0000:10:00.0"));
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_THAT(node.gaps[0].why, HasSubstr("damaged"));
}

}  // namespace
}  // namespace ringtrue::probe
