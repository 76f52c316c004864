#include "probe/pseudonyms.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

namespace ringtrue::probe {
namespace {

using namespace formats;

constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool ends(std::string_view text, std::size_t at) {
  return at >= text.size() || !is_word(text[at]);
}
std::size_t run(std::string_view text, std::string_view of) {
  return std::min(text.find_first_not_of(of), text.size());
}
std::size_t word_size(std::string_view text) {
  return std::size_t(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
}
// How numbers are written: a '.' for each hexadecimal digit.
enum class Kind { uuid, mac, guid, ipoib };
struct Shape {
  std::string_view pattern;
  Kind kind;
  char not_before;  // what would make it a part of something longer; 0: nothing
};
constexpr Shape shapes[] = {
    {"........-....-....-....-............", Kind::uuid, 0},
    {"enx............", Kind::mac, 0},
    {"..:..:..:..:..:..", Kind::mac, ':'},
    {"..-..-..-..-..-..", Kind::mac, '-'},
    {"..:..:..:..:..:..:..:..", Kind::guid, ':'},
    {"....:....:....:....", Kind::guid, ':'},
    {"..:..:..:..:..:..:..:..:..:..:..:..:..:..:..:..:..:..:..:..", Kind::ipoib, ':'},
};

// The digits of what `text` begins with, in lower case; empty where it is not of that shape.
std::string digits_of(std::string_view text, const Shape& shape) {
  const std::size_t size = shape.pattern.size();
  if (text.size() < size || !ends(text, size) || (text.size() > size && text[size] == shape.not_before))
    return {};
  std::string digits;
  for (std::size_t i = 0; i < size; ++i) {
    const bool digit = shape.pattern[i] == '.';
    if (digit ? hex_digits.find(text[i]) == hex_digits.npos : shape.pattern[i] != text[i]) return {};
    if (digit) digits += text[i];
  }
  return lower(digits);
}

std::string filled(std::string_view pattern, std::string_view digits) {
  std::string text(pattern);
  for (char& c : text)
    if (c == '.') c = digits.front(), digits.remove_prefix(1);
  return text;
}

// Names of ports that drivers and vendors give: "HCA-1", "mlx5_0", "hfi1_0".
bool is_device(std::string_view word) {
  if (word.starts_with("HCA-")) word.remove_prefix(4);
  word.remove_prefix(word.rfind('_') + 1);  // npos + 1 is 0
  return !word.empty() && word.size() < 4 && run(word, "0123456789") == word.size();
}

// What an HCA or a switch calls itself before anybody named it.
bool is_generic(std::string_view text) {
  const auto begins = [&](std::string_view model) { return text.starts_with(model); };
  const auto ends = [&](std::string_view maker) { return text.ends_with(maker); };
  constexpr std::string_view makers[] = {" Mellanox Technologies", " Voltaire", " QLogic", " NVIDIA",
                                         " Intel"};
  constexpr std::string_view models[] = {"MT",        "Infiniscale", "SwitchX", "SwitchIB",
                                         "Switch-IB", "Quantum",     "ISR",     "ConnectX"};
  return lower(text).find("aggregation node") != std::string::npos ||
         (std::ranges::any_of(makers, ends) && std::ranges::any_of(models, begins));
}

}  // namespace

std::string Pseudonyms::hex(std::string_view kind, std::string_view value, std::size_t digits) const {
  const std::string message = std::string(kind) + '\0' + std::string(value);
  std::array<unsigned char, EVP_MAX_MD_SIZE> tag{};
  unsigned length = 0;
  HMAC(EVP_sha256(), salt_.data(), static_cast<int>(salt_.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), tag.data(), &length);
  return fmt::format("{:02x}", fmt::join(tag, "")).substr(0, digits);
}

std::uint64_t Pseudonyms::guid(std::uint64_t value) {
  if (value == 0 || ~value == 0) return value;
  guids_.insert(value);
  return number("guid", hex64(value), 16) | 1;
}

std::uint64_t Pseudonyms::mac(std::uint64_t value) {
  constexpr std::uint64_t broadcast = 0xffffffffffff, local_unicast = 0x020000000000, group = 0x010000000000;
  if (value == 0 || value == broadcast) return value;
  macs_.insert(value);
  return (number("mac", hex64(value), 12) | local_unicast) & ~group;
}

void Pseudonyms::learn_host(std::string_view name) {
  name = trim(name);
  if (name.size() < 2 || name == "localhost" || name == "(none)" || !is_word(name[0])) return;
  words_.emplace(name, host(name));
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return;
  // "node3.cluster.example": node3 goes by itself as well, and the domain.
  words_.emplace(name.substr(0, dot), host(name.substr(0, dot)));
  if (name.size() > dot + 3)
    words_.emplace(name.substr(dot + 1), "domain-" + hex("host", name.substr(dot + 1), 8));
}

void Pseudonyms::learn_serial(std::string_view serial) {
  serial = trim(serial);
  const std::string plain = lower(serial);
  for (const char* none : {"none", "not ", "to be filled", "default", "unknown", "n/a", "0123456789"})
    if (plain.starts_with(none)) return;
  if (serial.size() >= 4 && is_word(serial[0])) words_.emplace(serial, "SN" + hex("serial", serial, 10));
}

std::string Pseudonyms::description(std::string_view description) {
  if (description.empty() || is_generic(description)) return std::string(description);
  if (description.starts_with("MF0;")) {
    const std::size_t colon = std::min(description.find(':'), description.size());
    return "MF0;switch-" + hex("host", description.substr(4, colon - 4), 8) +
           std::string(description.substr(colon));
  }
  const std::vector<std::string_view> parts = split(description, ' ');
  if (parts.size() < 2 || !is_device(parts.back())) return "name-" + hex("host", description, 8);
  learn_host(parts[0]);
  return host(parts[0]) + " " + std::string(parts.back());
}

std::size_t Pseudonyms::word(std::string_view text, std::string& out) const {
  const std::string_view first = text.substr(0, word_size(text));
  auto longest = words_.end();
  // In the order of the map, each that `text` begins with is longer than the one before.
  for (auto it = words_.lower_bound(first); it != words_.end() && it->first.starts_with(first); ++it)
    if (text.starts_with(it->first) && ends(text, it->first.size())) longest = it;
  if (longest == words_.end()) return 0;
  out += longest->second;
  return longest->first.size();
}

std::size_t Pseudonyms::shape(std::string_view text, std::string& out) {
  for (const Shape& shape : shapes) {
    const std::string digits = digits_of(text, shape);
    if (digits.empty()) continue;
    const auto value = [&](std::size_t at) { return *hexadecimal(std::string_view(digits).substr(at, 16)); };
    std::string other;
    switch (shape.kind) {
      case Kind::uuid:
        other = hex("uuid", digits, 32);
        break;
      case Kind::mac:
        other = fmt::format("{:012x}", mac(value(0)));
        break;
      case Kind::guid:
        other = hex64(guid(value(0)));
        break;
      case Kind::ipoib:  // the 20 bytes of an address of IP over InfiniBand: queue pair, subnet, GUID
        other = digits.substr(0, 8) + hex64(subnet(value(8))) + hex64(guid(value(24)));
        break;
    }
    out += filled(shape.pattern, other);
    return shape.pattern.size();
  }
  return 0;
}

std::size_t Pseudonyms::ipv6(std::string_view text, std::string& out) {
  const std::string six(text.substr(0, run(text, "0123456789abcdefABCDEF:.")));
  std::array<std::uint8_t, 16> bytes{};
  if (six.find(':') == std::string::npos || six.size() <= 3 || !ends(text, six.size()) ||
      inet_pton(AF_INET6, six.c_str(), bytes.data()) != 1)
    return 0;
  std::uint64_t halves[2] = {0, 0};
  for (std::size_t i = 0; i < 16; ++i) halves[i / 8] = halves[i / 8] << 8 | bytes[i];
  if (halves[0] == 0 && halves[1] >> 32 == 0xffff) {  // RoCE's GID of an IPv4 address
    const std::string dotted = fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
    halves[1] = 0xffff0a000000 | number("ip", dotted, 6);
  } else {  // a subnet and a port's GUID
    halves[0] = subnet(halves[0]);
    halves[1] = guid(halves[1]);
  }
  out += filled("....:....:....:....:....:....:....:....", hex64(halves[0]) + hex64(halves[1]));
  return six.size();
}

std::size_t Pseudonyms::ipv4(std::string_view text, Reading reading, std::string& out) {
  std::string four(text.substr(0, run(text, "0123456789.")));
  while (four.ends_with('.')) four.pop_back();
  std::array<std::uint8_t, 4> bytes{};
  if (reading.versions || !ends(text, four.size()) || inet_pton(AF_INET, four.c_str(), bytes.data()) != 1)
    return 0;
  if (bytes[0] == 0 || bytes[0] == 127 || bytes[0] == 255) return 0;
  const std::uint64_t value = number("ip", four, 6);
  out += fmt::format("10.{}.{}.{}", value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff);
  return four.size();
}

std::size_t Pseudonyms::plain_number(std::string_view text, Reading reading, std::string& out) {
  const std::size_t prefix = text.starts_with("0x") || text.starts_with("0X") ? 2 : 0;
  const std::size_t digits = run(text.substr(prefix), hex_digits);
  if (digits < 5 || digits > 16 || !ends(text, prefix + digits)) return 0;
  const std::uint64_t value = *hexadecimal(text.substr(prefix, digits));
  const bool known_guid = guids_.contains(value);
  const bool is_mac = digits == 12 && macs_.contains(value) && !known_guid;
  if (!is_mac && !known_guid && !(digits > 8 && reading.guids)) return 0;
  out += text.substr(0, prefix);
  out += is_mac ? fmt::format("{:012x}", mac(value))
                : fmt::format("{:0{}x}", guid(value), digits == 16 ? 16 : 1);
  return prefix + digits;
}

std::string Pseudonyms::text(std::string_view text, Reading reading) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t taken = 0;
    if ((is_word(text[at]) || text[at] == ':') && (at == 0 || !is_word(text[at - 1]))) {
      taken = word(rest, out);
      if (!taken) taken = shape(rest, out);
      if (!taken) taken = ipv6(rest, out);
      if (!taken) taken = ipv4(rest, reading, out);
      if (!taken) taken = plain_number(rest, reading, out);
    }
    if (!taken) {  // onto the end of the word: nothing starts within it
      taken = std::max<std::size_t>(word_size(rest), 1);
      out += rest.substr(0, taken);
    }
    at += taken;
  }
  return out;
}

}  // namespace ringtrue::probe
