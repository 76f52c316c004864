#include "operator/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/fields_json.h"

namespace ringtrue {

namespace {

constexpr std::uint64_t max_header = 64 * 1024;
constexpr std::size_t max_dimensions = 32, max_fields = 16, max_quoted = 40;

tl::unexpected<Error> bad(std::string what, std::string next = {}) {
  return fail(Cause::bad_input, std::move(what), {}, std::move(next));
}

// A piece of the file for an error message: short, and nothing that a terminal would obey.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, max_quoted)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > max_quoted ? out + "..." : out;
}

struct Field {
  std::string name, type;
  bool shaped = false;  // an array of its own in each record
};

struct Header {
  std::string type;           // of plain values
  std::vector<Field> fields;  // of records
  std::vector<std::uint64_t> shape;
  bool fortran = false;
};

// The quoted text of a Python literal that begins at `at`, which then is at its end. Names are for messages
// alone: characters beyond ASCII are replaced.
std::string json_text(std::string_view python, std::size_t& at) {
  std::string out = "\"";
  for (const char quote = python[at]; ++at < python.size() && python[at] != quote;) {
    if (python[at] == '\\' && ++at == python.size()) break;
    const char c = python[at];
    out += c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
  }
  return out + '"';
}

// The dictionary of Python literals that a header is, as JSON. `keys`: how many it has.
std::string as_json(std::string_view python, int& keys) {
  std::string out;
  for (std::size_t at = 0; at < python.size(); ++at) {
    const char c = python[at];
    if (c == '\'' || c == '"') {
      out += json_text(python, at);
    } else if (c == ')' || c == ']' || c == '}') {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      if (!out.empty() && out.back() == ',') out.pop_back();
      out += c == '}' ? '}' : ']';
    } else if (python.substr(at).starts_with("True") || python.substr(at).starts_with("False")) {
      out += c == 'T' ? "true" : "false";
      at += c == 'T' ? 3 : 4;
    } else if (c != 'L' || out.empty() || out.back() < '0' || out.back() > '9') {  // 3L: written by Python 2
      out += c == '(' ? '[' : c;
      keys += c == ':';
    }
  }
  return out;
}

Result<Header> read_header(std::string_view text) {
  const auto broken = [&] { return bad(fmt::format("the header cannot be read: '{}'", shown(text))); };
  int keys = 0;
  const auto json = parse_json(as_json(text, keys), 2 * max_header, 8, "a header");
  if (!json || !json->is_object()) return broken();
  const auto type = json->find("descr"), order = json->find("fortran_order"), shape = json->find("shape");
  if (keys != 3 || type == json->end() || order == json->end() || shape == json->end())
    return bad("the header holds other keys than descr, fortran_order and shape");
  if (!order->is_boolean() || !shape->is_array() || shape->size() > max_dimensions) return broken();
  Header header;
  header.fortran = order->get<bool>();
  for (const auto& extent : *shape) {
    if (!extent.is_number_unsigned()) return broken();
    header.shape.push_back(extent.get<std::uint64_t>());
  }
  if (type->is_string()) {
    header.type = type->get<std::string>();
    return header;
  }
  if (!type->is_array() || type->empty() || type->size() > max_fields) return broken();
  for (const auto& field : *type) {
    const bool known = field.is_array() && field.size() >= 2 && field.size() <= 3;
    if (!known || !field[0].is_string() || !field[1].is_string()) return broken();
    header.fields.push_back({field[0].get<std::string>(), field[1].get<std::string>(), field.size() == 3});
  }
  return header;
}

struct Known {
  std::string_view code, name;
  std::uint64_t bytes;
};
constexpr Known value_types[] = {
    {"f2", "float16", 2}, {"f4", "float32", 4}, {"f8", "float64", 8}, {"i4", "int32", 4}, {"i8", "int64", 8}};
constexpr Known key_types[] = {{"i4", "", 4}, {"i8", "", 8}, {"u4", "", 4}, {"u8", "", 8}};

// The type without its byte order; an error for the wrong one.
Result<std::string_view> code_of(std::string_view type) {
  if (type.starts_with('>'))
    return bad(fmt::format("values of type '{}' are big-endian", shown(type)),
               "save them with .astype(x.dtype.newbyteorder('<'))");
  if (type.starts_with('<') || type.starts_with('=') || type.starts_with('|')) type.remove_prefix(1);
  return type;
}

Result<Known> value_type(std::string_view type) {
  const auto code = code_of(type);
  if (!code) return tl::unexpected(code.error());
  for (const Known& known : value_types)
    if (*code == known.code) return known;
  if (*code == "V2" || *code == "u2")
    return bad(fmt::format("values of type '{}' have no name: bfloat16 has none in .npy files", shown(type)),
               "save them as float32");
  return bad(fmt::format("values of type '{}' are not supported", shown(type)),
             "save them as float16, float32, float64, int32 or int64");
}

Result<void> describe_pairs(const std::vector<Field>& fields, Npy& npy) {
  int named = 0;
  for (const Field& field : fields) {
    if (field.shaped) return bad(fmt::format("field '{}' is an array in each record", shown(field.name)));
    const auto code = code_of(field.type);
    if (!code) return tl::unexpected(code.error());
    if (field.name.empty() && code->starts_with('V')) {  // padding of aligned records
      std::uint64_t bytes = 0;
      const auto [end, error] = std::from_chars(code->data() + 1, code->data() + code->size(), bytes);
      if (error != std::errc() || end != code->data() + code->size() || bytes > 64)
        return bad(fmt::format("padding of type '{}' in a record", shown(field.type)));
      npy.record_bytes += bytes;
      continue;
    }
    if (++named == 1) {
      const auto* key = std::find_if(std::begin(key_types), std::end(key_types),
                                     [&](const Known& known) { return known.code == *code; });
      if (key == std::end(key_types))
        return bad(fmt::format("the first field has type '{}', which is not a key", shown(field.type)),
                   "save records of an integer key of 4 or 8 bytes and a value");
      npy.key_bytes = key->bytes;
      npy.key_signed = key->code[0] == 'i';
      npy.key_at = npy.record_bytes;
      npy.record_bytes += key->bytes;
    } else if (named == 2) {
      const auto value = value_type(field.type);
      if (!value) return tl::unexpected(value.error());
      npy.type = value->name;
      npy.value_bytes = value->bytes;
      npy.value_at = npy.record_bytes;
      npy.record_bytes += value->bytes;
    }
  }
  if (named != 2)
    return bad(fmt::format("records of {} fields are not pairs", named),
               "save records of two fields, a key and a value");
  npy.pairs = true;
  return {};
}

// A key as an index; nullopt for a negative one.
std::optional<std::uint64_t> key_of(const Npy& npy, const std::byte* record) {
  std::uint64_t key = 0;
  std::memcpy(&key, record + npy.key_at, npy.key_bytes);
  if (npy.key_signed && key >> (npy.key_bytes * 8 - 1) != 0) return std::nullopt;
  return key;
}

}  // namespace

