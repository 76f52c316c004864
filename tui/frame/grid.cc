#include "tui/frame/grid.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace ringtrue::tui {
namespace {

constexpr int marks_at_most = 2;  // of a cell; names made of marks are no names

// Written from right to left, so that a terminal may show columns beside it in another order; selectors and
// halves of flags, of which terminals differ in how many columns they take.
bool unsteady(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> ranges[] = {
      {0x590, 0x8ff},     {0xfb1d, 0xfdff},   {0xfe00, 0xfe0f},   {0xfe70, 0xfefe},  {0x10800, 0x10fff},
      {0x1e800, 0x1efff}, {0x1f1e6, 0x1f1ff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef}};
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const auto& r) { return code >= r.first && code <= r.second; });
}

}  // namespace

std::string shown(std::string_view text, const Letters& letters) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (ascii) return std::string(text);
  const std::string seen = visible(text);
  std::string out;
  int marks = 0;
  bool base = false;
  for (std::string_view rest = seen; !rest.empty();) {
    const Character c = first_character(rest);
    const int columns = columns_of(c.code, letters.ambiguous);
    const bool mark = columns == 0;
    marks = mark ? marks + 1 : 0;
    if (mark && (!letters.utf8 || !base || marks > marks_at_most || unsteady(c.code))) {
      // Left out.
    } else if (c.code >= 0x80 && (!letters.utf8 || unsteady(c.code))) {
      out += '?';
    } else {
      out += rest.substr(0, c.bytes);
    }
    base = base || !mark;
    rest.remove_prefix(c.bytes);
  }
  return out;
}

std::string fitted(std::string_view text, int columns, const Letters& letters) {
  if (columns <= 0) return {};
  if (columns_of(text, letters.ambiguous) <= std::size_t(columns)) return std::string(text);
  std::string out;
  for (int taken = 0; !text.empty();) {
    const Character c = first_character(text);
    const int more = columns_of(c.code, letters.ambiguous);
    if (taken + more > columns - 1) break;
    taken += more;
    out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out += letters.cut();
}

std::string fitted_end(std::string_view text, int columns, const Letters& letters) {
  if (columns <= 0) return {};
  auto width = int(columns_of(text, letters.ambiguous));
  if (width <= columns) return std::string(text);
  // Marks without a column stay with the character before them.
  while (!text.empty()) {
    const Character c = first_character(text);
    const int own = columns_of(c.code, letters.ambiguous);
    if (width <= columns - 1 && own > 0) break;
    width -= own;
    text.remove_prefix(c.bytes);
  }
  return std::string(letters.cut()) + std::string(text);
}

std::string fitted_name(std::string_view text, int columns, const Letters& letters) {
  constexpr int least = 8;  // below it halves say nothing
  if (columns < least || columns_of(text, letters.ambiguous) <= std::size_t(columns))
    return fitted(text, columns, letters);
  std::size_t bytes = 0;
  for (int taken = 0;;) {
    const Character c = first_character(text.substr(bytes));
    const int more = columns_of(c.code, letters.ambiguous);
    if (taken + more > (columns - 1) / 2)
      return std::string(text.substr(0, bytes)) + fitted_end(text.substr(bytes), columns - taken, letters);
    taken += more;
    bytes += c.bytes;
  }
}

std::vector<std::string> wrapped(std::string_view text, int columns, const Letters& letters) {
  const std::string seen = shown(text, letters);
  const auto width = [&](std::string_view t) { return int(columns_of(t, letters.ambiguous)); };
  std::vector<std::string> lines;
  std::string line;
  columns = std::max(columns, 2);
  for (std::string_view rest = seen; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, end);
    if (!line.empty() && width(line) + 1 + width(word) > columns) lines.push_back(std::exchange(line, {}));
    if (!line.empty()) line += ' ';
    while (width(word) > columns) {  // longer than a line: cut where it has to be
      std::size_t bytes = 0;
      for (int taken = 0; bytes < word.size();) {
        const Character c = first_character(word.substr(bytes));
        taken += columns_of(c.code, letters.ambiguous);
        if (taken > columns) break;
        bytes += c.bytes;
      }
      lines.emplace_back(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    line += word;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

Grid::Grid(Size size, Letters letters)
    : size_{std::max(size.width, 0), std::max(size.height, 0)},
      letters_(letters),
      cells_(std::size_t(size_.width) * std::size_t(size_.height)) {}

// What it covers a half of is not there any more.
void Grid::set(int x, int y, std::string text, Paint paint) {
  Cell& cell = cells_[index(x, y)];
  if (cell.text.empty() && x > 0) cells_[index(x - 1, y)].text.assign(1, ' ');
  if (x + 1 < size_.width && cells_[index(x + 1, y)].text.empty())
    cells_[index(x + 1, y)].text.assign(1, ' ');
  cell = {std::move(text), paint, cell.reversed};
}

int Grid::put(int x, int y, std::string_view text, Paint paint, int room) {
  if (y < 0 || y >= size_.height || x < 0 || x >= size_.width) return 0;
  const int most = room < 0 ? size_.width - x : std::min(room, size_.width - x);
  const std::string fit = fitted(shown(text, letters_), most, letters_);
  int at = x, last = -1;
  for (std::string_view rest = fit; !rest.empty();) {
    const Character c = first_character(rest);
    const int columns = columns_of(c.code, letters_.ambiguous);
    if (columns == 0) {
      if (last >= 0) cells_[index(last, y)].text += rest.substr(0, c.bytes);
    } else {
      if (columns == 2) set(at + 1, y, " ", paint);
      set(at, y, std::string(rest.substr(0, c.bytes)), paint);
      if (columns == 2) cells_[index(at + 1, y)].text.clear();
      last = at;
      at += columns;
    }
    rest.remove_prefix(c.bytes);
  }
  return at - x;
}

void Grid::put_right(int x, int y, int room, std::string_view text, Paint paint) {
  const std::string fit = fitted(shown(text, letters_), room, letters_);
  put(x + room - int(columns_of(fit, letters_.ambiguous)), y, fit, paint, room);
}

void Grid::reverse(int x, int y, int width) {
  if (y < 0 || y >= size_.height) return;
  for (int i = std::max(x, 0); i < std::min(x + width, size_.width); ++i) cells_[index(i, y)].reversed = true;
}

void Grid::clear(int x, int y, int width, int height) {
  for (int j = std::max(y, 0); j < std::min(y + height, size_.height); ++j)
    for (int i = std::max(x, 0); i < std::min(x + width, size_.width); ++i) {
      set(i, j, " ", Paint::plain);
      cells_[index(i, j)].reversed = false;
    }
}

void Grid::dim() {
  for (Cell& cell : cells_) cell.paint = Paint::dim;
}

std::string Grid::row(int y) const {
  std::string out;
  for (int x = 0; x < size_.width; ++x) out += at(x, y).text;
  out.resize(out.find_last_not_of(' ') + 1);
  return out;
}

std::string Grid::text() const {
  std::string out;
  for (int y = 0; y < size_.height; ++y) out += row(y) + '\n';
  return out;
}

}  // namespace ringtrue::tui
