// Whole machines with one fault each, and those that look alike and have none: from files and NVML to what
// inspection says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "diagnosis/findings/combine.h"
#include "probe/recording.h"
#include "report/text/wording.h"
#include "tests/unit/inspect/machine.h"
#include "topology/json.h"

namespace ringtrue::test {
namespace {

using diagnosis::Inspection;
using probe::Recording;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;
using Change = std::function<void(Machine&)>;

struct Fault {
  const char* name;
  Change change;                         // before the first reading
  std::vector<std::string> blamed = {};  // warnings and critical ones, "critical nvlink-down GPU3"
  std::vector<std::string> said = {};    // in evidence, impact or what was not checked
  Change later = {};                     // between the readings of a window of 10 s; empty: one reading
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

Recording record(const Fault& fault, Machine& machine) {
  if (fault.change) fault.change(machine);
  return fault.later ? machine.record_window(fault.later) : machine.record();
}

std::string all_text(const Inspection& inspection) {
  std::string text;
  for (const auto& f : inspection.findings) {
    text += words(f) + '\n';
    for (const auto& sentence : report::sentences(f.evidence)) text += "  " + sentence + '\n';
    text += "  " + report::sentence(f.impact) + '\n';
  }
  for (const auto& told : inspection.not_checked) {
    const auto [what, why] = report::not_checked(told);
    text += what + ": " + why + '\n';
  }
  return text;
}

void nothing(Machine&) {}

void all_gpus(Machine& m, const std::function<void(nlohmann::json&)>& change) {
  for (auto& gpu : m.nvml["gpus"]) change(gpu);
}

// RoCE rails instead of InfiniBand's.
void roce(Machine& m) {
  for (int rail = 0; rail < 4; ++rail) {
    m.port_file(rail, "link_layer", "Ethernet");
    m.pci_file(m.rail_address(rail), "class", "0x020000");
    m.tree.file(fmt::format("/sys/class/net/ib{}/type", rail), "1\n");
    m.tree.file(fmt::format("/sys/class/net/ib{}/mtu", rail), "9000\n");
  }
}

const Fault faults[] = {
    {"Healthy", nothing},
    {"HealthyOverAWindow", nothing, {}, {}, nothing},

    // ---- NVLinks
    {"OneNvlinkDown",
     [](Machine& m) { m.nvlink(3, 7)["state"] = 0; },
     {"critical nvlink-down GPU3"},
     {"1 of 18 NVLinks are down: 7 to NVSwitch1 (nvml)", "GPU3 carries 425 GB/s of 450 GB/s by NVLink"}},
    {"TwoLinksFewerThanItsSisters",
     [](Machine& m) { m.nvlink(5, 16) = m.nvlink(5, 17) = nullptr; },
     {"critical nvlink-fewer-than-sisters GPU5"},
     {"GPU5 has 16 NVLinks", "7 of the 8 GPUs of this model here have 18"}},
    {"BoardsBuiltWithFewer",
     [](Machine& m) {
       all_gpus(m, [](auto& gpu) {
         gpu["name"] = "NVIDIA H100 NVL";
         for (int link = 12; link < 18; ++link) gpu["links"][link] = nullptr;
       });
     }},
    {"BoardsBuiltWithTwoFewer",
     [](Machine& m) { all_gpus(m, [](auto& gpu) { gpu["links"][16] = gpu["links"][17] = nullptr; }); }},
    {"AllNvlinksDown",
     [](Machine& m) {
       all_gpus(m, [](auto& gpu) {
         for (auto& link : gpu["links"]) link["state"] = 0;
       });
     },
     {"critical nvlink-down GPU0", "critical nvlink-down GPU1", "critical nvlink-down GPU2",
      "critical nvlink-down GPU3", "critical nvlink-down GPU4", "critical nvlink-down GPU5",
      "critical nvlink-down GPU6", "critical nvlink-down GPU7"},
     {"this board's links are wired: none is up"}},
    {"MigHasNoNvlinks",
     [](Machine& m) {
       m.gpu(2)["mig"] = 1;
       for (auto& link : m.gpu(2)["links"]) link["state"] = 0;
     },
     {},
     {"nvlink-down: GPU2 of node0: MIG is on", "mig-enabled GPU2"}},
    {"MigHidesNvlinks",
     [](Machine& m) {
       m.gpu(2)["mig"] = 1;
       m.gpu(2).erase("links");
     },
     {},
     {"nvlink-fewer-than-sisters: GPU2 of node0: MIG is on"}},
    {"ReplaysRise",
     [](Machine& m) { m.nvlink(1, 4)["errors"][0] = 2; },
     {"critical nvlink-errors GPU1"},
     {"GPU1: 5 nvlink4_replay within 10.0 s (2 -> 7)"},
     [](Machine& m) { m.nvlink(1, 4)["errors"][0] = 7; }},
    {"OldReplays",
     [](Machine& m) {
       m.nvlink(1, 4)["errors"] = {90000, 3, 1234567, 0, 0};
     },
     {},
     {},
     nothing},
    {"CrcErrorsRiseFast",
     nothing,
     {"critical nvlink-errors GPU6"},
     {"5000 "},
     [](Machine& m) { m.nvlink(6, 17)["errors"][2] = 5000; }},
    {"FewCrcErrorsAreNormal", nothing, {}, {}, [](Machine& m) { m.nvlink(6, 17)["errors"][2] = 20; }},

    // ---- rails
    {"OneRailAtHalfWidth",
     [](Machine& m) { m.port_file(2, "rate", "200 Gb/sec (2X NDR)"); },
     {"critical rail-unlike-sisters mlx5_2"},
     {"25.0 GB/s", "3 of the 4 NICs of this kind here have 50.0 GB/s", "mlx5_2 is NDR 2x, mlx5_0 is NDR 4x",
      "100 GB/s instead of 200 GB/s"}},
    {"OneHdrRailAtHalfWidth",
     [](Machine& m) {
       for (int rail = 0; rail < 4; ++rail)
         m.port_file(rail, "rate", rail == 1 ? "100 Gb/sec (2X HDR)" : "200 Gb/sec (4X HDR)");
     },
     {"critical rail-unlike-sisters mlx5_1"},
     {"mlx5_1 is HDR 2x, mlx5_0 is HDR 4x"}},
    {"OneRailAtALowerSpeed",
     [](Machine& m) { m.port_file(0, "rate", "100 Gb/sec (4X EDR)"); },
     {"warning rail-unlike-sisters mlx5_0"},
     {"mlx5_0 is EDR 4x, mlx5_1 is NDR 4x"}},
    {"AllRailsSplitAlike",
     [](Machine& m) {
       for (int rail = 0; rail < 4; ++rail) m.port_file(rail, "rate", "100 Gb/sec (2X HDR)");
     }},
    {"OneLaneIsNoCable",
     [](Machine& m) {
       for (int rail = 0; rail < 4; ++rail) m.port_file(rail, "rate", "25 Gb/sec (1X EDR)");
     },
     {"critical port-rate-degraded mlx5_0/1", "critical port-rate-degraded mlx5_1/1",
      "critical port-rate-degraded mlx5_2/1", "critical port-rate-degraded mlx5_3/1"},
     {"1 of 4 lanes"}},
    {"ANicInHalfASlot",
     [](Machine& m) { m.runs_at(m.rail_chain(3), "32.0", "8"); },
     {"critical pcie-link-degraded mlx5_3"},
     {"the link runs at 32 GT/s x8 (sysfs)", "mlx5_3 (0000:45:00.0) can do 32 GT/s x16 (sysfs)"}},
    {"ASwitchAtHalfSpeed",
     [](Machine& m) {
       const std::string chain = m.rail_chain(0);
       m.runs_at(chain.substr(0, 2 * 12 + 1), "16.0", "16");
     },
     {"critical pcie-link-degraded 0000:11:00.0"},
     {"GPU0, GPU1, mlx5_0 share"}},
    {"OneRailDown",
     [](Machine& m) { m.rail_down(1); },
     {"critical port-down mlx5_1/1"},
     {"mlx5_1/1 is down (sysfs), its wire \"polling\"", "3 of the 4 ports like it on this node are active"}},
    {"AllRailsDown",
     [](Machine& m) {
       for (int rail = 0; rail < 4; ++rail) m.rail_down(rail);
     },
     {"critical port-down mlx5_0/1", "critical port-down mlx5_1/1", "critical port-down mlx5_2/1",
      "critical port-down mlx5_3/1"},
     {"no port of this kind is up on this node"}},
    {"NoSubnetManager",
     [](Machine& m) { m.port_file(0, "state", "2: INIT"); },
     {"critical port-not-active mlx5_0/1"},
     {"mlx5_0/1 is init (sysfs), its wire \"linkup\""}},

    // ---- counters of ports
    {"SymbolErrorsRise",
     [](Machine& m) { m.counter(2, "symbol_error", 100); },
     {"critical symbol-errors mlx5_2/1"},
     {"mlx5_2 port 1: 412 symbol errors within 10.0 s (100 -> 512)", "41.2/s"},
     [](Machine& m) { m.counter(2, "symbol_error", 512); }},
    {"SymbolErrorsConstant", [](Machine& m) { m.counter(2, "symbol_error", 412); }, {}, {}, nothing},
    {"SymbolErrorsOfYears", [](Machine& m) { m.counter(2, "symbol_error", 65000); }, {}, {}, nothing},
    {"SymbolErrorsAt255",
     [](Machine& m) { m.counter(2, "symbol_error", 255); },
     {},
     {"symbol_error stands at 255"},
     nothing},
    {"SymbolErrorsAtTheirEnd",
     [](Machine& m) { m.counter(2, "symbol_error", 65535); },
     {},
     {"symbol_error stands at 65535, as high as it goes"},
     nothing},
    {"LinkDownedAtItsEnd",
     [](Machine& m) { m.counter(0, "link_downed", 255); },
     {},
     {"link_downed stands at 255, as high as it goes"},
     nothing},
    {"LinkDownedRises",
     nothing,
     {"critical port-fatal-errors mlx5_0/1"},
     {"0 -> 1"},
     [](Machine& m) { m.counter(0, "link_downed", 1); }},
    {"CountersThatWereReset",
     [](Machine& m) { m.counter(0, "symbol_error", 4000); },
     {},
     {"the counter was reset within the window"},
     [](Machine& m) { m.counter(0, "symbol_error", 3); }},
    {"TrafficIsNoError", nothing, {}, {}, [](Machine& m) { m.counter(0, "port_xmit_data", 123456789); }},
    {"OneRoceRailAtHalfRate",
     [](Machine& m) {
       roce(m);
       m.port_file(3, "rate", "200 Gb/sec (4X HDR)");
     },
     {"warning rail-unlike-sisters mlx5_3"},
     {"ports' rate of mlx5_3: 25.0 GB/s"}},
    {"RoceRepeats",
     roce,
     {"warning roce-retransmissions mlx5_3/1"},
     {"17 "},
     [](Machine& m) { m.port_file(3, "hw_counters/out_of_sequence", "17"); }},
    {"RoceHealthy",
     [](Machine& m) {
       roce(m);
       for (int rail = 0; rail < 4; ++rail) m.port_file(rail, "hw_counters/out_of_sequence", "5000");
     },
     {},
     {},
     nothing},
    {"PciErrorsRise",
     [](Machine& m) { m.pci_file(m.rail_address(1), "aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0"); },
     {"critical pcie-errors 0000:25:00.0"},
     {},
     [](Machine& m) { m.pci_file(m.rail_address(1), "aer_dev_fatal", "Undefined 2\nTOTAL_ERR_FATAL 2"); }},

    // ---- what is merely idle, virtual or unused
    {"IdleGpus",
     [](Machine& m) {
       for (int g = 0; g < 8; ++g) m.runs_at(m.gpu_chain(g), "2.5", "16");
       all_gpus(m, [](auto& gpu) { gpu["performance_state"] = 8; });
     },
     {},
     {"to save power"}},
    {"AGpuThatLostLanes",
     [](Machine& m) {
       for (int g = 0; g < 8; ++g) m.runs_at(m.gpu_chain(g), "2.5", g == 4 ? "8" : "16");
     },
     {"critical pcie-link-degraded GPU4"},
     {"the lost lanes are not"}},
    {"VirtualFunctions",
     [](Machine& m) {
       const std::string rail = m.rail_chain(0), chain = rail.substr(0, rail.size() - 12);
       for (int v = 1; v <= 4; ++v) {
         const std::string at = fmt::format("0000:15:00.{}", v);
         m.tree.pci(chain + at, {.device_class = 0x020700,
                                 .vendor = 0x15b3,
                                 .device = 0x101e,
                                 .speed = "Unknown",
                                 .width = "0",
                                 .max_speed = "Unknown",
                                 .max_width = "0",
                                 .physical = m.rail_address(0),
                                 .driver = "mlx5_core"});
         m.tree.rdma(fmt::format("mlx5_{}", 3 + v), m.folder_of(chain + at), "10 Gb/sec (4X SDR)",
                     "InfiniBand", "1: DOWN", "3: Disabled");
       }
     }},
    {"MemlockLow",
     [](Machine& m) {
       m.tree.file("/proc/self/limits",
                   "Max locked memory         8388608              8388608              bytes\n");
     },
     {"warning memlock-low "},
     {"8 MiB", "below 1 GiB"}},
    {"IommuTranslates",
     [](Machine& m) {
       m.tree.link(m.folder_of(m.rail_chain(0)) + "/iommu_group", "/sys/kernel/iommu_groups/7");
       m.tree.file("/sys/kernel/iommu_groups/7/type", "DMA-FQ\n");
       m.tree.folder("/sys/class/iommu/dmar0");
     },
     {"warning iommu-translated "}},
};

class Machines : public testing::TestWithParam<Fault> {};

TEST_P(Machines, AreJudgedByTheirFiles) {
  const Fault& fault = GetParam();
  Machine machine;
  const Inspection inspection = inspect(record(fault, machine));
  EXPECT_THAT(blamed(inspection), UnorderedElementsAreArray(fault.blamed)) << all_text(inspection);
  for (const auto& words : fault.said) EXPECT_THAT(all_text(inspection), HasSubstr(words));
  EXPECT_EQ(diagnosis::verdict_of(inspection.findings) == diagnosis::Verdict::healthy, fault.blamed.empty());
}

// What a live source says, what its recording says, and what that says once it was packed and unpacked.
TEST_P(Machines, AreTheSameInABundle) {
  Machine machine;
  const Recording recording = record(GetParam(), machine);
  const auto unpacked = probe::read_recording(probe::write_recording(recording));
  ASSERT_TRUE(unpacked) << unpacked.error().text();
  topology::Node live = machine.probe(), bundled = probe::probe(*unpacked);
  EXPECT_EQ(probe::probe(recording), bundled);
  bundled.window.reset();
  if (!GetParam().later) {
    EXPECT_EQ(live, bundled);
  }
  EXPECT_EQ(all_text(inspect(recording)), all_text(inspect(*unpacked)));
}

TEST_P(Machines, AreJudgedAlikeWithoutTheirNames) {
  Machine machine;
  Recording recording = record(GetParam(), machine);
  const Inspection before = inspect(recording);
  probe::redact(recording, "salt");
  const Inspection after = inspect(recording);
  EXPECT_EQ(blamed(before, true), blamed(after, true));
  for (std::size_t i = 0; i < std::min(before.findings.size(), after.findings.size()); ++i)
    EXPECT_EQ(report::sentences(before.findings[i].evidence), report::sentences(after.findings[i].evidence));
  EXPECT_EQ(before.not_checked.size(), after.not_checked.size());
  EXPECT_EQ(before.rules, after.rules);
  const std::string shown = topology::to_json({{probe::probe(recording)}, {}});
  for (const char* name : {"node0", "9c06", "c0ffee", "165003"}) EXPECT_THAT(shown, Not(HasSubstr(name)));
}

INSTANTIATE_TEST_SUITE_P(All, Machines, testing::ValuesIn(faults),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ringtrue::test
