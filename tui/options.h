// What `ringtrue tui` hands on, and whoever starts ringtrue-tui by hand says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tui/frame/view.h"

namespace ringtrue::tui {

enum class Colours { automatic, always, never };

struct Options {
  std::vector<std::string> from;
  bool demo = false;
  std::string history, record, replay;
  std::optional<Screen> print;  // a frame as text, instead of the terminal
  std::optional<Size> size;
  std::string at;
  bool ascii = false, mono = false, mouse = false, read_only = false, light = false, insecure = false;
  Colours colours = Colours::automatic;
  std::vector<config::Given> settings;  // of the configuration
  std::string config_file;
  bool help = false, version = false;
};

// Errors (bad_input) name the flag.
Result<Options> read_options(const std::vector<std::string>& words);
// "80x24".
Result<Size> parse_screen_size(std::string_view text);

}  // namespace ringtrue::tui
