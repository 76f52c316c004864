// A whole machine as its files and its NVML have it: eight H100s with 18 NVLinks each over four NVSwitches,
// four PCIe switches with two GPUs and one InfiniBand rail each, and beside these a management NIC without a
// cable and the BMC's VGA. Healthy; tests break it by a line each.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "diagnosis/inspect/inspect.h"
#include "probe/library/library.h"
#include "probe/live.h"
#include "probe/probe.h"
#include "probe/source.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::test {

class Machine {
 public:
  Machine() {
    ::setenv("RINGTRUE_NVML", RINGTRUE_FAKE_NVML_LIBRARY, 1);
    ::setenv("RINGTRUE_FAKE_NVML", nvml_file().c_str(), 1);
    nvml = {{"driver", "535.104.05"}, {"cuda", 12020}, {"gpus", nlohmann::json::array()}};
    add_system();
    for (int s = 0; s < 4; ++s) add_switch(s);
    for (int s = 0; s < 4; ++s)
      tree.pci(fmt::format("0000:c0:{:02x}.0/{}", s + 1, nvswitch(s)),
               endpoint(0x068000, 0x10de, 0x22a3, 1, "16.0", "2"));
    for (int s = 0; s < 4; ++s) port(fmt::format("0000:c0:{:02x}.0", s + 1), 1, 4, "16.0", "2");
    tree.pci("0000:00:1c.0/0000:01:00.0", endpoint(0x030000, 0x1a03, 0x2000, 0, "5.0", "1"));  // the BMC's
    const std::string management =
        tree.pci("0000:00:1d.0/0000:02:00.0", endpoint(0x020000, 0x8086, 0x1521, 0, "5.0", "4", "igb"));
    tree.netdev("eno1", management, "-1");
    tree.file("/sys/class/net/eno1/operstate", "down\n");
    tree.file("/sys/class/net/eno1/carrier", "0\n");
  }
  ~Machine() {
    std::error_code ignored;
    std::filesystem::remove(nvml_file(), ignored);
    std::filesystem::remove(nvml_file() + ".second", ignored);
  }

  // ---- its parts

  static std::string gpu_address(int gpu) {
    return fmt::format("0000:{:02x}:00.0", 0x13 + 0x10 * (gpu / 2) + gpu % 2);
  }
  static std::string gpu_chain(int gpu) { return chain(gpu / 2, gpu % 2) + "/" + gpu_address(gpu); }
  static std::string rail_address(int rail) { return fmt::format("0000:{:02x}:00.0", 0x15 + 0x10 * rail); }
  static std::string rail_chain(int rail) { return chain(rail, 2) + "/" + rail_address(rail); }
  // Where a function's files are below the root.
  static std::string folder_of(const std::string& chain) {
    return fmt::format("/sys/devices/pci{}/{}", chain.substr(0, 7), chain);
  }
  static std::string nvswitch(int s) { return fmt::format("0000:{:02x}:00.0", 0xc1 + s); }
  nlohmann::json& gpu(int index) { return nvml["gpus"][std::size_t(index)]; }
  nlohmann::json& nvlink(int index, int link) { return gpu(index)["links"][std::size_t(link)]; }

  // A file of a PCI function, of a rail's port, of its counters.
  void pci_file(const std::string& address, const std::string& name, const std::string& text) {
    tree.file("/sys/bus/pci/devices/" + address + "/" + name, text + "\n");
  }
  void port_file(int rail, const std::string& name, const std::string& text) {
    tree.file(fmt::format("/sys/class/infiniband/mlx5_{}/ports/1/{}", rail, name), text + "\n");
  }
  void counter(int rail, const std::string& name, std::uint64_t value) {
    port_file(rail, "counters/" + name, fmt::format("{}", value));
  }
  void rail_down(int rail) {
    port_file(rail, "state", "1: DOWN");
    port_file(rail, "phys_state", "2: Polling");
    port_file(rail, "rate", "10 Gb/sec (4X SDR)");
  }
  // Both ends of the link right above a function.
  void runs_at(const std::string& chain_below, const std::string& speed, const std::string& width) {
    const std::string above = chain_below.substr(0, chain_below.find_last_of('/'));
    for (const std::string& end : {above, chain_below}) {
      const std::string address = end.substr(end.find_last_of('/') + 1);
      pci_file(address, "current_link_speed", speed + " GT/s PCIe");
      pci_file(address, "current_link_width", width);
    }
  }

