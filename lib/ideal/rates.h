// What links carry: nominal rates by generation, and the share of them that a program can reach.
//
// Every number says where it came from. Unknown is a value of its own: it is never zero and never a pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::ideal {

enum class Origin { unknown, probed, declared, measured, fleet_majority };

struct Rate {
  BytesPerSecond value;
  Origin origin = Origin::declared;
  std::string source{};  // how it came about: "8 rails x 50 GB/s (sysfs)"; empty where it was declared
};

// The share of a nominal rate that payload can reach, 0 < share <= 1.
struct Efficiency {
  double share = 1;
  std::string source;  // the formula with its numbers, or where the figure was seen
  Origin origin = Origin::declared;
};

// Ethernet with TCP over IPv4 and timestamps: a packet of `mtu` bytes holds mtu - 52 of payload (20 IP, 20
// TCP, 12 timestamps) and takes mtu + 14 on a wire that is counted with its Ethernet header but without
// preamble, checksum and gap, which is what a shaper counts: 95.6 % at 1500, 99.3 % at 9000.
// Error: bad_input for an mtu below 576 or above 65535.
Result<Efficiency> ethernet_tcp(int mtu = 1500);

// RoCE v2, counted like ethernet_tcp: a packet of a message's middle holds `path_mtu` bytes of payload beside
// 14 of Ethernet, 20 of IPv4 (40 of IPv6), 8 of UDP, 12 of base transport header and 4 of invariant CRC
// (InfiniBand Architecture Specification, volume 1, annex A17): 94.6 % at 1024 over IPv4, 98.6 % at 4096.
// What the first and last packets of a message have besides (RETH 16, immediate 4) is less than 0.01 % of a
// slice of 256 KiB. InfiniBand: 8 of local route header, 12, 4, and 2 of variant CRC (volume 1, chapters 5 to
// 9), and 40 of global route header where `global`: 97.5 % at 1024, 99.4 % at 4096. Its rates are data rates:
// line coding is off. Error: bad_input for a path MTU that is not 256, 512, 1024, 2048 or 4096.
Result<Efficiency> roce_v2(int path_mtu = 1024, bool ipv6 = false);
Result<Efficiency> infiniband(int path_mtu = 4096, bool global = false);
// The path MTU that RDMA takes on a netdev of this MTU: the largest that fits beside 96 bytes of headers
// (IPv6 40, UDP 8, base 12, CRC 4, extended ones 32 at most). nullopt where none fits.
std::optional<int> path_mtu(int netdev_mtu);

enum class LinkFamily : std::uint8_t { nvlink, infiniband, pcie };

// The share of a link's rate that payload reaches: of "nvlink" "v4", "infiniband" "NDR", "pcie" "Gen5".
// nullopt where no figure is known.
std::optional<Efficiency> attainable(LinkFamily family, std::string_view generation);

}  // namespace ringtrue::ideal

namespace ringtrue {

template <>
inline constexpr const char* keys_of<ideal::Origin>[] = {"unknown", "probed", "declared", "measured",
                                                         "fleet majority"};

}  // namespace ringtrue
