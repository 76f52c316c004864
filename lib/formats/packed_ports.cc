#include "formats/packed_ports.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "formats/forwarding.h"

namespace ringtrue::formats {
namespace {

int digit_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string pack_ports(const std::vector<std::uint8_t>& by_lid) {
  std::string out;
  std::vector<Bytef> packed(compressBound(packed_lids));
  for (std::size_t first = 0; first < by_lid.size(); first += packed_lids) {
    const std::size_t count = std::min(packed_lids, by_lid.size() - first);
    const std::uint8_t* ports = by_lid.data() + first;
    if (std::all_of(ports, ports + count, [](auto port) { return port == ForwardingTable::unknown; }))
      continue;
    uLongf size = packed.size();
    if (compress2(packed.data(), &size, ports, count, Z_BEST_COMPRESSION) != Z_OK) throw std::bad_alloc();
    out += fmt::format("packed 0x{:04x} {:02x}\n", first,
                       fmt::join(packed.begin(), packed.begin() + std::ptrdiff_t(size), ""));
  }
  return out;
}

std::optional<std::vector<std::uint8_t>> unpack_ports(std::string_view digits) {
  if (digits.empty() || digits.size() % 2 != 0) return std::nullopt;
  std::vector<Bytef> packed;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit_value(digits[i]), low = digit_value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    packed.push_back(Bytef(high << 4 | low));
  }
  std::vector<std::uint8_t> ports(packed_lids);
  uLongf size = ports.size();
  uLong used = packed.size();
  if (uncompress2(ports.data(), &size, packed.data(), &used) != Z_OK || used != packed.size())
    return std::nullopt;
  ports.resize(size);
  return ports;
}

}  // namespace ringtrue::formats
