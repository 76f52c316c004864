#include "cases.h"

namespace ringtrue::diagnosis {

using namespace topology;
using namespace test;

namespace {

void put_down(Gpu& gpu, int links) {
  for (int i = 0; i < links; ++i) (*gpu.nvlinks)[std::size_t(i)].up.value = false;
}

// Cards with twelve links each, of which bridges join pairs.
Node bridged(int pairs) {
  Node n = pcie_box("node0");
  for (std::size_t i = 0; i < n.gpus.size(); ++i)
    for (int l = 0; l < 12; ++l) {
      n.gpus[i].nvlinks->push_back(nvlink(l, 3, BytesPerSecond(25e9), Remote::gpu, n.gpus[i ^ 1].address));
      n.gpus[i].nvlinks->back().up.value = int(i) < 2 * pairs;
    }
  return n;
}

}  // namespace

Cases nvlink_cases() {
  const auto nothing = [](Node&) {};
  return {
      {"nvlink-down", "one link of one GPU", hgx([](Node& n) { put_down(n.gpus[5], 1); }), true, "GPU5"},
      {"nvlink-down", "all links of all GPUs of a baseboard", hgx([](Node& n) {
         for (Gpu& g : n.gpus) put_down(g, 18);
       }),
       true},
      {"nvlink-down", "one link of a lone GPU of a baseboard", hgx([](Node& n) {
         n.gpus.resize(1);
         put_down(n.gpus[0], 1);
       }),
       true, "GPU0"},
      {"nvlink-down", "all links up", hgx(nothing)},
      {"nvlink-down", "cards without bridges", one(bridged(0))},
      {"nvlink-down", "cards of which one pair is bridged", one(bridged(1))},
      {"nvlink-down", "boards with fewer links, on all GPUs alike", hgx([](Node& n) {
         for (Gpu& g : n.gpus) {
           g.model.value = "NVIDIA H100 NVL";
           put_down(g, 6);
         }
       })},

      {"nvlink-fewer-than-sisters", "one GPU has two fewer",
       hgx([](Node& n) { n.gpus[2].nvlinks->resize(16); }), true, "GPU2"},
      {"nvlink-fewer-than-sisters", "one GPU has none", hgx([](Node& n) { n.gpus[2].nvlinks->clear(); }),
       true, "GPU2"},
      {"nvlink-fewer-than-sisters", "all GPUs have two fewer: built so", hgx([](Node& n) {
         for (Gpu& g : n.gpus) g.nvlinks->resize(16);
       })},
      {"nvlink-fewer-than-sisters", "H100 NVL: twelve each", hgx([](Node& n) {
         n.nvswitches.clear();
         for (Gpu& g : n.gpus) {
           g.model.value = "NVIDIA H100 NVL";
           g.nvlinks->resize(12);
         }
       })},
      {"nvlink-fewer-than-sisters", "PCIe cards without any", one(pcie_box("node0"))},
      {"nvlink-fewer-than-sisters", "GPUs of another model with fewer", hgx([](Node& n) {
         n.gpus[7].model.value = "NVIDIA A100-SXM4-80GB";
         n.gpus[7].nvlinks->resize(12);
       })},

      {"nvlink-errors", "a replay counter that rises",
       hgx([](Node& n) { rises(n, "GPU1", "nvlink7_replay", 3, 5); }), true, "GPU1"},
      {"nvlink-errors", "flit errors at 200 a second",
       hgx([](Node& n) { rises(n, "GPU1", "nvlink7_crc_flit", 0, 2000); }), true, "GPU1"},
      {"nvlink-errors", "old counts that stand still", hgx([](Node& n) {
         n.gpus[1].nvlinks->at(7).errors["replay"] = 412;
         rises(n, "GPU1", "nvlink7_replay", 412, 412);
       })},
      {"nvlink-errors", "flit errors at one a second",
       hgx([](Node& n) { rises(n, "GPU1", "nvlink7_crc_flit", 100, 110); })},
      {"nvlink-errors", "a counter that was reset",
       hgx([](Node& n) { rises(n, "GPU1", "nvlink7_replay", 412, 1, 10, false, true); })},
  };
}

Cases gpu_cases() {
  const auto nothing = [](Node&) {};
  return {
      {"gpu-lost", "NVML answers for seven of eight", hgx([](Node& n) {
         n.gaps.push_back({origin::nvml, "GPU4", "GPU is lost"});
       }),
       true, "GPU4"},
      {"gpu-lost", "PCI shows one that NVML does not", hgx([](Node& n) { n.gpus[6].uuid = {}; }), true,
       "GPU6"},
      {"gpu-lost", "no driver at all", hgx([](Node& n) {
         for (Gpu& g : n.gpus) g.uuid = {}, pci_of(n, g).driver = {};
         n.gaps.push_back({origin::nvml, "GPUs", "no driver"});
       })},
      {"gpu-lost", "one that a virtual machine has", hgx([](Node& n) {
         n.gpus[6].uuid = {};
         pci_of(n, n.gpus[6]).driver.value = "vfio-pci";
       })},
      {"gpu-lost", "two that sleep", hgx([](Node& n) {
         n.gpus[2].uuid = n.gpus[6].uuid = {};
         n.gaps.push_back({origin::nvml, "GPU2, GPU6", "asleep (persistence mode is off): NVML not asked"});
       })},
      {"gpu-lost", "one without the driver, which NVML does not list", hgx([](Node& n) {
         n.gpus[6].uuid = {};
         pci_of(n, n.gpus[6]).driver.value = "vfio-pci";
         n.gaps.push_back({origin::nvml, "GPU6", "NVML does not list it; its driver is vfio-pci"});
       })},
      {"gpu-lost", "the NVLinks alone could not be read", hgx([](Node& n) {
         n.gaps.push_back({origin::nvml, "NVLinks of GPU4", "not supported"});
       })},

      {"gpu-throttled", "thermal slowdown", hgx([](Node& n) { n.gpus[1].throttle.value = 0x40; }), true,
       "GPU1"},
      {"gpu-throttled", "power brake", hgx([](Node& n) { n.gpus[1].throttle.value = 0x88; }), true, "GPU1"},
      {"gpu-throttled", "software thermal slowdown", hgx([](Node& n) { n.gpus[1].throttle.value = 0x20; }),
       true, "GPU1"},
      {"gpu-throttled", "idle", hgx([](Node& n) { n.gpus[1].throttle.value = 0x1; })},
      {"gpu-throttled", "clocks set by the application",
       hgx([](Node& n) { n.gpus[1].throttle.value = 0x2; })},

      {"ecc-errors", "three uncorrected", hgx([](Node& n) { n.gpus[0].ecc_uncorrected.value = 3; }), true,
       "GPU0"},
      {"ecc-errors", "corrected ones alone", hgx([](Node& n) { n.gpus[0].ecc_corrected.value = 3000; })},

      {"ecc-retirement-pending", "rows that wait",
       hgx([](Node& n) { n.gpus[0].retired_pending.value = true; }), true, "GPU0"},
      {"ecc-retirement-pending", "none that wait", hgx(nothing)},

      {"ecc-off", "one of eight", hgx([](Node& n) { n.gpus[0].ecc.value = false; }), true, "GPU0"},
      {"ecc-off", "all alike", hgx([](Node& n) {
         for (Gpu& g : n.gpus) g.ecc.value = false;
       })},

      {"mig-enabled", "on", hgx([](Node& n) { n.gpus[0].mig.value = true; }), true, "GPU0"},
      {"mig-enabled", "a board that has none", hgx([](Node& n) { n.gpus[0].mig = {}; })},
  };
}

}  // namespace ringtrue::diagnosis
