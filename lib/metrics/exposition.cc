#include "metrics/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/width.h"

namespace ringtrue::metrics {
namespace {

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.valid)
      out += "\xef\xbf\xbd";
    else if (text[0] == '\\')
      out += "\\\\";
    else if (text[0] == '\n')
      out += "\\n";
    else if (text[0] == '"' && quotes)
      out += "\\\"";
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
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
