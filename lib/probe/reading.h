// What the probes of /sys share. Private to this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "formats/text.h"
#include "probe/source.h"
#include "topology/model.h"

namespace ringtrue::probe {

// Reads the files of one device's folder. What does not exist is nullopt and no more; what exists and cannot
// be read becomes one gap for the device, once all of it was tried.
class Folder {
 public:
  Folder(Source& source, std::string path) : source_(source), path_(std::move(path)) {}
  std::optional<std::string> text(const std::string& name);           // fit to be shown; not empty
  std::optional<std::int64_t> number(const std::string& name);        // "16", "-1"
  std::optional<std::uint32_t> hexadecimal(const std::string& name);  // "0x15b3"
  std::optional<std::string> link(const std::string& name);           // where it leads
  std::optional<std::string> link_name(const std::string& name);      // the last name of that
  std::vector<std::string> list(const std::string& name);
  void add_gap(topology::Node& node, const std::string& device) const;
  bool failed() const { return !unread_.empty(); }

 private:
  template <class T>
  std::optional<T> keep(Result<T> result, const std::string& name);

  Source& source_;
  std::string path_;
  std::string unread_, why_;
};

// What a gap says of a folder that cannot be listed: the same words live and out of a recording.
std::string why_not(const Error& error, const std::string& path);

// What a gap says of a device whose entry outlives its files.
inline constexpr const char* half_removed = "its files are gone: it is being removed, or half removed";

std::string last_name(std::string_view path);
// The PCI functions on the way to a device, outermost first, without those above the last host bridge.
struct PciPlace {
  std::string root;  // "0000:3a"
  std::vector<std::string> addresses;
};
PciPlace pci_place(std::string_view path);

// The NIC that is this PCI function itself, made where there is none. `address` is not empty.
topology::Nic& hardware_nic(topology::Node& node, const std::string& address);

topology::Gap gap_of(const char* source, std::string what, const Error& error);

// An answer's JSON object; null where it is none, or nobody answered (a gap says what is then unknown).
nlohmann::json answer_of(Source& source, const char* library, const char* what_it_tells,
                         topology::Node& node);

// A field of an answer, which may come from a recording that anybody wrote; nullopt: not there, of another
// kind, empty, or out of range.
template <class T>
std::optional<T> get(const nlohmann::json& object, const char* key, std::uint64_t max = ~0ull) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) {
    if (it->is_boolean()) return it->template get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    auto text = it->is_string() ? formats::clean(it->template get_ref<const std::string&>()) : std::string();
    if (!text.empty()) return text;
  } else if (it->is_number_unsigned()) {
    const auto value = it->template get<std::uint64_t>();
    if (value <= max && std::in_range<T>(value)) return T(value);
  }
  return std::nullopt;
}
// Of a count or rate, of which 0 is none.
inline std::optional<int> positive(const nlohmann::json& object, const char* key, std::uint64_t max) {
  const auto value = get<int>(object, key, max);
  return value && *value > 0 ? value : std::nullopt;
}
// The same of a list; empty where there is none.
const nlohmann::json& list(const nlohmann::json& object, const char* key);

}  // namespace ringtrue::probe
