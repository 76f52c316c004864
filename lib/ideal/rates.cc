#include "ideal/rates.h"

#include <fmt/format.h>

#include <array>

namespace ringtrue::ideal {
namespace {

constexpr BytesPerSecond gbit(double v) {
  return BytesPerSecond(v * 1e9 / 8);
}
constexpr BytesPerSecond gbyte(double v) {
  return BytesPerSecond(v * 1e9);
}

// InfiniBand: data rates of a 4x port, after line coding. PCIe: x16 after line coding (8b/10b to Gen2,
// 128b/130b from Gen3). Attainable figures: NVLink and NDR as seen in the field with nccl-tests; PCIe
// derived: 256 bytes of payload beside 24 of framing, header with a 64-bit address, and checksum.
constexpr std::string_view by_users = "seen in the field (nccl-tests, 8 GPUs, ring)";
constexpr std::string_view pcie = "derived: 256 / (256 + 24) bytes of each packet are payload";
constexpr std::array<LinkGeneration, 21> table{{
    {LinkFamily::nvlink, "v1", gbyte(80), 4, {}, {}},
    {LinkFamily::nvlink, "v2", gbyte(150), 6, {}, {}},
    {LinkFamily::nvlink, "v3", gbyte(300), 12, 0.77, by_users},
    {LinkFamily::nvlink, "v4", gbyte(450), 18, 0.82, by_users},
    {LinkFamily::nvlink, "v5", gbyte(900), 18, {}, {}},
    {LinkFamily::nvlink, "v6", gbyte(1800), 36, {}, {}},
    {LinkFamily::infiniband, "SDR", gbit(8), 4, {}, {}},
    {LinkFamily::infiniband, "DDR", gbit(16), 4, {}, {}},
    {LinkFamily::infiniband, "QDR", gbit(32), 4, {}, {}},
    {LinkFamily::infiniband, "FDR10", gbit(40), 4, {}, {}},
    {LinkFamily::infiniband, "FDR", gbit(54.5), 4, {}, {}},
    {LinkFamily::infiniband, "EDR", gbit(100), 4, {}, {}},
    {LinkFamily::infiniband, "HDR", gbit(200), 4, {}, {}},
    {LinkFamily::infiniband, "NDR", gbit(400), 4, 0.92,
     "seen in the field (46-48 of 50 GB/s a NIC; the lower of them)"},
    {LinkFamily::infiniband, "XDR", gbit(800), 4, {}, {}},
    {LinkFamily::pcie, "Gen1", gbyte(4), 16, 256.0 / 280, pcie},
    {LinkFamily::pcie, "Gen2", gbyte(8), 16, 256.0 / 280, pcie},
    {LinkFamily::pcie, "Gen3", gbyte(15.75), 16, 256.0 / 280, pcie},
    {LinkFamily::pcie, "Gen4", gbyte(31.5), 16, 256.0 / 280, pcie},
    {LinkFamily::pcie, "Gen5", gbyte(63), 16, 256.0 / 280, pcie},
    // Gen6 has fixed 256-byte flits instead of packets, so that the formula above does not hold.
    {LinkFamily::pcie, "Gen6", gbyte(121), 16, {}, {}},
}};

}  // namespace

Result<Efficiency> ethernet_tcp(int mtu) {
  if (mtu < 576 || mtu > 65535) {
    return fail(Cause::bad_input, fmt::format("an MTU of {} is not possible for TCP over Ethernet", mtu), {},
                "give 576 to 65535; most networks have 1500 or 9000");
  }
  return Efficiency{double(mtu - 52) / (mtu + 14),
                    fmt::format("TCP over Ethernet, MTU {0}: ({0} - 52) / ({0} + 14)", mtu),
                    Origin::declared};
}

namespace {

Result<Efficiency> rdma(std::string_view link, int path_mtu, int headers) {
  if (path_mtu < 256 || path_mtu > 4096 || (path_mtu & (path_mtu - 1)) != 0) {
    return fail(Cause::bad_input, fmt::format("a path MTU of {} is not possible for RDMA", path_mtu), {},
                "give 256, 512, 1024, 2048 or 4096");
  }
  return Efficiency{double(path_mtu) / (path_mtu + headers),
                    fmt::format("{0}, path MTU {1}: {1} / ({1} + {2})", link, path_mtu, headers),
                    Origin::declared};
}

constexpr int base_transport = 12, invariant_crc = 4;

}  // namespace

Result<Efficiency> roce_v2(int path_mtu, bool ipv6) {
  return rdma(ipv6 ? "RoCE v2 over IPv6" : "RoCE v2", path_mtu,
              14 + (ipv6 ? 40 : 20) + 8 + base_transport + invariant_crc);
}

Result<Efficiency> infiniband(int path_mtu, bool global) {
  return rdma(global ? "InfiniBand with global routes" : "InfiniBand", path_mtu,
              8 + (global ? 40 : 0) + base_transport + invariant_crc + 2);
}

std::optional<int> path_mtu(int netdev_mtu) {
  for (const int mtu : {4096, 2048, 1024, 512, 256})
    if (mtu + 96 <= netdev_mtu) return mtu;
  return std::nullopt;
}

std::span<const LinkGeneration> link_generations() {
  return table;
}

const LinkGeneration* find_link(LinkFamily family, std::string_view generation) {
  for (const LinkGeneration& g : table)
    if (g.family == family && g.generation == generation) return &g;
  return nullptr;
}

}  // namespace ringtrue::ideal
