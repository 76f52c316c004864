#include "probe/library/umad_wire.h"

#include <fmt/format.h>
#include <infiniband/umad.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace ringtrue::probe::tables {
namespace {

// The kernel asks again where no answer comes: all three times within Limits::answer.
constexpr int timeout_ms = 200, retries = 2;

}  // namespace

Result<UmadWire> UmadWire::open(const std::string& device, int port, std::vector<ib_portid_t> paths) {
  const int opened = ::umad_init() < 0 ? -1 : ::umad_open_port(device.c_str(), port);
  if (opened < 0)
    return fail(Cause::unavailable, fmt::format("umad cannot be opened at {} port {}", device, port), {},
                "run as root, or let ringtrue's group read and write /dev/infiniband/umad*");
  const int agent = ::umad_register(opened, IB_SMI_DIRECT_CLASS, 1, 0, nullptr);
  if (agent < 0) {
    ::umad_close_port(opened);
    return fail(Cause::unavailable,
                fmt::format("no agent for subnet management at {} port {}", device, port));
  }
  return UmadWire(opened, agent, std::move(paths));
}

UmadWire::UmadWire(int port, int agent, std::vector<ib_portid_t> paths)
    : port_(port), agent_(agent), paths_(std::move(paths)) {}

UmadWire::UmadWire(UmadWire&& other) noexcept
    : port_(std::exchange(other.port_, -1)), agent_(other.agent_), paths_(std::move(other.paths_)) {}

UmadWire::~UmadWire() {
  if (port_ >= 0) ::umad_close_port(port_);
}

Result<std::uint32_t> UmadWire::ask(int at, int block) {
  ib_rpc_t rpc{};
  rpc.mgtclass = IB_SMI_DIRECT_CLASS;
  rpc.method = IB_MAD_METHOD_GET;
  rpc.attr.id = IB_ATTR_LINEARFORWTBL;
  rpc.attr.mod = unsigned(block);
  rpc.timeout = timeout_ms;
  rpc.datasz = IB_SMP_DATA_SIZE;
  rpc.dataoffs = IB_SMP_DATA_OFFS;
  rpc.trid = ::mad_trid();
  std::vector<std::uint8_t> umad(::umad_size() + IB_MAD_SIZE, 0);
  ib_portid_t path = paths_[std::size_t(at)];
  path.sl = 0;
  path.qp = 0;
  if (::mad_build_pkt(umad.data(), &rpc, &path, nullptr, nullptr) < 0 ||
      ::umad_send(port_, agent_, umad.data(), IB_MAD_SIZE, timeout_ms, retries) < 0)
    return fail(Cause::unavailable, "the question could not be sent");
  return std::uint32_t(rpc.trid);
}

Result<std::optional<BlockAnswer>> UmadWire::next(Seconds wait) {
  std::vector<std::uint8_t> umad(::umad_size() + IB_MAD_SIZE, 0);
  int length = IB_MAD_SIZE;
  const int ms = std::max(1, int(std::ceil(wait.value * 1e3)));  // 0 would be without end
  const int agent = ::umad_recv(port_, umad.data(), &length, ms);
  if (agent == -ETIMEDOUT || agent == -EINTR || agent == -EAGAIN) return std::nullopt;
  if (agent < 0)
    return fail(Cause::unavailable,
                fmt::format("umad failed: {}", std::strerror(agent == -EIO && errno ? errno : -agent)));
  void* mad = ::umad_get_mad(umad.data());
  if (mad_get_field(mad, 0, IB_MAD_ATTRID_F) != IB_ATTR_LINEARFORWTBL) return std::nullopt;
  BlockAnswer answer;
  answer.question = std::uint32_t(mad_get_field64(mad, 0, IB_MAD_TRID_F));
  if (::umad_status(umad.data()) != 0) {
    answer.silent = true;
    return answer;
  }
  if (mad_get_field(mad, 0, IB_MAD_RESPONSE_F) == 0) return std::nullopt;
  answer.status = int(mad_get_field(mad, 0, IB_DRSMP_STATUS_F));
  std::memcpy(answer.ports.data(), static_cast<std::uint8_t*>(mad) + IB_SMP_DATA_OFFS, answer.ports.size());
  return answer;
}

Seconds UmadWire::now() {
  return Seconds(double(now_ns()) * 1e-9);
}

}  // namespace ringtrue::probe::tables
