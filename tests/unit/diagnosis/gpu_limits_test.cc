// What GPUs carried, held against their links: what is slow is named, and look-alikes stay quiet.
#include "diagnosis/sweep/gpu_limits.h"
#include "report/text/wording.h"
#include "run/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ResultOf;
using topology::Fact;

constexpr double gen5_x16 = 32e9 * 128 / 130 / 8 * 16;  // bytes per second

// A node of GPUs that have PCIe links of their own up to root ports, x16 of 32 GT/s; the last one's root port
// has fewer lanes.
topology::Node node_of(int gpus, int last_width = 16) {
  topology::Node node;
  node.name = "node1";
  for (int i = 0; i < gpus; ++i) {
    const int width = i == gpus - 1 ? last_width : 16;
    topology::PciDevice root, device;
    root.address = "0000:" + std::to_string(i) + "0:01.0";
    root.kind = topology::PciKind::root_port;
    device.address = "0000:" + std::to_string(i) + "1:00.0";
    device.parent = root.address;
    device.kind = topology::PciKind::endpoint;
    device.numa = Fact<int>(0, "sysfs");
    for (auto* end : {&root, &device}) {
      end->link.max_speed_GTps = Fact<double>(32, "sysfs");
      end->link.speed_GTps = Fact<double>(2.5, "sysfs");  // idle
      end->link.width = end->link.max_width = Fact<int>(16, "sysfs");
    }
    root.link.max_width = Fact<int>(width, "sysfs");
    topology::Gpu gpu;
    gpu.name = "GPU" + std::to_string(i);
    gpu.address = device.address;
    gpu.uuid = Fact<std::string>("GPU-" + std::to_string(i), "nvml");
    gpu.model = Fact<std::string>("NVIDIA H100", "nvml");
    node.pci.push_back(root);
    node.pci.push_back(device);
    node.gpus.push_back(gpu);
  }
  return node;
}

void link_all(topology::Node& node, int links) {
  node.nvswitches.push_back({"NVSwitch0", "0000:f0:00.0"});
  for (topology::Gpu& gpu : node.gpus) {
    gpu.nvlinks.emplace();
    for (int i = 0; i < links; ++i) {
      topology::NvLink link;
      link.index = i;
      link.up = Fact<bool>(true, "nvml");
      link.version = Fact<int>(4, "nvml");
      link.rate = Fact<BytesPerSecond>(BytesPerSecond(25e9), "nvml");
      link.remote = topology::Remote::nvswitch;
      link.remote_address = "0000:f0:00.0";
      gpu.nvlinks->push_back(link);
    }
  }
}

using Kind = run::GpuLimit::Kind;
using Host = run::GpuLimit::Host;

run::GpuLimit limit_of(Kind kind, int gpu, double rate) {
  run::GpuLimit limit;
  limit.node = "node1";
  limit.kind = kind;
  limit.gpu = {gpu, "GPU-" + std::to_string(gpu), "0000:" + std::to_string(gpu) + "1:00.0"};
  limit.rate = BytesPerSecond(rate);
  return limit;
}

run::GpuLimit host(Kind kind, int gpu, double rate, Host memory = Host::pinned, int numa = 0) {
  run::GpuLimit limit = limit_of(kind, gpu, rate);
  limit.host = memory;
  limit.numa = numa;
  return limit;
}

run::GpuLimit pair(Kind kind, int gpu, int peer, double rate) {
  run::GpuLimit limit = limit_of(kind, gpu, rate);
  limit.peer = limit_of(kind, peer, rate).gpu;
  return limit;
}

GpuLimits judged(const topology::Node& node, std::vector<run::GpuLimit> limits) {
  return rate_gpus(std::move(limits), topology::Cluster{{node}, {}}, 0.95, 0.85);
}

std::string why(const NotChecked& n) {
  return report::not_checked(n).why;
}

TEST(GpuLimits, HostCopiesAreHeldAgainstTheNarrowestLink) {
  const auto out = judged(node_of(1), {host(Kind::to_device, 0, 55e9), host(Kind::host_both, 0, 92.8e9)});
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_THAT(out.not_checked, ElementsAre(ResultOf(why, HasSubstr("both ways at once"))));
  ASSERT_TRUE(out.rates[0].ideal && out.rates[0].ratio && out.rates[1].ideal);
  EXPECT_NEAR(out.rates[0].ideal->value, gen5_x16, 1e7);
  EXPECT_NEAR(out.rates[1].ideal->value, 2 * gen5_x16, 2e7);
  EXPECT_NEAR(*out.rates[0].ratio, 55e9 / (0.87 * gen5_x16), 1e-3);
  EXPECT_EQ(out.rates[0].near, true);
}

TEST(GpuLimits, ASlowLinkIsNamedAndANarrowSlotIsNot) {
  const auto slow = judged(node_of(1), {host(Kind::to_host, 0, 27e9)});
  ASSERT_EQ(slow.findings.size(), 1u);
  const Finding& finding = slow.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::slow_gpu_link);
  EXPECT_EQ(finding.severity, Severity::critical);
  EXPECT_EQ(finding.scope.type, ScopeType::gpu);
  EXPECT_EQ(finding.scope.subject.node, "node1");
  EXPECT_EQ(finding.scope.subject.device, "GPU 0 (GPU-0)");
  EXPECT_THAT(report::sentence(finding.evidence[0]),
              HasSubstr("device-to-host of GPU 0 (GPU-0), pinned carried 27.0 GB/s"));
  EXPECT_GT(finding.confidence, 0.9);
  // A slot of eight lanes carries no more.
  EXPECT_THAT(judged(node_of(1, 8), {host(Kind::to_host, 0, 27.8e9)}).findings, IsEmpty());
}

