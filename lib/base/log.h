// One line a message on standard error, from any thread. Under systemd the lines carry the journal's priority
// ("<3>") and no time, which the journal keeps itself; elsewhere they start with the UTC time.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace ringtrue {

enum class LogLevel { error = 3, warning = 4, info = 6, debug = 7 };  // syslog's numbers

// Messages above this level are dropped. Initially info.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
// "ringtrued" and so on, shown in each line; initially empty.
void set_log_program(std::string_view name);

// Writes one line with a single write(2); control characters, newlines among them, become blanks.
void log_line(LogLevel level, std::string_view message);

// The line as log_line writes it, for tests: `journal` chooses the form.
std::string log_format(LogLevel level, std::string_view message, bool journal);

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::error))
    log_line(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::warning)) {
    log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::info)) log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::debug))
    log_line(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ringtrue
