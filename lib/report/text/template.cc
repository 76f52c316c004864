#include "report/text/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/plural.h"
#include "base/units.h"
#include "topology/counters.h"

namespace ringtrue::report {
namespace {

using diagnosis::Quantity;
using diagnosis::Statement;

// What is between braces.
struct Field {
  char sign = 0;  // '#', '?', '!' or none
  std::string_view name, format;

  explicit Field(std::string_view text) {
    if (text.starts_with('#') || text.starts_with('?') || text.starts_with('!')) {
      sign = text[0];
      text.remove_prefix(1);
    }
    const auto colon = text.find(':');
    name = text.substr(0, colon);
    if (colon != text.npos) format = text.substr(colon + 1);
  }
};

Quantity value_of(const Statement& s, std::string_view name) {
  const auto at = std::ranges::find(s.values, name, &Quantity::name);
  if (at != s.values.end()) return *at;
  const bool first = name == "0" || name == "device";
  if (s.subjects.size() > (first ? 0 : 1) && (first || name == "1")) {
    const Subject& subject = s.subjects[first ? 0 : 1];
    return {name, name == "device" ? subject.device : subject.node};
  }
  return {name, name == "text" ? s.text : std::string()};
}

bool is_set(const Quantity& q) {
  const auto* number = std::get_if<double>(&q.value);
  const auto* count = std::get_if<std::uint64_t>(&q.value);
  return number ? *number != 0 : count ? *count != 0 : q.known();
}

double number_of(const Quantity& q) {
  const auto* count = std::get_if<std::uint64_t>(&q.value);
  const auto* number = std::get_if<double>(&q.value);
  return count ? double(*count) : number ? *number : 0;
}

// "8 MiB"
std::string size_text(double bytes) {
  std::string text = to_text(Bytes(std::uint64_t(bytes)));
  const char unit = text.back();
  if (unit < 'A') return text + " bytes";
  text.pop_back();
  return fmt::format("{} {}iB", text, unit);
}

std::string number_text(const Quantity& q, std::string_view format) {
  const double value = number_of(q);
  if (format == "time") return to_text(Seconds(value));
  if (format == "GiB") return fmt::format("{:.1f} GiB", value / (1 << 30));
  if (format == "hex") return fmt::format("{:#x}", std::uint64_t(value));
  if (!format.empty()) return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)), value);
  if (q.name.ends_with("_Bps")) return to_text(BytesPerSecond(value));
  if (q.name.ends_with("_bytes")) return size_text(value);
  if (q.name.ends_with("_s")) return fmt::format("{:.1f} us", value * 1e6);
  if (q.name.ends_with("_share")) return fmt::format("{:.1f} %", value * 100);
  if (q.name.ends_with("_percent")) return fmt::format("{:.2g} %", value);
  if (const auto* count = std::get_if<std::uint64_t>(&q.value)) return fmt::format("{}", *count);
  return fmt::format("{:.0f}", value);
}

std::string text_of(const Statement& s, const Field& field) {
  if (field.sign == '?' || field.sign == '!') return {};
  const Quantity q = value_of(s, field.name);
  if (field.sign == '#' && q.known()) {
    const auto count = std::uint64_t(number_of(q));
    if (field.format.empty()) return plural(count, field.name.substr(0, field.name.size() - 1));
    const auto slash = field.format.find('/');
    const bool regular = slash == field.format.npos;
    return plural(count, field.format.substr(0, slash), regular ? "" : field.format.substr(slash + 1));
  }
  if (const auto* text = std::get_if<std::string>(&q.value)) {
    if (field.format != "words") return *text;
    return field.name == "device" ? topology::device_words(*text) : topology::counter_words(*text);
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&q.value)) {
    std::size_t max = 8;
    std::from_chars(field.format.data(), field.format.data() + field.format.size(), max);
    return listed(*list, max);
  }
  if (q.known()) return number_text(q, field.format);
  return field.name.size() == 1 || field.name == "text" ? "" : "unknown";
}

// Whether all is known that stands outside of brackets.
bool complete(const Statement& s, std::string_view words) {
  for (std::size_t at = 0; (at = words.find_first_of("{[", at)) != words.npos;) {
    const auto end = words.find(words[at] == '{' ? '}' : ']', at);
    if (words[at] == '{') {
      const Field field(words.substr(at + 1, end - at - 1));
      const Quantity q = value_of(s, field.name);
      if (field.sign == '?' ? !is_set(q) : field.sign == '!' ? is_set(q) : !q.known()) return false;
    }
    at = end;
  }
  return true;
}

}  // namespace

std::string fill(const Statement& s, std::string_view words) {
  std::string out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] != '{' && words[at] != '[') {
      out += words[at];
      continue;
    }
    const bool optional = words[at] == '[';
    const auto end = words.find(optional ? ']' : '}', at);
    const auto part = words.substr(at + 1, end - at - 1);
    if (!optional)
      out += text_of(s, Field(part));
    else if (complete(s, part))
      out += fill(s, part);
    at = end;
  }
  return out;
}

std::string fill_first(const Statement& s, std::string_view alternatives) {
  while (!alternatives.empty()) {
    const auto one = alternatives.substr(0, alternatives.find('|'));
    if (complete(s, one)) return fill(s, one);
    alternatives.remove_prefix(std::min(alternatives.size(), one.size() + 1));
  }
  return {};
}

}  // namespace ringtrue::report