TEST(GpuLimits, SlightlySlowIsAWarning) {
  const auto out = judged(node_of(1), {host(Kind::to_device, 0, 0.9 * 0.87 * gen5_x16)});
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].severity, Severity::warning);
}

TEST(GpuLimits, FarAndPageableMemoryBlameNobody) {
  const auto out = judged(node_of(1), {host(Kind::to_device, 0, 20e9, Host::pinned, 1),
                                       host(Kind::to_device, 0, 9e9, Host::pageable, -1)});
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_THAT(out.not_checked, IsEmpty());
  EXPECT_EQ(out.rates[0].near, false);
}

TEST(GpuLimits, PeersAreHeldAgainstTheirNvlinks) {
  topology::Node node = node_of(2);
  link_all(node, 18);
  const auto good = judged(node, {pair(Kind::peer_copy, 0, 1, 370e9), pair(Kind::peer_both, 0, 1, 720e9)});
  EXPECT_THAT(good.findings, IsEmpty());
  ASSERT_TRUE(good.rates[0].ideal);
  EXPECT_DOUBLE_EQ(good.rates[0].ideal->value, 450e9);
  EXPECT_THAT(good.rates[0].source, HasSubstr("18 NVLinks of version 4"));
  const auto slow = judged(node, {pair(Kind::peer_copy, 1, 0, 200e9)});
  ASSERT_EQ(slow.findings.size(), 1u);
  EXPECT_EQ(slow.findings[0].scope.type, ScopeType::link);
  EXPECT_EQ(slow.findings[0].scope.subject.device, "GPU 1 (GPU-1) - GPU 0 (GPU-0)");
}

TEST(GpuLimits, AKernelIsNotHeldToWhatCopyEnginesReach) {
  topology::Node node = node_of(2);
  link_all(node, 18);
  EXPECT_THAT(judged(node, {pair(Kind::peer_read, 0, 1, 330e9)}).findings, IsEmpty());
  EXPECT_EQ(judged(node, {pair(Kind::peer_read, 0, 1, 200e9)}).findings.size(), 1u);
}

// Through a host bridge: what that passes on is not known.
TEST(GpuLimits, PeersWithoutNvlinksTakeTheNarrowerWay) {
  const auto out = judged(node_of(2, 8), {pair(Kind::peer_copy, 0, 1, 12e9)});
  EXPECT_THAT(out.findings, IsEmpty());
  ASSERT_TRUE(out.rates[0].ideal);
  EXPECT_NEAR(out.rates[0].ideal->value, gen5_x16 / 2, 1e7);
}

TEST(GpuLimits, WithoutPeerAccessNoLinkIsToBlame) {
  auto read = pair(Kind::peer_read, 0, 1, 0);
  read.rate.reset();
  read.why_not = "no peer access from GPU 0 to GPU 1";
  const auto out = judged(node_of(2), {pair(Kind::peer_copy, 0, 1, 12e9), read});
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_THAT(out.not_checked, Contains(ResultOf(why, read.why_not)));
}

TEST(GpuLimits, AWayBackThroughTheHostClearsTheCopiesBothWaysAlone) {
  topology::Node node = node_of(2);
  link_all(node, 18);
  run::GpuLimit both = pair(Kind::peer_both, 0, 1, 60e9);
  both.why_not = "back through the host: no peer access from GPU 1 to GPU 0";
  const auto out = judged(node, {pair(Kind::peer_copy, 0, 1, 200e9), both});
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_THAT(report::sentence(out.findings[0].evidence[0]), HasSubstr("peer-copy of GPU 0"));
  EXPECT_TRUE(out.rates[0].ideal);
  EXPECT_FALSE(out.rates[1].ideal || out.rates[1].ratio);
  EXPECT_THAT(out.not_checked, Contains(ResultOf(why, both.why_not)));
}

TEST(GpuLimits, MemoriesAreComparedWithTheirLike) {
  std::vector<run::GpuLimit> limits;
  for (int i = 0; i < 4; ++i) limits.push_back(limit_of(Kind::device_copy, i, i == 2 ? 1.5e12 : 2.6e12));
  const auto out = judged(node_of(4), limits);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].kind, FindingKind::slow_gpu_memory);
  EXPECT_EQ(out.findings[0].scope.subject.device, "GPU 2 (GPU-2)");
  EXPECT_EQ(out.rates[2].origin, ideal::Origin::fleet_majority);
  // Two are no majority.
  limits.resize(3);
  limits.erase(limits.begin());
  const auto two = judged(node_of(4), limits);
  EXPECT_THAT(two.findings, IsEmpty());
  EXPECT_THAT(two.not_checked, Contains(ResultOf(why, HasSubstr("there are not three"))));
}

TEST(GpuLimits, WhatTheHostCarriesBothWaysIsComparedWithItsLike) {
  std::vector<run::GpuLimit> limits;
  for (int i = 0; i < 4; ++i) limits.push_back(host(Kind::host_both, i, i == 2 ? 60e9 : 93e9));
  const auto out = judged(node_of(4), limits);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].kind, FindingKind::slow_gpu_link);
  EXPECT_EQ(out.findings[0].scope.subject.device, "GPU 2 (GPU-2)");
  // Hosts differ by more than links: only what is far from the others is named.
  limits[2].rate = BytesPerSecond(82e9);
  EXPECT_THAT(judged(node_of(4), limits).findings, IsEmpty());
}

TEST(GpuLimits, AGpuThatTheFactsDoNotHaveIsToldAsNotChecked) {
  const auto out = judged(node_of(1), {host(Kind::to_device, 5, 1e9)});
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_THAT(out.not_checked, Contains(ResultOf(why, HasSubstr("do not have it"))));
}

}  // namespace
}  // namespace ringtrue::diagnosis
