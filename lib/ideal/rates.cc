#include "ideal/rates.h"

#include <fmt/format.h>

namespace ringtrue::ideal {
namespace {

// NVLink and NDR as seen in the field with nccl-tests; PCIe by copies between a GPU and pinned memory, which
// reach less than the 91 % that packets of 256 bytes of payload and 24 of framing, header and checksum allow.
struct Figure {
  LinkFamily family;
  std::string_view generation;
  double share;
  const char* source;
  Origin origin = Origin::measured;
};
constexpr const char* as_gen4 = "as of Gen4, whose packets are the same";
constexpr Figure figures[] = {
    {LinkFamily::nvlink, "v3", 0.77, "seen in the field (nccl-tests, 8 GPUs, ring)"},
    {LinkFamily::nvlink, "v4", 0.82, "seen in the field (nccl-tests, 8 GPUs, ring)"},
    {LinkFamily::infiniband, "NDR", 0.92, "seen in the field (46-48 of 50 GB/s a NIC; the lower of them)"},
    {LinkFamily::pcie, "Gen1", 0.79, as_gen4},
    {LinkFamily::pcie, "Gen2", 0.79, as_gen4},
    {LinkFamily::pcie, "Gen3", 0.79, as_gen4},
    {LinkFamily::pcie, "Gen4", 0.79,
     "seen in the field (nvbandwidth, 25-26 of 31.5 GB/s, A100; the lower of them)"},
    {LinkFamily::pcie, "Gen5", 0.87, "measured (54.9-55.2 of 63.0 GB/s, two H100; the lower of them)"},
};

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

Result<Efficiency> ethernet_tcp(int mtu) {
  if (mtu < 576 || mtu > 65535) {
    return fail(Cause::bad_input, fmt::format("an MTU of {} is not possible for TCP over Ethernet", mtu), {},
                "give 576 to 65535; most networks have 1500 or 9000");
  }
  return Efficiency{double(mtu - 52) / (mtu + 14),
                    fmt::format("TCP over Ethernet, MTU {0}: ({0} - 52) / ({0} + 14)", mtu),
                    Origin::declared};
}

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

std::optional<Efficiency> attainable(LinkFamily family, std::string_view generation) {
  for (const Figure& f : figures)
    if (f.family == family && f.generation == generation) return Efficiency{f.share, f.source, f.origin};
  return std::nullopt;
}

}  // namespace ringtrue::ideal