  // ---- reading it

  std::string nvml_file() const { return tree.root() + ".json"; }
  // Writes what NVML answers; called before each reading.
  void save() const { std::ofstream(nvml_file()) << nvml; }

  // As `ringtrue-probe record` does, within this process.
  probe::Recording record(bool wake_gpus = false) {
    save();
    probe::Recording recording;
    recording.node = "node0";
    Here here(tree.root(), wake_gpus);
    probe::RememberingSource source(here, recording);
    for (const char* library : probe::all_libraries) (void)source.answer(library);
    topology::Node node = probe::probe(source);
    (void)probe::probe_fabric(source, node);
    return recording;
  }
  // Without a recording.
  topology::Node probe() {
    save();
    Here here(tree.root(), false);
    topology::Node node = probe::probe(here);
    node.name = "node0";
    return node;
  }
  // With a second reading, 10 s after `change`.
  template <class Change>
  probe::Recording record_window(Change change) {
    probe::Recording recording = record();
    change(*this);
    probe::Recording later = record();
    recording.window_s = 10;
    recording.later_files = std::move(later.files);
    recording.later_answers = std::move(later.answers);
    return recording;
  }

  SysfsTree tree;
  nlohmann::json nvml;

 private:
  class Here : public probe::Files {
   public:
    Here(std::string root, bool wake_gpus) : Files(root), asking_{std::move(root), wake_gpus} {}
    Result<std::string> answer(std::string_view library) override { return probe::ask(library, asking_); }

   private:
    probe::Asking asking_;
  };

  static std::string chain(int s, int slot) {
    const int bus = 0x10 + 0x10 * s;
    return fmt::format("0000:{:02x}:01.0/0000:{:02x}:00.0/0000:{:02x}:{:02x}.0", bus, bus + 1, bus + 2, slot);
  }
  static PciFunction endpoint(unsigned device_class, unsigned vendor, unsigned device, int numa,
                              const std::string& speed, const std::string& width,
                              const std::string& driver = {}) {
    const std::string text = speed + " GT/s PCIe";
    return {device_class, vendor, device, text, width, text, width, numa, "active", {}, driver};
  }

  // `type`: of its PCI Express capability: 4 a root port, 5 and 6 a switch's upstream and downstream ports.
  void port(const std::string& chain, int numa, char type, const std::string& speed = "32.0",
            const std::string& width = "16") {
    const std::string folder =
        tree.pci(chain, endpoint(0x060400, 0x1000, 0xc030, numa, speed, width, "pcieport"));
    std::string config(4096, '\0');
    config[0x06] = 0x10;
    config[0x34] = config[0x40] = 0x40;
    config[0x40] = 0x10;
    config[0x42] = char(type << 4);
    config[4095] = 1;  // the end is not white space
    tree.file(folder + "/config", config);
  }

  void add_switch(int s) {
    const int numa = s / 2;
    const std::string below = chain(s, 0), up = below.substr(0, below.find_last_of('/')),
                      root_port = up.substr(0, up.find_last_of('/'));
    port(root_port, numa, 4);
    port(up, numa, 5);
    for (int slot = 0; slot < 3; ++slot) port(chain(s, slot), numa, 6);
    for (int g = 2 * s; g < 2 * s + 2; ++g) {
      tree.pci(gpu_chain(g), endpoint(0x030200, 0x10de, 0x2330, numa, "32.0", "16", "nvidia"));
      nvml["gpus"].push_back(h100(g));
    }
    const std::string nic =
        tree.pci(rail_chain(s), endpoint(0x020700, 0x15b3, 0x1021, numa, "32.0", "16", "mlx5_core"));
    const std::string name = fmt::format("mlx5_{}", s);
    const std::string rdma = tree.rdma(name, nic, "400 Gb/sec (4X NDR)");
    tree.file(rdma + "/node_guid", fmt::format("506b:4b03:00c1:9c{}6\n", s));
    tree.netdev(fmt::format("ib{}", s), nic, "400000", 32, 2044);
    for (const char* name : {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
                             "port_xmit_discards", "local_link_integrity_errors", "port_xmit_data"})
      counter(s, name, 0);
    port_file(s, "hw_counters/out_of_sequence", "0");
  }

