// What names people and places in a recording, by where it stands.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/text.h"
#include "probe/pseudonyms.h"
#include "probe/recording.h"

namespace ringtrue::probe {
namespace {

using namespace formats;
using nlohmann::json;

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.find(word) != text.npos; });
}

class Redactor {
 public:
  explicit Redactor(std::string_view salt) : pseudonyms_(salt) {}

  void run(Recording& recording) {
    pseudonyms_.learn_host(recording.node);
    Recording learned = recording;  // the first pass is for what is found late and stands early as well
    pass(learned);
    pass(recording);
    recording.node = pseudonyms_.host(recording.node);
  }

 private:
  void pass(Recording& recording) {
    for (auto* texts : {&recording.files, &recording.later_files})
      each(*texts, [&](const std::string& path, std::string& text) { text = file(path, text); });
    for (auto* texts : {&recording.answers, &recording.later_answers})
      each(*texts, [&](const std::string& library, std::string& text) { text = answer(library, text); });
    each(recording.folders, [&](const std::string&, std::vector<std::string>& names) {
      for (std::string& name : names) name = pseudonyms_.device_name(name);
    });
    each(recording.links, [&](const std::string&, std::string& to) { to = path(to); });
    each(recording.errors, [&](const std::string&, Error& error) {
      for (std::string* part : {&error.what, &error.where.node, &error.next})
        *part = pseudonyms_.text(*part, {});
    });
  }

  template <class Map, class Redact>
  void each(Map& all, Redact redact) {
    Map result;
    for (auto& [key, value] : all) {
      redact(key, value);
      result[path(key)] = std::move(value);
    }
    all = std::move(result);
  }

  std::string path(const std::string& path) {
    std::string result;
    for (const std::string_view part : split(path, '/')) {
      if (part.data() != path.data()) result += '/';
      result += pseudonyms_.device_name(part);
    }
    return result;
  }

  std::string file(const std::string& path, const std::string& text) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == "config") return registers(text);
    if (name == "vpd" || name == "ifalias") return {};
    if (name == "cmdline") return command_line(text);
    return value(name, text);
  }

  // One value and what it is called.
  std::string value(const std::string& name, const std::string& text) {
    const std::string key = lower(name);
    if (has_any(key, {"serial", "asset_tag", "assettag"})) pseudonyms_.learn_serial(text);
    if (key == "hostname" || key == "domainname" || key == "nodename" || key == "node")
      pseudonyms_.learn_host(text);
    if (key == "node_desc" || key == "node_description") return pseudonyms_.description(text);
    if (key == "cmdline") return command_line(text);
    if (key == "linuxcgroup" || key == "commandline" || key == "ifalias") return {};
    return pseudonyms_.text(
        text, {.versions = has_any(key, {"version", "fw", "firmware", "driver", "bios", "release"}),
               .guids = has_any(key, {"guid", "phys_port_id", "switch_id"})});
  }

  // PCI's configuration space, without the serial number in it, which is a NIC's MAC or GUID.
  static std::string registers(std::string bytes) {
    constexpr std::size_t extended = 0x100;
    constexpr unsigned serial_number = 3;
    std::size_t at = extended;
    for (int i = 0; i < 64 && at >= extended && at + 12 <= bytes.size(); ++i) {
      const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(bytes[at + k]); };
      if ((byte(0) | byte(1) << 8) == serial_number) bytes.replace(at + 4, 8, 8, '\0');
      at = (byte(2) >> 4 | byte(3) << 4) & ~3u;
    }
    return bytes;
  }

  // What the kernel was told, as far as an inspection asks.
  static std::string command_line(std::string_view text) {
    std::string result;
    for (const std::string_view word : split(text, ' '))
      if (has_any(word.substr(0, word.find('=')),
                  {"iommu", "pci", "hugepage", "isolcpus", "nohz", "mitigations"})) {
        if (!result.empty()) result += ' ';
        result += word;
      }
    return result;
  }

  std::string answer(const std::string& library, const std::string& text) {
    if (library == "fabric" || library == "routes") return lines(text);
    if (trim(text).starts_with('<')) return xml(text);
    constexpr int max_depth = 64;
    json document = json::parse(
        text, [](int depth, json::parse_event_t, json&) { return depth < max_depth; }, false);
    if (document.is_discarded()) return pseudonyms_.text(text, {});
    walk(document, library);
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  void walk(json& value, const std::string& name) {
    if (value.is_string()) {
      value = this->value(name, value.get<std::string>());
    } else if (value.is_array()) {
      for (json& element : value) walk(element, name);
    } else if (value.is_object()) {
      json result = json::object();
      for (auto& [key, element] : value.items()) {
        walk(element, key);
        result[pseudonyms_.device_name(key)] = std::move(element);
      }
      value = std::move(result);
    }
  }

  // Within the quotes of an XML document, so that it stays one.
  std::string xml(std::string_view text) {
    std::string result, info;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t open = std::min(text.find('"', at), text.size());
      const std::size_t close = open == text.size() ? open : std::min(text.find('"', open + 1), text.size());
      const std::string_view before = text.substr(at, open - at);
      result += before;
      if (open == text.size()) break;
      const std::string_view quoted = text.substr(open + 1, close - open - 1);
      // <info name="HostName" value="node3"/>
      const bool of_info = before.ends_with("value=");
      if (of_info && info == "HostName") pseudonyms_.learn_host(quoted);
      result += '"' + (of_info                    ? value(info, std::string(quoted))
                       : before.ends_with("set=") ? std::string(quoted)
                                                  : pseudonyms_.text(quoted, {}));
      if (close < text.size()) result += '"';
      info = before.ends_with("<info name=") ? std::string(quoted) : "";
      at = close + 1;
    }
    return result;
  }

  // ibnetdiscover's: GUIDs everywhere, and descriptions at the end of a line.
  std::string lines(std::string_view text) {
    std::string result;
    for (const std::string_view line : split(text, '\n')) {
      const std::size_t comment = line.find('#');
      const bool listed = comment == std::string_view::npos;
      const char quote = listed ? '\'' : '"';
      const std::size_t first = line.find(quote, listed ? 0 : comment), last = line.rfind(quote);
      if (!result.empty() || line.data() != text.data()) result += '\n';
      if (first == std::string_view::npos || first == last) {
        result += pseudonyms_.text(line, {.guids = true});
        continue;
      }
      result += pseudonyms_.text(line.substr(0, first), {.guids = true}) + quote;
      const std::string_view names = line.substr(first + 1, last - first - 1);
      const std::size_t middle = listed ? names.find("' - '") : std::string_view::npos;
      result += pseudonyms_.description(names.substr(0, middle));
      if (middle != std::string_view::npos)
        result += "' - '" + pseudonyms_.description(names.substr(middle + 5));
      result += line.substr(last);
    }
    return result;
  }

  Pseudonyms pseudonyms_;
};

}  // namespace

void redact(Recording& recording, std::string_view salt) {
  Redactor(salt).run(recording);
}

}  // namespace ringtrue::probe
