// A recording on disk: gzip around
//
//   {"schema": "ringtrue.recording/1", "node", "made_by", "made_at", "window_s",
//    "files": {path: text}, "folders": {path: [name]}, "links": {path: path}, "answers": {library: text},
//    "later_files", "later_answers", "errors": {path or library: {"cause", "what", "where", "next"}}}
//
// Text that is not UTF-8 (the PCI configuration space) is {"hex": digits}.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fields_json.h"
#include "formats/format.h"
#include "formats/gzip.h"
#include "formats/text.h"
#include "probe/recording.h"

namespace ringtrue::probe {

using namespace topology;

template <class V, Is<Recording>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", {}, node);
  RINGTRUE_FIELD("made_by", {}, made_by);
  RINGTRUE_FIELD("made_at", {}, made_at);
  RINGTRUE_FIELD("window_s", measured, window_s);
  RINGTRUE_FIELD("files", {}, files);
  RINGTRUE_FIELD("folders", {}, folders);
  RINGTRUE_FIELD("links", {}, links);
  RINGTRUE_FIELD("answers", {}, answers);
  RINGTRUE_FIELD("errors", {}, errors);
  RINGTRUE_FIELD("later_files", {}, later_files);
  RINGTRUE_FIELD("later_answers", {}, later_answers);
}

namespace {

using nlohmann::json;

constexpr const char* schema = "ringtrue.recording/1";
constexpr std::ptrdiff_t max_entries = 1'000'000;
constexpr std::size_t max_path_length = 4096;
constexpr int max_depth = 3;

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  if (digits.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto byte = formats::hexadecimal(digits.substr(i, 2));
    if (!byte || digits[i + 1] == 'x') return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

bool good_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

// Absolute, without "." or "..": a path is a name in a map and never opened, but one that climbs is no
// recording's.
bool good_path(std::string_view path) {
  if (path.size() > max_path_length || !path.starts_with('/')) return false;
  if (path.size() == 1) return true;
  for (const std::string_view name : formats::split(path.substr(1), '/'))
    if (!good_name(name)) return false;
  return true;
}

struct Writer : JsonWriter<Writer> {
  using JsonWriter::JsonWriter;
  void put_special(const std::string& text, const About&) {
    if (formats::is_utf8(text)) return put(text);
    open('{');
    key("hex");
    std::string digits;
    for (const unsigned char byte : text) digits += fmt::format("{:02x}", byte);
    put(digits);
    close('}');
  }
};

struct Reader : JsonReader<Reader> {
  using JsonReader::JsonReader;
  void get_special(std::string& value, const About&) {
    const auto hex = at().is_object() ? at().find("hex") : at().end();
    auto bytes = hex != at().end() && hex->is_string() ? from_hex(hex->get_ref<const std::string&>())
                 : at().is_string()                    ? std::optional(text())
                                                       : std::nullopt;
    bytes ? void(value = std::move(*bytes)) : complain("no text");
  }
};

Result<Recording> refuse(std::string why) {
  return fail(Cause::bad_input, "not a recording: " + std::move(why));
}

struct Keys {
  std::set<std::string> all;
  void operator()(const char* key, const About&, const auto&) { all.insert(key); }
};

// What is wrong with the form, the paths and the names of a document; empty: nothing.
std::string trouble_with(const json& document) {
  Keys known;
  const Recording none;
  fields(known, none);
  for (const auto& [key, value] : document.items())
    if (value.is_structured() && !known.all.contains(key))
      return fmt::format("{:?} is not of the form of a recording", formats::clean(key));
  for (const char* part : {"files", "later_files", "folders", "links"}) {
    const auto section = document.find(part);
    if (section == document.end()) continue;
    for (const auto& [path, value] : section->items())
      if (!good_path(path)) return fmt::format("{:?} is not an absolute path", formats::clean(path));
  }
  return {};
}

std::string trouble_with(const Recording& recording) {
  for (const auto& [path, to] : recording.links)
    if (!good_path(to)) return fmt::format("link {:?} leads to no absolute path", path);
  for (const auto& [path, names] : recording.folders)
    if (!std::all_of(names.begin(), names.end(), good_name))
      return fmt::format("folder {:?} lists a path", path);
  return {};
}

}  // namespace

std::string write_recording(const Recording& recording) {
  Writer writer(-1);
  writer.put(recording, {});
  return formats::gzip(fmt::format(R"({{"schema":"{}",{})", schema, writer.take().substr(1)));
}

Result<Recording> read_recording(std::string_view bytes) {
  std::string unpacked;
  if (formats::is_gzip(bytes)) {
    auto text = formats::gunzip(bytes);
    if (!text) return fail(text.error().cause, "not a recording: " + text.error().what);
    unpacked = std::move(*text);
    bytes = unpacked;
  }
  // Commas bound what the parser makes of a hostile document.
  if (std::count(bytes.begin(), bytes.end(), ',') > max_entries)
    return refuse(fmt::format("more than {} entries", max_entries));
  const auto document = parse_json(bytes, formats::max_file_bytes, max_depth, "a document");
  if (!document) return refuse(document.error().what);
  if (!document->is_object()) return refuse("not of the form of a recording");
  if (const auto says = document->value("schema", json()); says != schema)
    return refuse(says.is_string()
                      ? fmt::format("schema {:?}, not {}", formats::clean(says.get<std::string>()), schema)
                      : fmt::format("no schema {:?}", schema));
  if (const std::string why = trouble_with(*document); !why.empty()) return refuse(why);
  Reader reader(*document, true);
  Recording recording;
  reader.get(recording, {});
  if (!reader.wrong().empty()) return refuse(reader.wrong());
  if (const std::string why = trouble_with(recording); !why.empty()) return refuse(why);
  return recording;
}

Result<std::string> routes_in(Recording recording, Error older) {
  constexpr const char* library = "routes";
  if (const auto text = recording.answers.find(library); text != recording.answers.end())
    return std::move(text->second);
  const auto why = recording.errors.find(library);
  return tl::unexpected(why == recording.errors.end() ? std::move(older) : std::move(why->second));
}

}  // namespace ringtrue::probe
