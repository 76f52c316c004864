#include "report/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/width.h"

namespace ringtrue::report {

bool rewrites_lines(int fd) {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb" && isatty(fd) == 1;
}

bool colour_allowed(Color color, int fd) {
  if (color != Color::automatic) return color == Color::always;
  const char* no = std::getenv("NO_COLOR");
  if (no != nullptr && *no != '\0') return false;
  return rewrites_lines(fd);
}

std::size_t text_width(int fd) {
  constexpr std::size_t min = 20, max = 1000;  // wider is a mistake
  std::size_t width = 0;
  const char* said = std::getenv("COLUMNS");
  const std::string_view text = said == nullptr ? "" : said;
  winsize size{};
  if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
      error != std::errc() || end != text.data() + text.size())
    width = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  return width == 0 ? usual_width : std::clamp(width, min, max);
}

std::string Style::fit(std::string_view prose, std::size_t hang) const {
  return width == 0 ? std::string(prose) : wrap(prose, width, hang);
}

std::string Style::paint(std::string_view text, Ink ink) const {
  if (!colour || ink == Ink::plain || text.empty()) return std::string(text);
  static constexpr std::string_view codes[] = {"0", "1", "2", "31", "33", "32", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[int(ink)], text);
}

std::string Style::heat(std::string_view text, double share, double warning, double critical) const {
  if (!colour || !std::isfinite(share)) return std::string(text);
  // Colours of the 256-colour cube, 16 + 36 r + 6 g + b: red below half of critical, yellow between the
  // thresholds, greens above the warning.
  int r = 0, g = 5;
  if (share < critical) {
    r = 5;
    g = std::clamp(int(3 * share / critical), 0, 2);
  } else if (share < warning) {
    r = 5, g = 4;
  } else {
    r = share < 1 ? 2 : 1;
  }
  return fmt::format("\x1b[48;5;{}m\x1b[38;5;16m{}\x1b[0m", 16 + 36 * r + 6 * g + (r < 5 ? 1 : 0), text);
}

std::size_t display_width(std::string_view text) {
  return columns_of(text);
}

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
