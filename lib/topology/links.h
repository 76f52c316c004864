// Rates, and the list of a node's links, worked out of the model.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keys.h"
#include "topology/model.h"

namespace ringtrue::topology {

// One way, payload of the line code: 8b/10b up to 5 GT/s, 128b/130b at 8, 16 and 32, 242/256 (FLIT) from 64
// on. x16: Gen1 4, Gen2 8, Gen3 15.75, Gen4 31.5, Gen5 63, Gen6 121 GB/s. nullopt for a speed or width that
// PCIe does not have (an idle or virtual device's 0 or "unknown" included).
std::optional<BytesPerSecond> pci_rate(double speed_GTps, int width);
std::optional<BytesPerSecond> pci_rate(const PciLink& link);      // now
std::optional<BytesPerSecond> pci_max_rate(const PciLink& link);  // of this end alone
int pci_generation(double speed_GTps);                            // 0: none
// "16 GT/s x16", "31.5 GB/s" where only that is known, "unknown"
std::string pci_text(const PciLink& link);
std::string pci_max_text(const PciLink& link);

// InfiniBand's data rate of `width` lanes: "HDR", 4 -> 25e9 (FACTS: 4x SDR 8 ... NDR 400, XDR 800 Gbit/s).
std::optional<BytesPerSecond> infiniband_rate(const std::string& speed, int width);
// One way, of one link of that version: 20, 25, 25, 25, 50, 50 GB/s.
std::optional<BytesPerSecond> nvlink_rate(int version);
std::optional<BytesPerSecond> rate_of(const NvLink& link);

enum class LinkKind { pcie, nvlink, infiniband, ethernet };

// One link of a node, or one bundle of NVLinks between the same two ends.
struct Link {
  LinkKind kind = LinkKind::pcie;
  // Device names, PCI addresses, or "host". PCIe: `to` is what is nearer the processors. Ports: from
  // "mlx5_0/1" or "eth0" to the switch's port; empty: unknown.
  std::string from, to;
  int count = 1;                  // NVLinks in the bundle that are up
  Fact<BytesPerSecond> rate;      // now, all of the bundle
  Fact<BytesPerSecond> max_rate;  // what both ends can do, as far as both are known
  std::string text;               // "16 GT/s x16 of 16 GT/s x16", "HDR 4x, active"
  bool up = true;
};

// PCIe links of GPUs, NICs, NVSwitches and of the bridges above them; NVLink bundles; ports.
std::vector<Link> links(const Node& node);

// The cables between two switches.
std::vector<const FabricLink*> trunks(const Fabric& fabric);
// What switches and hosts go by, by their GUIDs. Names are as their owners left them: where several have the
// same one, or none, it is the GUID that tells them apart.
std::unordered_map<std::string, std::string> fabric_names(const Fabric& fabric);

// For people and for tests: what there is.
struct Counts {
  int nodes = 0, gpus = 0, nics = 0, virtual_nics = 0, ports = 0;
  int nvlinks = 0;     // ends at GPUs: a link between two GPUs counts at both
  int nvlinks_up = 0;  // of these
  int nvswitches = 0, pcie_switches = 0;
  int fabric_switches = 0, fabric_hosts = 0, trunks = 0;  // trunks: cables between two switches
};
Counts counts(const Node& node);
Counts counts(const Cluster& cluster);

}  // namespace ringtrue::topology

namespace ringtrue {

template <>
inline constexpr const char* keys_of<topology::LinkKind>[] = {"pcie", "nvlink", "infiniband", "ethernet"};

}  // namespace ringtrue
