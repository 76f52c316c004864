#include "probe/reading.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringtrue::probe {

using namespace topology;

template <class T>
std::optional<T> Folder::keep(Result<T> result, const std::string& name) {
  if (result) return std::move(*result);
  if (result.error().cause != Cause::bad_input) {
    unread_ += (unread_.empty() ? "" : ", ") + name;
    why_ = result.error().what;
  }
  return std::nullopt;
}

std::optional<std::string> Folder::text(const std::string& name) {
  auto text = keep(source_.read(path_ + "/" + name), name);
  if (text) *text = formats::clean(*text);
  return text && !text->empty() ? text : std::nullopt;
}

std::optional<std::int64_t> Folder::number(const std::string& name) {
  const auto text = this->text(name);
  return text ? parse_number<std::int64_t>(*text) : std::nullopt;
}

std::optional<std::uint32_t> Folder::hexadecimal(const std::string& name) {
  const auto text = this->text(name);
  const auto value = text ? formats::hexadecimal(*text) : std::nullopt;
  return value && *value <= 0xffffffff ? std::optional(std::uint32_t(*value)) : std::nullopt;
}

std::optional<std::string> Folder::link(const std::string& name) {
  return keep(source_.link(path_ + "/" + name), name);
}

std::optional<std::string> Folder::link_name(const std::string& name) {
  const auto to = link(name);
  return to ? std::optional(formats::clean(last_name(*to))) : std::nullopt;
}

std::vector<std::string> Folder::list(const std::string& name) {
  return keep(source_.list(path_ + "/" + name), name).value_or(std::vector<std::string>());
}

void Folder::add_gap(Node& node, const std::string& device) const {
  if (!unread_.empty()) node.gaps.push_back({origin::sysfs, fmt::format("{}: {}", device, unread_), why_});
}

std::string why_not(const Error& error, const std::string& path) {
  return error.cause == Cause::bad_input ? "there is no " + path : error.what;
}

std::string last_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

PciPlace pci_place(std::string_view path) {
  PciPlace place;
  for (const std::string_view part : formats::split(path, '/')) {
    if (part.starts_with("pci") && part.find(':') != std::string_view::npos) {
      place = {std::string(part.substr(3)), {}};
    } else if (const auto address = formats::pci_address(part); address && *address == part) {
      place.addresses.push_back(*address);
    }
  }
  return place;
}

Nic& hardware_nic(Node& node, const std::string& address) {
  const PciDevice* device = node.find_pci(address);
  const bool virtual_function = device && device->virtual_function;
  for (Nic& nic : node.nics)
    if (nic.address == address && nic.virtual_device == virtual_function) return nic;
  Nic nic;
  nic.address = address;
  nic.virtual_device = virtual_function;
  if (device) nic.driver = device->driver;
  return node.nics.emplace_back(std::move(nic));
}

Gap gap_of(const char* source, std::string what, const Error& error) {
  return {source, std::move(what), error.next.empty() ? error.what : error.what + "; " + error.next};
}

nlohmann::json answer_of(Source& source, const char* library, const char* what_it_tells, Node& node) {
  const auto text = source.answer(library);
  auto answer = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  if (answer.is_object()) return answer;
  node.gaps.push_back(text ? Gap{library, what_it_tells, fmt::format("the answer of {} is damaged", library)}
                           : gap_of(library, what_it_tells, text.error()));
  return {};
}

const nlohmann::json& list(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none = nlohmann::json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : none;
}

}  // namespace ringtrue::probe
