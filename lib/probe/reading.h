// What the probes of /sys share. Private to this folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/source.h"
#include "topology/model.h"

namespace ringtrue::topology {

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
  void name_gap(Node& node, const std::string& device) const;
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

std::optional<std::int64_t> integer(std::string_view text);

// The NIC that is this PCI function itself, made where there is none. `address` is not empty.
Nic& hardware_nic(Node& node, const std::string& address);

// An answer's JSON object; null where it is none, or nobody answered (a gap says what is then unknown).
nlohmann::json answer_of(Source& source, const char* library, const char* what_it_tells, Node& node);

}  // namespace ringtrue::topology
