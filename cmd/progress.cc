#include "cmd/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>
#include <string>

namespace ringtrue::cmd {
namespace {

std::mutex mutex;
bool allowed = false;
bool shown = false;

void put(const std::string& text) {
  // A line of progress that is lost costs nothing.
  [[maybe_unused]] const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void allow_progress(bool on) {
  const std::lock_guard lock(mutex);
  allowed = on && isatty(STDERR_FILENO) == 1;
}

void show_progress(std::string_view text) {
  const std::lock_guard lock(mutex);
  if (!allowed) return;
  winsize size{};
  std::size_t width = 79;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) width = size.ws_col - 1u;
  put("\r\x1b[K" + std::string(text.substr(0, width)));
  shown = true;
}

void clear_progress() {
  const std::lock_guard lock(mutex);
  if (!shown) return;
  put("\r\x1b[K");
  shown = false;
}

}  // namespace ringtrue::cmd
