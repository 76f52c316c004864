// What a cluster is: nodes with their PCI trees, GPUs, NICs and NVLinks, and the fabric between them. Plain
// data; every attribute is a Fact, with its origin, or unknown. Rates are one way.
//
// Devices refer to each other by their PCI address, as sysfs writes it ("0000:3b:00.0", lower case), or by
// name; names are unique within a node. What can be worked out of this (links, paths, rates) is in links.h
// and path.h and is never stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "run/counter_window.h"
#include "topology/fact.h"

namespace ringtrue::topology {

// ---- PCI

// The link between a device and what is above it. Of a root port or a switch's downstream port: of the link
// below it, whose other end the child reports as well.
struct PciLink {
  Fact<double> speed_GTps;      // now: 2.5, 5, 8, 16, 32, 64
  Fact<int> width;              // lanes, now
  Fact<double> max_speed_GTps;  // what this end can do
  Fact<int> max_width;
  Fact<BytesPerSecond> rate;  // now, where a source tells the rate alone (hwloc)
  bool operator==(const PciLink&) const = default;
};

enum class PciKind {
  unknown,
  root_port,
  switch_upstream,  // one a switch: these are counted as "PCIe switches"
  switch_downstream,
  bridge,  // to conventional PCI, or of a kind that could not be told
  endpoint,
};

struct PciDevice {
  std::string address;
  std::string parent;  // address of the bridge above; empty: right below a host bridge
  std::string root;    // host bridge, "0000:3a"; empty: unknown
  PciKind kind = PciKind::unknown;
  Fact<std::uint32_t> device_class;  // 24 bits: 0x030200
  Fact<std::uint32_t> vendor, device, subsystem_vendor, subsystem_device;
  Fact<std::string> name;  // "NVIDIA Corporation GA100 [A100 SXM4 80GB]"
  Fact<int> numa;
  PciLink link;
  std::string physical_function;  // of a virtual function: its physical one; empty otherwise
  bool virtual_function = false;  // also where the physical one is not known
  Fact<std::string> driver;
  Fact<std::string> power;  // runtime status: "active", "suspended"
  Fact<bool> acs_redirect;  // ACS sends peer traffic up to the root (bridges; needs root to read)
  Fact<int> iommu_group;
  bool operator==(const PciDevice&) const = default;
};

// ---- GPUs

enum class Remote { unknown, gpu, nvswitch, cpu };

struct NvLink {
  int index = 0;
  Fact<bool> up;
  Fact<int> version;          // 1 .. 6
  Fact<BytesPerSecond> rate;  // of this link alone
  Remote remote = Remote::unknown;
  std::string remote_address;  // PCI; empty: unknown
  // Lifetime, as the library counts: "replay", "recovery", "crc_flit", ...
  std::map<std::string, std::uint64_t> errors;
  bool operator==(const NvLink&) const = default;
};

struct Gpu {
  std::string name;     // "GPU0", in the order of their PCI addresses or of the source's own numbers
  std::string address;  // PCI; empty: unknown
  Fact<std::string> model, uuid, serial, vbios;
  Fact<Bytes> memory;
  Fact<int> compute_capability;  // 80, 90
  // In the order of their indices, without those that this board does not have (NVML: "not supported").
  // Unknown is not the same as none.
  std::optional<std::vector<NvLink>> nvlinks;
  Fact<bool> persistence, mig;
  Fact<bool> ecc;                                      // enabled now
  Fact<std::uint64_t> ecc_corrected, ecc_uncorrected;  // since the driver was loaded
  Fact<bool> retired_pending;                          // pages or rows wait for a reset
  Fact<std::uint64_t> throttle;                        // NVML's bits of nvmlClocksThrottleReasons
  Fact<std::string> performance_state;                 // "P0" .. "P15"
  Fact<int> utilization;                               // percent
  Fact<int> sm_clock_MHz, max_sm_clock_MHz;
  Fact<int> temperature_C;
  Fact<int> processes;  // that hold a context
  Fact<bool> gdr;       // GPUDirect RDMA works, as a source says of this very GPU
  Fact<bool> c2c;       // NVLink-C2C leads to the processors, as on Grace: PCIe need not
  bool operator==(const Gpu&) const = default;
};

struct NvSwitch {
  std::string name;     // "NVSwitch0"
  std::string address;  // PCI; empty: unknown
  bool operator==(const NvSwitch&) const = default;
};

// ---- NICs

enum class LinkLayer { unknown, infiniband, ethernet };

struct Port {
  int number = 1;
  LinkLayer layer = LinkLayer::unknown;
  Fact<std::string> state;           // "active", "down", "init", "armed"
  Fact<std::string> physical_state;  // "linkup", "polling", "disabled"
  Fact<BytesPerSecond> rate;         // data rate now
  Fact<BytesPerSecond> max_rate;     // what this port can do
  Fact<std::string> speed;           // "HDR", "NDR"; of InfiniBand
  Fact<int> width;                   // lanes, now
  Fact<int> max_width;
  Fact<int> mtu;  // bytes: of the netdev, or of InfiniBand's path
  Fact<int> max_mtu;
  Fact<int> lid;
  Fact<std::string> guid;         // 16 hex digits, of the port
  std::vector<std::string> gids;  // as sysfs writes them, without empty ones
  Fact<bool> pause_rx, pause_tx;  // Ethernet
  std::string peer;               // "S-248a..../12": switch and its port, where the fabric was seen
  bool operator==(const Port&) const = default;
};

struct Nic {
  std::string name;                  // "mlx5_0"; of one without RDMA its netdev, "eth0"; else "NIC0"
  std::string address;               // PCI; empty: none or unknown
  std::string rdma;                  // "mlx5_0"; empty: none
  std::vector<std::string> netdevs;  // "ib0", "eth0"
  bool virtual_device = false;  // no hardware of its own: veth, bridge, bond, rxe, siw, a virtual function
  Fact<std::string> driver, firmware, model;  // model: board id or "ConnectX-7"
  Fact<std::string> guid;                     // 16 hex digits, of the node
  Fact<bool> gdr;
  std::vector<Port> ports;
  bool operator==(const Nic&) const = default;
};

// ---- processors

struct NumaNode {
  int number = 0;
  int package = -1;  // -1: unknown
  Fact<Bytes> memory;
  Fact<int> processors;  // hardware threads
  std::string cpus;      // a list as the kernel writes it, "0-15,32-47"; empty: unknown
  bool operator==(const NumaNode&) const = default;
};

struct Cache {
  std::string kind;  // "L3", "L2", "L1d"
  int count = 0;
  Bytes size;  // of one
  bool operator==(const Cache&) const = default;
};

struct Processors {
  Fact<std::string> model, vendor, architecture;
  Fact<int> packages, cores, threads;
  std::vector<NumaNode> numa;
  std::vector<Cache> caches;
  bool operator==(const Processors&) const = default;
};

// ---- the system

struct System {
  Fact<std::string> hostname, kernel, distribution, board;  // board: "NVIDIA DGXH100"
  Fact<std::string> iommu;                                  // "off", "passthrough", "translated"
  Fact<bool> nvidia_peermem;                                // the module is loaded
  Fact<bool> dmabuf;                      // kernel and driver can register GPU memory by dma-buf
  Fact<std::string> nvidia_driver, cuda;  // "535.104.05", "12.2": the newest that the driver supports
  Fact<bool> open_kernel_module;          // NVIDIA's open kernel modules
  Fact<Bytes> memlock;                    // the soft limit; all bits set: unlimited
  Fact<std::string> governor;             // of the cpus, "performance"; "mixed" where they differ
  Fact<int> hugepages;                    // reserved ones, all sizes
  Fact<std::string> rdma_core;            // its library's version
  bool operator==(const System&) const = default;
};

// ---- fabric

struct FabricPort {
  std::string guid;  // 16 hex digits, of the switch or HCA (node GUID)
  int port = 0;
  bool operator==(const FabricPort&) const = default;
};

// A cable. `a` is a switch; `b` is another switch (a trunk) or an HCA's port.
struct FabricLink {
  FabricPort a, b;
  Fact<std::string> speed;  // "EDR"
  Fact<int> width;          // 4
  Fact<BytesPerSecond> rate;
  Fact<BytesPerSecond> max_rate;  // what both ends can do
  bool operator==(const FabricLink&) const = default;
};

struct FabricSwitch {
  std::string guid;
  std::string name;  // node description; empty: unknown
  int ports = 0;
  Fact<int> lid;
  bool operator==(const FabricSwitch&) const = default;
};

struct FabricHost {
  std::string guid;          // of the HCA
  std::string name;          // node description, "node3 mlx5_0"
  std::string port_guid;     // of the first port that was seen
  bool aggregation = false;  // a switch's in-network reduction unit (SHARP), no node
  bool operator==(const FabricHost&) const = default;
};

struct Fabric {
  std::vector<FabricSwitch> switches;
  std::vector<FabricHost> hosts;
  std::vector<FabricLink> links;
  bool operator==(const Fabric&) const = default;
};

// ---- all of it

// What could not be read, and why: a person can act on it.
struct Gap {
  std::string source;  // origin::nvml, ...
  std::string what;    // "NVLinks of GPU3", "fabric"
  std::string why;     // "no driver", "permission denied: run as root or add the user to group ..."
  bool operator==(const Gap&) const = default;
};

// What gaps are about where a whole list is missing: what is not named then may be there all the same.
namespace gap {
inline constexpr std::string_view pci_devices = "PCI devices";
inline constexpr std::string_view netdevs = "netdevs";
}  // namespace gap

struct Node {
  std::string name;
  std::string recorded;  // where this was read from: "live", "dgx.xml (hwloc XML)"
  System system;
  Processors processors;
  std::vector<PciDevice> pci;  // parents before children
  std::vector<Gpu> gpus;
  std::vector<NvSwitch> nvswitches;
  std::vector<Nic> nics;
  std::vector<run::CounterSet> counters;
  std::optional<run::CounterWindow> window;  // how they changed, where they were read twice
  std::vector<Gap> gaps;
  bool operator==(const Node&) const = default;

  const PciDevice* find_pci(const std::string& address) const;  // nullptr: none
  const Gpu* find_gpu(const std::string& name) const;
  const Nic* find_nic(const std::string& name) const;  // by name, RDMA name or netdev
  const Gap* find_gap(std::string_view what) const {
    for (const Gap& gap : gaps)
      if (gap.what == what) return &gap;
    return nullptr;
  }
};

struct Cluster {
  std::vector<Node> nodes;
  std::optional<Fabric> fabric;
  bool operator==(const Cluster&) const = default;
};

// "PCIe switch", "root port", ...
const char* name(PciKind kind);
const char* name(LinkLayer layer);

// Whether a PCI function is a GPU or an NIC by its class and vendor: 3D controllers (0302) of anyone, VGA
// (0300) and other display (0380) controllers of makers of compute GPUs, processing accelerators (1200) of
// AMD; network controllers (02xx) and InfiniBand adapters of old (0c06). A BMC's VGA is no GPU.
bool is_bridge(const PciDevice& device);
bool is_gpu(const PciDevice& device);
bool is_nic(const PciDevice& device);
bool is_nvswitch(const PciDevice& device);

}  // namespace ringtrue::topology
