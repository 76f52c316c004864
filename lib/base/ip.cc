#include "base/ip.h"

#include <arpa/inet.h>

namespace ringtrue {

std::optional<IpBytes> parse_ip(const std::string& text) {
  IpBytes bytes{};
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), bytes.data()) == 1) return bytes;
  bytes = {};
  bytes[10] = bytes[11] = std::byte(0xff);
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

}  // namespace ringtrue
