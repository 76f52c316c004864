// One line on standard error that is written over and over, where standard error is a terminal.
#pragma once

#include <string_view>

namespace ringtrue::cmd {

// Off by default. From any thread.
void allow_progress(bool on);
void show_progress(std::string_view text);
void clear_progress();

}  // namespace ringtrue::cmd
