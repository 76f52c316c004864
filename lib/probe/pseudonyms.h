// Pseudonyms for names and addresses: the same for the same, of the same form, and nothing to be read from
// them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "formats/text.h"

namespace ringtrue::probe {

class Pseudonyms {
 public:
  explicit Pseudonyms(std::string_view salt) : salt_(salt) {}

  // How texts are read.
  struct Reading {
    bool versions = false;  // four numbers with dots are a version, not an address
    bool guids = false;     // hexadecimal numbers of more than eight digits are GUIDs
  };
  // Replaces MACs, GUIDs, GIDs, IP addresses and UUIDs by their form, and what was learned, word by word.
  // What it finds it remembers: a second pass replaces it in forms that say less ("ec0d9a0300ec8240").
  std::string text(std::string_view text, Reading reading);
  // Only the MAC within names such as "enx0c42a1d3e4f5".
  std::string device_name(std::string_view name) {
    std::string out;
    return name.starts_with("enx") && shape(name, out) == name.size() ? out : std::string(name);
  }
  // "node3 HCA-1", "MF0;leaf7:MQM8700/U1": names go, and what the maker gave stays.
  std::string description(std::string_view description);
  void learn_host(std::string_view name);
  void learn_serial(std::string_view serial);
  std::string host(std::string_view name) const { return "host-" + hex("host", name, 8); }

 private:
  std::string hex(std::string_view kind, std::string_view value, std::size_t digits) const;
  std::uint64_t number(std::string_view kind, std::string_view value, std::size_t digits) const {
    return *formats::hexadecimal(hex(kind, value, digits));
  }
  std::uint64_t guid(std::uint64_t value);
  std::uint64_t mac(std::uint64_t value);
  // A subnet's prefix that everybody has stays.
  std::uint64_t subnet(std::uint64_t prefix) { return prefix == 0xfe80000000000000 ? prefix : guid(prefix); }
  // Each writes the pseudonym of what `text` begins with, and returns how long that is; 0: nothing of the
  // kind.
  std::size_t word(std::string_view text, std::string& out) const;
  std::size_t shape(std::string_view text, std::string& out);
  std::size_t ipv6(std::string_view text, std::string& out);
  std::size_t ipv4(std::string_view text, Reading reading, std::string& out);
  std::size_t plain_number(std::string_view text, Reading reading, std::string& out);

  std::string salt_;
  std::map<std::string, std::string, std::less<>> words_;  // hosts and serial numbers with their pseudonyms
  std::set<std::uint64_t> guids_, macs_;
};

}  // namespace ringtrue::probe
