#include "metrics/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace ringtrue::metrics {
namespace {

// How many bytes a well-formed character at the beginning has; 0: it is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong, surrogates, beyond the last.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (text[0] == '\\')
      out += "\\\\";
    else if (text[0] == '\n')
      out += "\\n";
    else if (text[0] == '"' && quotes)
      out += "\\\"";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Counts and times in seconds are whole: written so that they can be read.
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

}  // namespace

std::string exposition(const std::vector<Family>& families) {
  std::string out;
  for (const Family& family : families) {
    if (family.samples.empty()) continue;
    out += "# HELP " + family.name + ' ';
    append_escaped(out, family.help, false);
    out += fmt::format("\n# TYPE {} {}\n", family.name, family.kind == Kind::counter ? "counter" : "gauge");
    for (const Sample& sample : family.samples) {
      out += family.name;
      char before = '{';
      for (const auto& [name, value] : sample.labels) {
        out += before + name + "=\"";
        append_escaped(out, value, true);
        out += '"';
        before = ',';
      }
      if (before == ',') out += '}';
      out += ' ' + number(sample.value) + '\n';
    }
  }
  return out;
}

}  // namespace ringtrue::metrics
