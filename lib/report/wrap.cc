#include "report/wrap.h"

#include <algorithm>

#include "report/style.h"

namespace ringtrue::report {
namespace {

void wrap_line(std::string_view line, std::size_t width, std::size_t hang, std::string& out) {
  if (display_width(line) <= width) {
    out += line;
    return;
  }
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::size_t taken = 0;  // columns of the line that is being filled
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t wide = display_width(line.substr(word, end - word));
    if (at > 0 && taken + (word - at) + wide > width) {
      out += '\n';
      out.append(indent + hang, ' ');
      taken = indent + hang;
    } else {
      out.append(word - at, ' ');
      taken += word - at;
    }
    out += line.substr(word, end - word);
    taken += wide;
    at = end;
  }
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width, std::size_t hang) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), width, hang, out);
    if (end == text.npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace ringtrue::report
