// A screen as cells. Text that goes into it keeps its columns on any terminal and carries nothing that a
// terminal would act upon, whoever made it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/width.h"

namespace ringtrue::tui {

struct Size {
  int width = 80, height = 24;
  bool operator==(const Size&) const = default;
};

// What a cell means; the terminal has a colour for it, or none. heat is followed by its steps, from bad to
// good.
enum class Paint : std::uint8_t { plain, dim, bold, title, good, warning, bad, unknown, accent, heat };
inline constexpr int heat_steps = 8;
constexpr Paint heat_of(int step) {
  return Paint(int(Paint::heat) + (step < 0 ? 0 : step >= heat_steps ? heat_steps - 1 : step));
}

struct Cell {
  std::string text = " ";  // one character and its marks; empty: the right half of a wide one
  Paint paint = Paint::plain;
  bool reversed = false;  // what is chosen
  bool operator==(const Cell&) const = default;
};

// What the terminal can show.
struct Letters {
  bool utf8 = true;
  Ambiguous ambiguous = Ambiguous::narrow;

  // Whether lines, blocks and ellipses may be used: they are of ambiguous width.
  bool symbols() const { return utf8 && ambiguous == Ambiguous::narrow; }
  std::string_view cut() const { return symbols() ? "…" : "~"; }
};

// The text as cells show it: characters that are hidden, direct text, or are taken for one and for two
// columns by different terminals are replaced.
std::string shown(std::string_view text, const Letters& letters);
// At most `columns` of what shown() gives, with a mark at its end where something was cut off.
std::string fitted(std::string_view shown_text, int columns, const Letters& letters);
// The same of its end, with the mark before it.
std::string fitted_end(std::string_view shown_text, int columns, const Letters& letters);
// The same of a name, with the mark in its middle: hosts differ at the end, "gpu-eu…-node03", or before a
// domain.
std::string fitted_name(std::string_view shown_text, int columns, const Letters& letters);
// In lines of at most `columns`, broken at blanks where there are any.
std::vector<std::string> wrapped(std::string_view text, int columns, const Letters& letters);

class Grid {
 public:
  explicit Grid(Size size, Letters letters = {});

  Size size() const { return size_; }
  const Letters& letters() const { return letters_; }
  const Cell& at(int x, int y) const { return cells_[index(x, y)]; }

  // Within `room` columns and the grid; what does not fit is cut off, with a mark. Places outside are no
  // mistake. The columns that were taken.
  int put(int x, int y, std::string_view text, Paint paint = Paint::plain, int room = -1);
  void put_right(int x, int y, int room, std::string_view text, Paint paint = Paint::plain);
  // Marks cells as chosen.
  void reverse(int x, int y, int width);
  // Blanks.
  void clear(int x, int y, int width, int height);
  void dim();

  std::string row(int y) const;  // without blanks at its end
  std::string text() const;      // all rows, each with a newline

 private:
  std::size_t index(int x, int y) const { return std::size_t(y) * std::size_t(size_.width) + std::size_t(x); }
  void set(int x, int y, std::string text, Paint paint);

  Size size_;
  Letters letters_;
  std::vector<Cell> cells_;
};

}  // namespace ringtrue::tui
