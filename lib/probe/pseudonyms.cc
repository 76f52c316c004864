#include "probe/pseudonyms.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "formats/text.h"

namespace ringtrue::probe {
namespace {

using namespace formats;

constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";

bool is_hex(char c) {
  return hex_digits.find(c) != std::string_view::npos;
}
bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool ends(std::string_view text, std::size_t at) {
  return at >= text.size() || !is_word(text[at]);
}
std::size_t run(std::string_view text, std::string_view of) {
  return std::min(text.find_first_not_of(of), text.size());
}

std::string_view leading_word(std::string_view text) {
  return text.substr(0, std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
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

// The digits of what `text` begins with; empty where it is not of that shape.
std::string digits_of(std::string_view text, const Shape& shape) {
  const std::size_t size = shape.pattern.size();
  if (text.size() < size || !ends(text, size) || (text.size() > size && text[size] == shape.not_before))
    return {};
  std::string digits;
  for (std::size_t i = 0; i < size; ++i) {
    if (shape.pattern[i] != '.' && shape.pattern[i] != text[i]) return {};
    if (shape.pattern[i] != '.') continue;
    if (!is_hex(text[i])) return {};
    digits += text[i];
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
  const std::size_t underscore = word.rfind('_');
  if (underscore != std::string_view::npos) word.remove_prefix(underscore + 1);
  return !word.empty() && word.size() < 4 && run(word, "0123456789") == word.size();
}

// What an HCA or a switch calls itself before anybody named it.
bool is_generic(std::string_view text) {
  if (lower(text).find("aggregation node") != std::string::npos) return true;
  constexpr std::array makers = {" Mellanox Technologies", " Voltaire", " QLogic", " NVIDIA", " Intel"};
  constexpr std::array models = {"MT",        "Infiniscale", "SwitchX", "SwitchIB",
                                 "Switch-IB", "Quantum",     "ISR",     "ConnectX"};
  return std::any_of(makers.begin(), makers.end(), [&](std::string_view m) { return text.ends_with(m); }) &&
         std::any_of(models.begin(), models.end(), [&](std::string_view m) { return text.starts_with(m); });
}

}  // namespace

std::string Pseudonyms::hex(std::string_view kind, std::string_view value, std::size_t digits) const {
  const std::string message = std::string(kind) + '\0' + std::string(value);
  std::array<unsigned char, EVP_MAX_MD_SIZE> tag{};
  unsigned length = 0;
  HMAC(EVP_sha256(), salt_.data(), static_cast<int>(salt_.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), tag.data(), &length);
  std::string result;
  for (unsigned i = 0; i < length; ++i) result += fmt::format("{:02x}", tag[i]);
  return result.substr(0, digits);
}

std::uint64_t Pseudonyms::guid(std::uint64_t value) {
  if (value == 0 || ~value == 0) return value;
  guids_.insert(value);
  return *hexadecimal(hex("guid", hex64(value), 16)) | 1;
}

std::uint64_t Pseudonyms::mac(std::uint64_t value) {
  constexpr std::uint64_t broadcast = 0xffffffffffff, local_unicast = 0x020000000000, group = 0x010000000000;
  if (value == 0 || value == broadcast) return value;
  macs_.insert(value);
  return (*hexadecimal(hex("mac", hex64(value), 12)) | local_unicast) & ~group;
}

std::string Pseudonyms::host(std::string_view name) const {
  return "host-" + hex("host", name, 8);
}

void Pseudonyms::learn_host(std::string_view name) {
  name = trim(name);
  if (name.size() < 2 || name == "localhost" || name == "(none)" || !is_word(name[0])) return;
  learn(name, host(name));
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return;
  // "node3.cluster.example": node3 goes by itself as well, and the domain.
  learn(name.substr(0, dot), host(name.substr(0, dot)));
  if (name.size() > dot + 3) learn(name.substr(dot + 1), "domain-" + hex("host", name.substr(dot + 1), 8));
}

void Pseudonyms::learn_serial(std::string_view serial) {
  serial = trim(serial);
  const std::string plain = lower(serial);
  for (const char* none : {"none", "not ", "to be filled", "default", "unknown", "n/a", "0123456789"})
    if (plain.starts_with(none)) return;
  if (serial.size() >= 4 && is_word(serial[0])) learn(serial, fmt::format("SN{}", hex("serial", serial, 10)));
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

std::string Pseudonyms::device_name(std::string_view name) {
  std::string out;
  return name.starts_with("enx") && shape(name, out) == name.size() ? out : std::string(name);
}

// A subnet's prefix that everybody has stays.
std::uint64_t Pseudonyms::subnet(std::uint64_t prefix) {
  return prefix == 0xfe80000000000000 ? prefix : guid(prefix);
}

std::size_t Pseudonyms::shape(std::string_view text, std::string& out) {
  for (const Shape& shape : shapes) {
    const std::string digits = digits_of(text, shape);
    if (digits.empty()) continue;
    const auto value = [&](std::size_t at, std::size_t count) {
      return *hexadecimal(digits.substr(at, count));
    };
    std::string other;
    switch (shape.kind) {
      case Kind::uuid:
        other = hex("uuid", digits, 32);
        break;
      case Kind::mac:
        other = fmt::format("{:012x}", mac(value(0, 12)));
        break;
      case Kind::guid:
        other = hex64(guid(value(0, 16)));
        break;
      case Kind::ipoib:  // the 20 bytes of an address of IP over InfiniBand: queue pair, subnet, GUID
        other = digits.substr(0, 8) + hex64(subnet(value(8, 16))) + hex64(guid(value(24, 16)));
        break;
    }
    out += filled(shape.pattern, other);
    return shape.pattern.size();
  }
  return 0;
}

std::size_t Pseudonyms::address(std::string_view text, Reading reading, std::string& out) {
  constexpr std::string_view digits6 = "0123456789abcdefABCDEF:.", digits4 = "0123456789.";
  const std::string six(text.substr(0, run(text, digits6)));
  std::array<std::uint8_t, 16> bytes{};
  if (six.find(':') != std::string::npos && six.size() > 3 &&
      inet_pton(AF_INET6, six.c_str(), bytes.data()) == 1 && ends(text, six.size())) {
    std::uint64_t halves[2] = {0, 0};
    for (std::size_t i = 0; i < 16; ++i) halves[i / 8] = halves[i / 8] << 8 | bytes[i];
    if (halves[0] == 0 && halves[1] >> 32 == 0xffff) {  // RoCE's GID of an IPv4 address
      const std::string dotted = fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
      halves[1] = 0xffff0a000000 | *hexadecimal(hex("ip", dotted, 6));
      halves[0] = 0;
    } else {  // a subnet and a port's GUID
      halves[0] = subnet(halves[0]);
      halves[1] = guid(halves[1]);
    }
    out += filled("....:....:....:....:....:....:....:....", hex64(halves[0]) + hex64(halves[1]));
    return six.size();
  }
  std::string four(text.substr(0, run(text, digits4)));
  while (four.ends_with('.')) four.pop_back();
  if (reading.versions || !ends(text, four.size()) || inet_pton(AF_INET, four.c_str(), bytes.data()) != 1)
    return 0;
  if (bytes[0] == 0 || bytes[0] == 127 || bytes[0] == 255) return 0;
  const std::uint64_t value = *hexadecimal(hex("ip", four, 6));
  out += fmt::format("10.{}.{}.{}", value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff);
  return four.size();
}

std::size_t Pseudonyms::number(std::string_view text, Reading reading, std::string& out) {
  const bool marked = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t prefix = marked ? 2 : 0;
  const std::size_t digits = run(text.substr(prefix), hex_digits);
  if (digits < 5 || digits > 16 || !ends(text, prefix + digits)) return 0;
  const std::uint64_t value = *hexadecimal(text.substr(prefix, digits));
  const bool is_guid = guids_.contains(value) || (digits > 8 && reading.guids);
  if (digits == 12 && macs_.contains(value) && !guids_.contains(value)) {
    out += fmt::format("{}{:012x}", text.substr(0, prefix), mac(value));
  } else if (is_guid) {
    out += text.substr(0, prefix);
    out += digits == 16 ? hex64(guid(value)) : fmt::format("{:x}", guid(value));
  } else {
    return 0;
  }
  return prefix + digits;
}

void Pseudonyms::learn(std::string_view word, std::string pseudonym) {
  words_[std::string(leading_word(word))].emplace(word, std::move(pseudonym));
}

std::size_t Pseudonyms::word(std::string_view text, std::string& out) const {
  const auto candidates = words_.find(leading_word(text));
  if (candidates == words_.end()) return 0;
  std::size_t longest = 0;
  const std::string* pseudonym = nullptr;
  for (const auto& [known, replacement] : candidates->second)
    if (known.size() > longest && text.starts_with(known) && ends(text, known.size()))
      longest = known.size(), pseudonym = &replacement;
  if (pseudonym) out += *pseudonym;
  return longest;
}

std::string Pseudonyms::text(std::string_view text, Reading reading) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t taken = 0;
    if ((is_word(text[at]) || text[at] == ':') && (at == 0 || !is_word(text[at - 1]))) {
      taken = word(rest, out);
      if (!taken) taken = shape(rest, out);
      if (!taken) taken = address(rest, reading, out);
      if (!taken) taken = number(rest, reading, out);
    }
    // Onto the end of the word: nothing starts within it.
    if (!taken) {
      taken = 1;
      if (is_word(text[at]))
        while (at + taken < text.size() && is_word(text[at + taken])) ++taken;
      out += rest.substr(0, taken);
    }
    at += taken;
  }
  return out;
}

}  // namespace ringtrue::probe
