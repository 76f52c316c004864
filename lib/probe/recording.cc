// A recording on disk: gzip around
//
//   {"schema": "ringtrue.recording/1", "node", "made_by", "made_at", "window_s",
//    "files": {path: text}, "folders": {path: [name]}, "links": {path: path}, "answers": {library: text},
//    "later_files", "later_answers", "errors": {path or library: {"cause", "what", "where", "next"}}}
//
// Text that is not UTF-8 (the PCI configuration space) is {"hex": digits}.
#include <fmt/format.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "formats/format.h"
#include "formats/gzip.h"
#include "formats/text.h"
#include "probe/recording.h"

namespace ringtrue::topology {
namespace {

using nlohmann::json;

constexpr const char* schema = "ringtrue.recording/1";
constexpr std::size_t most_entries = 1'000'000;
constexpr std::size_t longest_path = 4096;

constexpr std::array causes = {"bad_input", "unavailable", "unreachable", "refused", "deadline",
                               "peer_lost", "corrupted",   "cancelled",   "internal"};

json packed(const std::string& text) {
  if (format::is_utf8(text)) return text;
  std::string digits;
  for (const unsigned char byte : text) digits += fmt::format("{:02x}", byte);
  return {{"hex", digits}};
}

json packed(const std::map<std::string, std::string>& texts) {
  json result = json::object();
  for (const auto& [key, text] : texts) result[key] = packed(text);
  return result;
}

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  if (digits.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto byte = format::hexadecimal(digits.substr(i, 2));
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
  if (path.size() > longest_path || !path.starts_with('/')) return false;
  if (path.size() == 1) return true;
  for (const std::string_view name : format::split(path.substr(1), '/'))
    if (!good_name(name)) return false;
  return true;
}

// Fills the recording while the document is read, so that nothing is held that has no place in it.
class Reader : public nlohmann::json_sax<json> {
 public:
  Recording recording;
  std::string trouble;

  bool null() override { return refuse(); }
  bool boolean(bool) override { return refuse(); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return refuse(); }

  bool string(string_t& value) override {
    if (depth_ == 1) {
      if (section_ == "schema") schema_ = value == schema;
      if (section_ == "schema" && !schema_)
        return say(fmt::format("schema {:?}, not {}", format::clean(value), schema));
      if (structural()) return refuse();
      if (section_ == "node") recording.node = value;
      if (section_ == "made_by") recording.made_by = value;
      if (section_ == "made_at") recording.made_at = value;
      return true;
    }
    if (listing_) {
      if (!good_name(value)) return say(fmt::format("folder {:?} lists a path", key_));
      return counted() && (recording.folders[key_].push_back(std::move(value)), true);
    }
    if (depth_ == 2 && texts()) return counted() && ((*texts())[key_] = std::move(value), true);
    if (depth_ == 2 && section_ == "links") {
      if (!good_path(value)) return say(fmt::format("link {:?} leads to no absolute path", key_));
      return counted() && (recording.links[key_] = std::move(value), true);
    }
    if (depth_ == 3 && section_ == "errors") return error_part(value);
    if (depth_ == 3 && texts() && field_ == "hex") {
      auto bytes = from_hex(value);
      if (!bytes) return say(fmt::format("{:?} is no text", key_));
      return counted() && ((*texts())[key_] = std::move(*bytes), true);
    }
    return refuse();
  }

  bool start_object(std::size_t) override {
    if (depth_ == 2 && !(section_ == "errors" || texts())) return refuse();
    if (depth_ == 1 && !structural()) return refuse();
    if (depth_ == 2 && section_ == "errors") {
      if (!counted()) return false;
      recording.errors[key_];
    }
    return ++depth_ <= 3 && !listing_ ? true : refuse();
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || section_ != "folders" || listing_) return refuse();
    recording.folders[key_];
    return counted() && (listing_ = true);
  }
  bool end_array() override { return listing_ = false, true; }

  bool key(string_t& value) override {
    if (depth_ == 1) section_ = value;
    if (depth_ == 2) key_ = value;
    if (depth_ == 3) field_ = value;
    const bool paths =
        section_ == "files" || section_ == "later_files" || section_ == "folders" || section_ == "links";
    if (depth_ == 2 && paths && !good_path(value))
      return say(fmt::format("{:?} is no absolute path", format::clean(value)));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return say(fmt::format("no JSON at byte {}", position));
  }

  bool complete() { return schema_ || say(fmt::format("no schema {:?}", schema)); }

 private:
  bool say(std::string what) {
    if (trouble.empty()) trouble = std::move(what);
    return false;
  }
  bool refuse() {
    return say(fmt::format("{:?} is not of the form of a recording", format::clean(section_)));
  }
  bool counted() {
    return ++entries_ <= most_entries || say(fmt::format("more than {} entries", most_entries));
  }

  bool number(double value) {
    if (depth_ != 1 || section_ != "window_s" || !(value >= 0)) return refuse();
    recording.window_s = value;
    return true;
  }

  bool structural() {
    return section_ == "errors" || section_ == "folders" || section_ == "links" || texts();
  }

  std::map<std::string, std::string>* texts() {
    if (section_ == "files") return &recording.files;
    if (section_ == "answers") return &recording.answers;
    if (section_ == "later_files") return &recording.later_files;
    if (section_ == "later_answers") return &recording.later_answers;
    return nullptr;
  }

  bool error_part(const std::string& value) {
    Error& error = recording.errors[key_];
    if (field_ == "what") error.what = value;
    if (field_ == "where") error.where = value;
    if (field_ == "next") error.next = value;
    if (field_ == "cause")
      for (std::size_t i = 0; i < causes.size(); ++i)
        if (value == causes[i]) error.cause = static_cast<Cause>(i);
    return counted();
  }

  int depth_ = 0;
  bool listing_ = false, schema_ = false;
  std::size_t entries_ = 0;
  std::string section_, key_, field_;
};

}  // namespace

std::string write_recording(const Recording& recording) {
  json errors = json::object();
  for (const auto& [key, error] : recording.errors) {
    errors[key] = {{"cause", causes[static_cast<std::size_t>(error.cause)]}, {"what", error.what}};
    if (!error.where.empty()) errors[key]["where"] = error.where;
    if (!error.next.empty()) errors[key]["next"] = error.next;
  }
  const json document = {{"schema", schema},
                         {"node", recording.node},
                         {"made_by", recording.made_by},
                         {"made_at", recording.made_at},
                         {"window_s", recording.window_s},
                         {"files", packed(recording.files)},
                         {"folders", recording.folders},
                         {"links", recording.links},
                         {"answers", packed(recording.answers)},
                         {"later_files", packed(recording.later_files)},
                         {"later_answers", packed(recording.later_answers)},
                         {"errors", errors}};
  return format::gzip(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<Recording> read_recording(std::string_view bytes) {
  if (bytes.size() > largest_file)
    return fail(Cause::bad_input, fmt::format("not a recording: larger than {} MiB", largest_file >> 20));
  std::string unpacked;
  if (format::is_gzip(bytes)) {
    auto text = format::gunzip(bytes);
    if (!text) return fail(text.error().cause, "not a recording: " + text.error().what);
    unpacked = std::move(*text);
    bytes = unpacked;
  }
  Reader reader;
  const bool read = json::sax_parse(bytes, &reader) && reader.complete();
  if (!read) return fail(Cause::bad_input, "not a recording: " + reader.trouble);
  return std::move(reader.recording);
}

}  // namespace ringtrue::topology