Result<Npy> parse_npy(std::span<const std::byte> file) {
  constexpr std::string_view magic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 10 || !text.starts_with(magic))
    return bad("this is not an .npy file",
               "write one with numpy.save(); an .npz is an archive of them: unzip it");
  const int major = std::uint8_t(text[6]), minor = std::uint8_t(text[7]);
  if (major < 1 || major > 3 || minor != 0)
    return bad(fmt::format(".npy version {}.{} is not known", major, minor),
               "save it with version 1.0 to 3.0");
  const std::size_t start = major == 1 ? 10 : 12;
  std::uint64_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | (i < text.size() ? std::uint8_t(text[i]) : 0);
  if (text.size() < start || length > text.size() - start) return bad("the file ends inside its header");
  if (length > max_header) return bad(fmt::format("a header of {} bytes is too long", length));

  const auto header = read_header(text.substr(start, length));
  if (!header) return tl::unexpected(header.error());
  Npy npy;
  npy.shape = header->shape;
  npy.elements = 1;
  for (const std::uint64_t extent : npy.shape)
    if (__builtin_mul_overflow(npy.elements, extent, &npy.elements))
      return bad("the shape holds more values than there can be");
  if (header->fortran && npy.shape.size() > 1)
    return bad("the array is in Fortran order", "save numpy.ascontiguousarray(x)");
  if (!header->fields.empty()) {
    if (const auto described = describe_pairs(header->fields, npy); !described)
      return tl::unexpected(described.error());
    if (npy.shape.size() != 1)
      return bad(fmt::format("key-value pairs of {} dimensions", npy.shape.size()), "save a list of them");
  } else {
    const auto type = value_type(header->type);
    if (!type) return tl::unexpected(type.error());
    npy.type = type->name;
    npy.value_bytes = npy.record_bytes = type->bytes;
  }
  npy.body = file.subspan(start + length);
  std::uint64_t needed = 0;
  if (__builtin_mul_overflow(npy.elements, npy.record_bytes, &needed) || needed != npy.body.size())
    return bad(fmt::format("{} bytes follow the header, but its shape and type need {} x {}", npy.body.size(),
                           npy.elements, npy.record_bytes));
  return npy;
}

Result<std::vector<std::byte>> dense_values(const Npy& npy, std::optional<std::uint64_t> length,
                                            std::uint64_t max_bytes) {
  std::uint64_t values = npy.pairs ? 0 : npy.elements;
  for (std::uint64_t i = 0; npy.pairs && i < npy.elements; ++i) {
    const auto key = key_of(npy, npy.body.data() + i * npy.record_bytes);
    if (!key) return bad(fmt::format("the key of pair {} is negative", i));
    if (length && *key >= *length)
      return bad(fmt::format("pair {} has the key {}, of {} elements", i, *key, *length),
                 "use more elements, or leave the number out");
    if (*key >= max_bytes / npy.value_bytes)
      return bad(fmt::format("pair {} has the key {}, which makes an array of more than {} bytes", i, *key,
                             max_bytes));
    values = std::max(values, *key + 1);
  }
  if (npy.pairs && length) values = *length;
  if (values > max_bytes / npy.value_bytes)
    return bad(fmt::format("{} {} values are more than {} bytes", values, npy.type, max_bytes));
  if (!npy.pairs) return std::vector<std::byte>(npy.body.begin(), npy.body.end());

  std::vector<std::byte> dense(values * npy.value_bytes);
  std::vector<bool> seen(values);
  for (std::uint64_t i = 0; i < npy.elements; ++i) {
    const std::byte* record = npy.body.data() + i * npy.record_bytes;
    const std::uint64_t key = *key_of(npy, record);
    if (seen[key])
      return bad(fmt::format("pair {} has the key {} again", i, key), "add values of the same key first");
    seen[key] = true;
    std::memcpy(&dense[key * npy.value_bytes], record + npy.value_at, npy.value_bytes);
  }
  return dense;
}

}  // namespace ringtrue
