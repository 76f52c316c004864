#include "run/rdma.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ringtrue::run {
namespace {

constexpr std::size_t max_name = 64, max_ports = 64;  // IB_DEVICE_NAME_MAX; rails of one node

bool is_name(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text.size() < max_name && text.find_first_not_of(letters) == text.npos;
}

template <class T>
Result<void> within(std::string_view name, T value, T least, T most) {
  if (least <= value && value <= most) return {};
  return fail(Cause::bad_input, fmt::format("{} {} is not within {} to {}", name, value, least, most));
}

}  // namespace

Result<RdmaPort> parse_port(std::string_view text) {
  const auto colon = text.find(':');
  RdmaPort port{std::string(text.substr(0, colon))};
  bool good = is_name(port.device);
  if (colon != text.npos) {
    const auto number = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port.port);
    good = good && error == std::errc() && end == number.data() + number.size() && port.port >= 1 &&
           port.port <= 255;
  }
  if (good) return port;
  return fail(Cause::bad_input, fmt::format("\"{}\" is no port of an RDMA device", text.substr(0, max_name)),
              {}, "write the device and the port's number, as in mlx5_0:1");
}

std::string to_text(const RdmaPort& port) {
  return fmt::format("{}:{}", port.device, port.port);
}

Result<std::vector<RdmaPort>> parse_ports(std::string_view text) {
  std::vector<RdmaPort> ports;
  for (;;) {
    const auto comma = text.find(',');
    auto port = parse_port(text.substr(0, comma));
    if (!port) return tl::unexpected(port.error());
    if (std::find(ports.begin(), ports.end(), *port) != ports.end())
      return fail(Cause::bad_input, fmt::format("port {} is named twice", to_text(*port)));
    if (ports.size() == max_ports)
      return fail(Cause::bad_input, fmt::format("more than {} ports of RDMA devices", max_ports));
    ports.push_back(std::move(*port));
    if (comma == text.npos) return ports;
    text.remove_prefix(comma + 1);
  }
}

Result<void> check(const RdmaSettings& settings) {
  const int mtu = settings.mtu;
  if (mtu != 0 && (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0))
    return fail(Cause::bad_input, fmt::format("path MTU {} is not 256, 512, 1024, 2048 or 4096", mtu));
  for (const Result<void>& checked : {
           within("GID index", settings.gid_index, -1, 255),
           within("P_Key index", settings.pkey_index, 0, 65535),
           within("timeout", settings.timeout, 1, 31),
           within("retry count", settings.retry_count, 0, 7),
           within("RNR retry", settings.rnr_retry, 0, 7),
           within("traffic class", settings.traffic_class, 0, 255),
           within("service level", settings.service_level, 0, 15),
           within("queue pairs", settings.queue_pairs, 1, 16),
           within<std::uint64_t>("slot bytes", settings.slot_bytes, 4096, 4 << 20),
           within("slots", settings.slots, 2, 64),
       })
    if (!checked) return checked;
  return {};
}

}  // namespace ringtrue::run
