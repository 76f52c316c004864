// The terminal: keys come from it, grids go to it, and it is left as it was found. terminal.cc alone sees
// curses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "tui/frame/grid.h"

namespace ringtrue::tui {

struct TerminalSettings {
  bool colours = true, light = false, mouse = false;
};

class Terminal {
 public:
  // Standard input and output. Errors (unavailable): no terminal, one that is not known, one without a
  // cursor.
  static Result<std::unique_ptr<Terminal>> open(const TerminalSettings& settings);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void put(const Grid& grid);
  // The next key, as keys.h names it, or "Click X Y"; nullopt: none was typed.
  std::optional<std::string> key();
  // Asks the terminal for its size.
  void resized();
  void suspend();
  // What is on it is drawn anew by the next put().
  void resume();
  // Into the clipboard of the one who looks, where the terminal has a way for it (OSC 52).
  void copy(const std::string& text);

 private:
  explicit Terminal(TerminalSettings settings) : settings_(settings) {}
  void choose_colours();
  TerminalSettings settings_;
};

// Of a program that ends in the middle of anything.
void leave_terminal() noexcept;

}  // namespace ringtrue::tui
