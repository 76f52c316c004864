// What the links of the GPUs of a run allow it, and why that is not always known.
#include "diagnosis/sweep/gpu_ideal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

using testing::HasSubstr;
using topology::Fact;

// GPUs with so many NVLinks of 25 GB/s each, and x16 of 32 GT/s up to the root.
topology::Node node_of(std::vector<int> links) {
  topology::Node node;
  node.name = "node1";
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string number = std::to_string(i);
    topology::PciDevice device;
    device.address = "0000:" + number + "1:00.0";
    device.kind = topology::PciKind::endpoint;
    device.link.speed_GTps = device.link.max_speed_GTps = Fact<double>(32, "sysfs");
    device.link.width = device.link.max_width = Fact<int>(16, "sysfs");
    topology::Gpu gpu;
    gpu.name = "GPU" + number;
    gpu.address = device.address;
    gpu.uuid = Fact<std::string>("GPU-" + number, "nvml");
    gpu.nvlinks.emplace();
    for (int k = 0; k < links[i]; ++k) {
      topology::NvLink link;
      link.index = k;
      link.up = Fact<bool>(true, "nvml");
      link.version = Fact<int>(4, "nvml");
      link.rate = Fact<BytesPerSecond>(BytesPerSecond(25e9), "nvml");
      gpu.nvlinks->push_back(link);
    }
    node.pci.push_back(device);
    node.gpus.push_back(gpu);
  }
  return node;
}

std::vector<run::GpuUse> parts(std::vector<int> gpus, run::GpuWay way = run::GpuWay::peer,
                               run::GpuPlay play = run::GpuPlay::kernel) {
  std::vector<run::GpuUse> all;
  for (const int gpu : gpus) all.push_back({"a", gpu, "", "GPU-" + std::to_string(gpu), {gpu}, play, {way}});
  return all;
}

constexpr double gen5_x16 = 32e9 * 128 / 130 / 8 * 16;  // bytes per second

TEST(GpuIdeal, IsThatOfTheGpusInUse) {
  const topology::Node node = node_of({18, 18, 12});
  const GpuIdeal two = gpu_ideal(&node, parts({0, 1}));
  ASSERT_TRUE(two.intra) << two.note;
  EXPECT_DOUBLE_EQ(two.intra->value.value, 450e9);
  EXPECT_EQ(two.intra->origin, ideal::Origin::probed);
  EXPECT_TRUE(two.efficiency);
  EXPECT_THAT(two.note, HasSubstr("18 NVLinks x 25 GB/s = 450 GB/s"));
  const GpuIdeal all = gpu_ideal(&node, parts({0, 1, 2}));
  ASSERT_TRUE(all.intra);
  EXPECT_DOUBLE_EQ(all.intra->value.value, 300e9) << "the slowest";
}

TEST(GpuIdeal, IsThatOfPcieWithoutNvlinksOrThroughTheHost) {
  const topology::Node plain = node_of({0, 0}), linked = node_of({18, 18});
  const GpuIdeal peers = gpu_ideal(&plain, parts({0, 1}, run::GpuWay::ipc));
  ASSERT_TRUE(peers.intra) << peers.note;
  EXPECT_NEAR(peers.intra->value.value, gen5_x16, 1e6);
  const GpuIdeal staged = gpu_ideal(&linked, parts({0, 1}, run::GpuWay::staged, run::GpuPlay::copy_engines));
  ASSERT_TRUE(staged.intra) << staged.note;
  EXPECT_NEAR(staged.intra->value.value, gen5_x16, 1e6);
  EXPECT_THAT(staged.note, HasSubstr("since the data passes through the host"));
}

TEST(GpuIdeal, LinksToGpusOutsideTheRunCarryNothingOfIt) {
  topology::Node node = node_of({12, 12, 12});  // each with six links to either of the others
  for (std::size_t gpu = 0; gpu < 3; ++gpu) {
    for (std::size_t k = 0; k < 12; ++k) {
      topology::NvLink& link = (*node.gpus[gpu].nvlinks)[k];
      link.remote = topology::Remote::gpu;
      link.remote_address = node.gpus[(gpu + 1 + k / 6) % 3].address;
    }
  }
  const GpuIdeal two = gpu_ideal(&node, parts({0, 2})), all = gpu_ideal(&node, parts({0, 1, 2}));
  ASSERT_TRUE(two.intra && all.intra) << two.note << all.note;
  EXPECT_DOUBLE_EQ(two.intra->value.value, 150e9);
  EXPECT_DOUBLE_EQ(all.intra->value.value, 300e9);
  for (topology::NvLink& link : *node.gpus[0].nvlinks) link.remote_address = node.gpus[1].address;
  for (topology::NvLink& link : *node.gpus[2].nvlinks) link.remote_address = node.gpus[1].address;
  const GpuIdeal none = gpu_ideal(&node, parts({0, 2}));
  ASSERT_TRUE(none.intra) << none.note;
  EXPECT_NEAR(none.intra->value.value, gen5_x16, 1e6) << "no NVLink leads from one to the other";
  for (topology::Gpu& gpu : node.gpus)
    for (topology::NvLink& link : *gpu.nvlinks) link.remote = topology::Remote::nvswitch;
  EXPECT_DOUBLE_EQ(gpu_ideal(&node, parts({0, 2})).intra->value.value, 300e9);
}

TEST(GpuIdeal, SaysWhyThereIsNone) {
  const topology::Node node = node_of({18, 18});
  const auto why = [&](const topology::Node* facts, const std::vector<run::GpuUse>& gpus) {
    const GpuIdeal ideal = gpu_ideal(facts, gpus);
    EXPECT_FALSE(ideal.intra);
    EXPECT_TRUE(ideal.note.starts_with("no ideal: ")) << ideal.note;
    return ideal.note;
  };
  std::vector<run::GpuUse> shared = parts({0, 1});
  shared[1].ranks = {1, 2};
  EXPECT_THAT(why(&node, shared), HasSubstr("ranks share a GPU"));
  EXPECT_THAT(why(&node, parts({0, 0})), HasSubstr("ranks share a GPU")) << "of two processes";
  EXPECT_THAT(why(&node, parts({0, 1}, {}, run::GpuPlay::mirror)), HasSubstr("the host's memory takes part"));
  EXPECT_THAT(why(nullptr, parts({0, 1})), HasSubstr("could not be read"));
  EXPECT_THAT(why(&node, parts({0, 7})), HasSubstr("do not have GPU-7"));
  topology::Node unknown = node;
  unknown.gpus[1].nvlinks.reset();
  EXPECT_THAT(why(&unknown, parts({0, 1})), HasSubstr("unknown, because NVLinks are"));
}

}  // namespace
}  // namespace ringtrue::diagnosis
