#include "base/log.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/text.h"

namespace ringtrue {
namespace {

std::atomic<int> threshold{int(LogLevel::info)};
std::mutex program_mutex;
std::string& program_name() {
  static std::string name;
  return name;
}

// systemd sets JOURNAL_STREAM to the device and inode of the stream that it connected (systemd.exec(5)); a
// stderr that was redirected since is another file.
bool stderr_is_journal() {
  static const bool is = [] {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat s;
    if (stream == nullptr || fstat(STDERR_FILENO, &s) != 0) return false;
    return fmt::format("{}:{}", std::uintmax_t(s.st_dev), std::uintmax_t(s.st_ino)) == stream;
  }();
  return is;
}

std::string_view level_name(LogLevel level) {
  return level == LogLevel::error     ? "error"
         : level == LogLevel::warning ? "warning"
         : level == LogLevel::debug   ? "debug"
                                      : "info";
}

std::string utc_now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts;
  gmtime_r(&now.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1'000'000);
}

}  // namespace

void set_log_level(LogLevel level) {
  threshold = int(level);
}
bool log_enabled(LogLevel level) {
  return int(level) <= threshold;
}

void set_log_program(std::string_view name) {
  const std::lock_guard lock(program_mutex);
  program_name() = name;
}

std::string log_format(LogLevel level, std::string_view message, bool journal) {
  std::string line;
  if (journal) {
    line = fmt::format("<{}>", int(level));
  } else {
    const std::lock_guard lock(program_mutex);
    const std::string& name = program_name();
    line = fmt::format("{} {}{}{}: ", utc_now(), name, name.empty() ? "" : " ", level_name(level));
  }
  line += visible(message) + '\n';
  return line;
}

void log_line(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  const std::string line = log_format(level, message, stderr_is_journal());
  std::size_t at = 0;
  while (at < line.size()) {
    const ssize_t wrote = write(STDERR_FILENO, line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // nobody is left to tell
    at += std::size_t(wrote);
  }
}

}  // namespace ringtrue
