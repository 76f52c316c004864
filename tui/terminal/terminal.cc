#include "tui/terminal/terminal.h"

#include <curses.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cwchar>
#include <string_view>

#include "base/environment.h"
#include "base/number.h"
#include "tui/terminal/colours.h"
// term.h has these words as macros.
#undef columns
#undef lines

namespace ringtrue::tui {
namespace {

constexpr int paints = int(Paint::heat) + heat_steps;
bool drawing = false;

Size asked_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {std::min<int>(size.ws_col, 1000), std::min<int>(size.ws_row, 1000)};
  // A terminal that does not know says 0.
  const auto columns = parse_number<int>(environment("COLUMNS")),
             lines = parse_number<int>(environment("LINES"));
  return {columns && *columns > 0 ? std::min(*columns, 1000) : 80,
          lines && *lines > 0 ? std::min(*lines, 1000) : 24};
}

tl::unexpected<Error> no_terminal(const std::string& what, const std::string& next) {
  return fail(Cause::unavailable, what, {}, next);
}

const char* name_of(wint_t code) {
  switch (code) {
    case KEY_UP:
      return "Up";
    case KEY_DOWN:
      return "Down";
    case KEY_LEFT:
      return "Left";
    case KEY_RIGHT:
      return "Right";
    case KEY_PPAGE:
      return "PgUp";
    case KEY_NPAGE:
      return "PgDn";
    case KEY_HOME:
      return "Home";
    case KEY_END:
      return "End";
    case KEY_ENTER:
      return "Enter";
    case KEY_BTAB:
      return "S-Tab";
    case KEY_BACKSPACE:
      return "Bksp";
    case KEY_DC:
      return "Del";
    case KEY_F(1):
      return "F1";
    case KEY_F(5):
      return "F5";
    default:
      return nullptr;
  }
}

const char* name_of_control(wint_t c) {
  switch (c) {
    case '\r':
    case '\n':
      return "Enter";
    case '\t':
      return "Tab";
    case 27:
      return "Esc";
    case ' ':
      return "Space";
    case 8:
    case 127:
      return "Bksp";
    case 12:
      return "C-l";
    case 21:
      return "C-u";
    case 4:
      return "C-d";
    default:
      return nullptr;
  }
}

std::string utf8(wint_t c) {
  char bytes[16];
  std::mbstate_t state{};
  const std::size_t count = std::wcrtomb(bytes, wchar_t(c), &state);
  return count == std::size_t(-1) ? std::string() : std::string(bytes, count);
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open(const TerminalSettings& settings) {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
    return no_terminal("standard input and output are no terminal", "--print SCREEN prints a screen as text");
  const std::string term(environment("TERM"));
  if (term.empty())
    return no_terminal("TERM is not set", "set it to what the terminal is, such as TERM=xterm-256color");
  int error = 0;
  if (setupterm(term.c_str(), STDOUT_FILENO, &error) != OK)
    return no_terminal("no terminal is known as TERM=" + term,
                       "set TERM=xterm-256color, or install ncurses-term");
  const bool able = cursor_address != nullptr && clear_screen != nullptr;
  del_curterm(cur_term);  // newterm reads the entry again
  if (!able)
    return no_terminal("TERM=" + term + " cannot move a cursor",
                       "set TERM=xterm-256color, or use --print SCREEN");
  const Size size = asked_size();
  if (newterm(nullptr, stdout, stdin) == nullptr)
    return no_terminal("TERM=" + term + " cannot be used", "set TERM=xterm-256color");
  std::unique_ptr<Terminal> out(new Terminal(settings));
  drawing = true;
  resizeterm(size.height, size.width);  // whatever curses made of LINES and COLUMNS
  cbreak();
  noecho();
  nonl();
  intrflush(stdscr, FALSE);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(25);
  curs_set(0);
  if (settings.mouse)
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr), mouseinterval(0);
  out->choose_colours();
  return out;
}

Terminal::~Terminal() {
  leave_terminal();
}

void leave_terminal() noexcept {
  if (!drawing) return;
  drawing = false;
  endwin();
}

void Terminal::choose_colours() {
  settings_.colours = settings_.colours && has_colors() && start_color() == OK && COLORS >= 8;
  if (!settings_.colours) return;
  use_default_colors();
  for (int paint = 0; paint < paints; ++paint) {
    const Colour c = colour_of(Paint(paint), COLORS, settings_.light);
    init_pair(short(paint + 1), short(c.foreground), short(c.background));
  }
}

Size Terminal::size() const {
  return {COLS, LINES};
}

void Terminal::put(const Grid& grid) {
  const int width = std::min(grid.size().width, COLS), height = std::min(grid.size().height, LINES);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const Cell& cell = grid.at(x, y);
      if (cell.text.empty()) continue;  // the one before is wide
      const int columns = x + 1 < grid.size().width && grid.at(x + 1, y).text.empty() ? 2 : 1;
      wchar_t letters[CCHARW_MAX + 1] = {};
      std::mbstate_t state{};
      const char* from = cell.text.c_str();
      std::size_t count = std::mbsrtowcs(letters, &from, CCHARW_MAX, &state);
      const Colour c = colour_of(cell.paint, settings_.colours ? COLORS : 0, settings_.light);
      attr_t attributes = cell.reversed ? A_REVERSE : A_NORMAL;
      if (c.bold) attributes |= A_BOLD;
      if (c.dim) attributes |= A_DIM;
      const short pair = settings_.colours ? short(int(cell.paint) + 1) : short(0);
      // What this system's tables take for another width than ours would move all that follows.
      const bool agreed = count != std::size_t(-1) && count > 0 && wcwidth(letters[0]) == columns;
      for (int i = 0; i < (agreed ? 1 : columns); ++i) {
        if (!agreed) letters[0] = L'?', letters[1] = 0;
        cchar_t shown;
        setcchar(&shown, letters, attributes, pair, nullptr);
        mvadd_wch(y, x + i, &shown);
      }
    }
  refresh();
}

std::optional<std::string> Terminal::key() {
  wint_t code = 0;
  const int kind = get_wch(&code);
  if (kind == ERR) return std::nullopt;
  if (kind == KEY_CODE_YES && code == KEY_MOUSE) {
    MEVENT event;
    if (getmouse(&event) != OK) return "";
    if (event.bstate & BUTTON4_PRESSED) return "Up";
    if (event.bstate & BUTTON5_PRESSED) return "Down";
    return "Click " + std::to_string(event.x) + " " + std::to_string(event.y);
  }
  const char* const name = kind == KEY_CODE_YES ? name_of(code) : name_of_control(code);
  if (name != nullptr) return name;
  return kind == KEY_CODE_YES || code < ' ' ? std::string() : utf8(code);
}

void Terminal::resized() {
  const Size size = asked_size();
  if (size == this->size()) return;
  resizeterm(size.height, size.width);
  wclear(stdscr);
}

void Terminal::suspend() {
  endwin();
}

void Terminal::resume() {
  resized();
  clearok(stdscr, TRUE);
  refresh();
}

void Terminal::copy(const std::string& text) {
  const std::string term = environment("TERM");
  constexpr std::string_view able[] = {"xterm", "tmux",  "screen",  "rxvt", "alacritty",
                                       "foot",  "kitty", "wezterm", "st-"};
  if (std::none_of(std::begin(able), std::end(able),
                   [&](std::string_view name) { return term.starts_with(name); }))
    return;
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "\x1b]52;c;";
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < text.size() ? std::uint8_t(text[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > text.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  out += '\a';
  (void)!write(STDOUT_FILENO, out.data(), out.size());
}

}  // namespace ringtrue::tui
