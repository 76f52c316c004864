#include "base/ip.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/number.h"

namespace ringtrue {
namespace {

constexpr int v4_bits = 96;          // in front of an IPv4 address
constexpr std::size_t max_told = 8;  // networks in a message

int octet(const IpBytes& address, std::size_t i) {
  return std::to_integer<int>(address[i]);
}

}  // namespace

std::optional<IpBytes> parse_ip(const std::string& text) {
  IpBytes bytes{};
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), bytes.data()) == 1) return bytes;
  bytes = {};
  bytes[10] = bytes[11] = std::byte(0xff);
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

std::optional<IpBytes> ip_of(const sockaddr* address) {
  if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return std::nullopt;
  IpBytes bytes{};
  if (address->sa_family == AF_INET) {
    bytes[10] = bytes[11] = std::byte(0xff);
    std::memcpy(bytes.data() + 12, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  } else {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, bytes.size());
  }
  return bytes;
}

bool is_ipv4(const IpBytes& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](std::byte b) { return b == std::byte(0); }) &&
         octet(address, 10) == 0xff && octet(address, 11) == 0xff;
}

std::string to_text(const IpBytes& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4(address))
    inet_ntop(AF_INET, address.data() + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

bool is_loopback(const IpBytes& address) {
  if (is_ipv4(address)) return octet(address, 12) == 127;
  return std::all_of(address.begin(), address.end() - 1, [](std::byte b) { return b == std::byte(0); }) &&
         octet(address, 15) == 1;
}

bool is_link_local(const IpBytes& address) {
  if (is_ipv4(address)) return octet(address, 12) == 169 && octet(address, 13) == 254;
  return octet(address, 0) == 0xfe && (octet(address, 1) & 0xc0) == 0x80;
}

bool is_of_one(const IpBytes& address) {
  if (is_ipv4(address)) {
    const bool broadcast =
        std::all_of(address.begin() + 12, address.end(), [](std::byte b) { return b == std::byte(0xff); });
    return octet(address, 12) != 0 && octet(address, 12) >> 4 != 0xe && !broadcast;
  }
  return address != IpBytes{} && octet(address, 0) != 0xff;
}

bool IpNetwork::holds(const IpBytes& other) const {
  return is_ipv4(address) == is_ipv4(other) && network_of(other, bits).address == address;
}

IpNetwork network_of(const IpBytes& address, int bits) {
  IpNetwork network{address, bits};
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    network.address[std::size_t(i)] &= std::byte(0xff << (8 - kept));
  }
  return network;
}

std::optional<IpNetwork> parse_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip(text.substr(0, slash));
  if (!address || text.find('%') != text.npos) return std::nullopt;
  const int before = is_ipv4(*address) ? v4_bits : 0;
  if (slash == text.npos) return network_of(*address, 128);
  const auto bits = parse_number<int>(std::string_view(text).substr(slash + 1));
  if (!bits || *bits < 0 || *bits > 128 - before) return std::nullopt;
  return network_of(*address, before + *bits);
}

std::string to_text(const IpNetwork& network) {
  if (network.bits == 128) return to_text(network.address);
  return fmt::format("{}/{}", to_text(network.address),
                     is_ipv4(network.address) ? network.bits - v4_bits : network.bits);
}

std::string to_text(const std::vector<IpNetwork>& networks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(networks.size(), max_told); ++i)
    text += (i == 0 ? "" : ", ") + to_text(networks[i]);
  if (networks.size() > max_told) text += ", ...";
  return networks.empty() ? "none" : text;
}

}  // namespace ringtrue
