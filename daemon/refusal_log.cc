#include "daemon/refusal_log.h"

#include <map>
#include <mutex>

#include "base/clock.h"

namespace ringtrue::daemon {

bool may_log_refusal(const std::string& source_key) {
  static std::mutex mutex;
  static std::int64_t begun = 0;
  static int lines = 0;
  static std::uint64_t kept_back = 0;
  static std::map<std::string, int> of_source;  // at most max_lines entries

  const std::lock_guard lock(mutex);
  if (begun == 0 || seconds_since(begun) > lines_window) {
    if (kept_back > 0) log_warn("refused or dropped {} more clients, not logged one by one", kept_back);
    begun = now_ns();
    lines = 0;
    kept_back = 0;
    of_source.clear();
  }
  if (lines < max_lines && of_source[source_key] < max_lines_of_source) {
    ++lines;
    ++of_source[source_key];
    return true;
  }
  if (of_source.size() > std::size_t(max_lines)) of_source.erase(source_key);
  ++kept_back;
  return false;
}

}  // namespace ringtrue::daemon
