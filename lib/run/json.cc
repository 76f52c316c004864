#include "run/json.h"

#include "base/fields_json.h"
#include "run/fields.h"

namespace ringtrue::run {
namespace {

constexpr int max_depth = 16;

struct Writer : JsonWriter<Writer> {
  using JsonWriter::JsonWriter;
  void put_special(const RdmaPort& port, const About&) { put(to_text(port)); }
};

struct Reader : JsonReader<Reader> {
  using JsonReader::JsonReader;
  void get_special(RdmaPort& port, const About&) {
    auto read = parse_port(at().is_string() ? std::string_view(text()) : "");
    read ? void(port = std::move(*read)) : complain("not a port of an RDMA device");
  }
};

template <class T>
constexpr const char* called = "a job";
template <>
constexpr const char* called<RunReport> = "a report";
template <>
constexpr const char* called<DeviceEvents> = "a list of events";

// Any events go together.
Result<void> check(const DeviceEvents&) {
  return {};
}

template <class T>
std::string write(const T& record, int indent, JsonForm form) {
  Writer writer(indent, form);
  writer.put(record, {});
  return writer.take();
}

}  // namespace

template <class T>
std::string to_json(const T& record, int indent) {
  return write(record, indent, JsonForm::keyed);
}

template <class T>
std::string to_packed_json(const T& record) {
  return write(record, -1, JsonForm::packed);
}

template <class T>
Result<T> from_json(std::string_view text) {
  const auto document = parse_json(text, max_record_bytes, max_depth, called<T>);
  if (!document) return tl::unexpected(document.error());
  T record;
  Reader reader(*document, true);
  reader.get(record, {});
  if (!reader.wrong().empty()) {
    const std::string_view wrong = reader.wrong();
    return fail(Cause::bad_input, fmt::format("{}, {}", called<T>, wrong.substr(wrong[0] == ':' ? 2 : 0)));
  }
  if (auto fine = check(record); !fine) return tl::unexpected(fine.error());
  return record;
}

template std::string to_json(const Job&, int);
template std::string to_json(const RunReport&, int);
template std::string to_packed_json(const Job&);
template std::string to_packed_json(const RunReport&);
template std::string to_packed_json(const DeviceEvents&);
template Result<Job> from_json(std::string_view);
template Result<RunReport> from_json(std::string_view);
template Result<DeviceEvents> from_json(std::string_view);

}  // namespace ringtrue::run