  static nlohmann::json h100(int index) {
    nlohmann::json gpu = {{"pci", gpu_address(index)},
                          {"name", "NVIDIA H100 80GB HBM3"},
                          {"uuid", fmt::format("GPU-c0ffee00-0000-0000-0000-00000000000{}", index)},
                          {"serial", fmt::format("16500{}", index)},
                          {"vbios", "96.00.30.00.01"},
                          {"memory", 85520809984},
                          {"persistence", 1},
                          {"compute_capability", 90},
                          {"ecc", 1},
                          {"ecc_corrected", 0},
                          {"ecc_uncorrected", 0},
                          {"rows_pending", 0},
                          {"throttle", 0},
                          {"performance_state", 0},
                          {"utilization", 0},
                          {"sm_clock", 1980},
                          {"max_sm_clock", 1980},
                          {"temperature", 35},
                          {"processes", 0},
                          {"mig", 0}};
    for (int link = 0; link < 18; ++link)  // 4, 5, 5 and 4 to the four switches
      gpu["links"].push_back({{"state", 1},
                              {"version", 7},
                              {"remote", 2},
                              {"remote_pci", nvswitch(link < 4    ? 0
                                                      : link < 9  ? 1
                                                      : link < 14 ? 2
                                                                  : 3)},
                              {"errors", {0, 0, 0, 0, 0}},
                              {"fields", {{"164", 26562}}}});
    return gpu;
  }

  void add_system() {
    tree.file("/proc/sys/kernel/hostname", "node0\n");
    tree.file("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    tree.file("/proc/self/limits",
              "Max locked memory         unlimited            unlimited            bytes\n");
    tree.file("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build\n");
    tree.file("/proc/cmdline", "quiet iommu=pt\n");
    tree.folder("/sys/class/iommu");
    tree.folder("/sys/module/nvidia_peermem");
    tree.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    tree.file("/sys/devices/system/cpu/online", "0-3\n");
    tree.file("/sys/devices/system/cpu/possible", "0-3\n");
    tree.file("/sys/devices/system/node/online", "0-1\n");
    tree.file("/sys/devices/system/node/possible", "0-1\n");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
      tree.file(topology + "physical_package_id", fmt::format("{}\n", cpu / 2));
      tree.file(topology + "core_id", fmt::format("{}\n", cpu % 2));
      tree.file(topology + "thread_siblings", fmt::format("{:x}\n", 1 << cpu));
      tree.file(topology + "core_siblings", fmt::format("{:x}\n", 3 << cpu / 2 * 2));
    }
    for (int numa = 0; numa < 2; ++numa) {
      const std::string folder = fmt::format("/sys/devices/system/node/node{}/", numa);
      tree.file(folder + "cpumap", fmt::format("{:x}\n", 3 << 2 * numa));
      tree.file(folder + "cpulist", fmt::format("{}-{}\n", 2 * numa, 2 * numa + 1));
      tree.file(folder + "meminfo", fmt::format("Node {} MemTotal:       1056763904 kB\n", numa));
      tree.file(folder + "distance", numa == 0 ? "10 21\n" : "21 10\n");
    }
  }
};

inline diagnosis::Inspection inspect(const probe::Recording& recording) {
  topology::Cluster cluster;
  cluster.nodes.push_back(probe::probe(recording));
  return diagnosis::inspect(cluster);
}

// "critical nvlink-down GPU3"
inline std::string words(const diagnosis::Finding& finding) {
  return fmt::format("{} {} {}", key_of(finding.severity), key_of(finding.kind),
                     finding.scope.subject.device);
}
// Warnings and critical ones; of all, `with_info`.
inline std::vector<std::string> blamed(const diagnosis::Inspection& inspection, bool with_info = false) {
  std::vector<std::string> all;
  for (const auto& finding : inspection.findings)
    if (with_info || finding.severity != diagnosis::Severity::info) all.push_back(words(finding));
  return all;
}

}  // namespace ringtrue::test
