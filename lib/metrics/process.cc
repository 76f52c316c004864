#include "metrics/process.h"

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

namespace ringtrue::metrics {
namespace {

std::optional<double> seconds_of(clockid_t clock) {
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return {};
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

std::optional<double> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  if (!(file >> all >> resident)) return {};
  return resident * double(::sysconf(_SC_PAGESIZE));
}

std::optional<double> open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return {};
  // Without the one that lists them.
  return double(std::distance(begin(files), end(files)) - 1);
}

// Since 1970: the time since the machine's start is in the 22nd field, the second of which may hold blanks.
// Read once, or the clock's corrections would move it.
std::optional<double> started() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t after_name = line.rfind(')');
  if (after_name == line.npos) return {};
  std::size_t at = after_name + 1;
  for (int field = 3; field < 22 && at != line.npos; ++field) at = line.find(' ', at + 1);
  const auto now = seconds_of(CLOCK_REALTIME), running = seconds_of(CLOCK_BOOTTIME);
  if (at == line.npos || !now || !running) return {};
  return *now - *running + std::strtod(line.c_str() + at, nullptr) / double(::sysconf(_SC_CLK_TCK));
}

Family one(const char* name, const char* help, Kind kind, const std::optional<double>& value) {
  Family family{name, help, kind};
  family.add({}, value);
  return family;
}

}  // namespace

std::vector<Family> process_families() {
  static const std::optional<double> since = started();
  return {
      one("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", Kind::counter,
          seconds_of(CLOCK_PROCESS_CPUTIME_ID)),
      one("process_resident_memory_bytes", "Resident memory size in bytes.", Kind::gauge, resident_bytes()),
      one("process_open_fds", "Number of open file descriptors.", Kind::gauge, open_files()),
      one("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", Kind::gauge,
          since)};
}

}  // namespace ringtrue::metrics
