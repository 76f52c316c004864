// IP addresses as text.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace ringtrue {

using IpBytes = std::array<std::byte, 16>;

// As people write them, and as sysfs writes GIDs; an IPv6 address may have a zone (%eth0), which is left out.
// IPv4 as ::ffff:a.b.c.d, as RoCE has it. nullopt: no address.
std::optional<IpBytes> parse_ip(const std::string& text);

}  // namespace ringtrue
