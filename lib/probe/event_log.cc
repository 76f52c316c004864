#include "probe/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/file.h"
#include "base/number.h"
#include "topology/counters.h"

namespace ringtrue::probe {
namespace {

constexpr std::int64_t span = 300, hour = 3600, kept = 30 * 24 * hour;
constexpr std::size_t max_recent = 16'384, max_name = 128;

std::int64_t span_of(std::int64_t time) {
  return time - time % span;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

std::string line_of(const run::DeviceEvent& e) {
  return fmt::format("{} {} {} {} {}\n", e.first, e.last, e.device, e.counter, e.count);
}

}  // namespace

bool parse_event(std::string_view line, run::DeviceEvent& event) {
  std::string_view words[5];
  for (std::string_view& word : words) {
    const auto space = &word == &words[4] ? line.npos : line.find(' ');
    word = line.substr(0, space);
    line = space == line.npos ? "" : line.substr(space + 1);
  }
  const auto first = parse_number<std::int64_t>(words[0]), last = parse_number<std::int64_t>(words[1]);
  const auto count = parse_number<std::uint64_t>(words[4]);
  if (!first || !last || !count || *first < 0 || *last < *first || *count == 0 || !is_name(words[2]) ||
      !is_name(words[3]))
    return false;
  event = {*first, *last, std::string(words[2]), std::string(words[3]), *count};
  return true;
}

EventLog::EventLog(std::string folder, std::int64_t now, std::size_t max_file_bytes)
    : folder_(std::move(folder)), max_file_bytes_(max_file_bytes), began_(now), span_(span_of(now)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error || ::access(folder_.c_str(), W_OK) != 0)
    trouble_ = fmt::format("{}: {}", folder_, error ? error.message() : std::strerror(errno));
}

EventLog::~EventLog() {
  write();
}

void EventLog::add(const std::vector<run::CounterChange>& changes, std::int64_t from, std::int64_t to) {
  tick(to);
  for (const run::CounterChange& change : changes) {
    const std::uint64_t by = topology::rise(change);
    if (by == 0 || !is_name(change.device) || !is_name(change.counter)) continue;
    recent_.push_back({from, to, change.device, change.counter, by});
    const auto [it, fresh] = open_.try_emplace({change.device, change.counter}, recent_.back());
    if (fresh) continue;
    it->second.last = to;
    it->second.count += by;
  }
  while (recent_.size() > max_recent) recent_.pop_front();
}

void EventLog::tick(std::int64_t now) {
  began_ = std::min(began_, now);
  // A clock that was set back begins a span anew.
  if (span_of(now) == span_) return;
  write();
  span_ = span_of(now);
  while (!recent_.empty() && recent_.front().last < span_ - hour) recent_.pop_front();
}

void EventLog::write() {
  if (open_.empty()) return;
  std::string text;
  for (const auto& [key, event] : open_) text += line_of(event);
  open_.clear();
  if (folder_.empty()) return;
  const std::string path = folder_ + "/events", older = path + ".1";
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && std::size_t(status.st_size) + text.size() > max_file_bytes_) {
    dropped_ = ::access(older.c_str(), F_OK) == 0;
    ::rename(path.c_str(), older.c_str());
  }
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
  // What a crash or a full disk has cut off ends its own line, not the next one.
  if (file && ::fstat(file.get(), &status) == 0 && status.st_size > 0) {
    char last = '\n';
    const OwnedFd look(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (look && ::pread(look.get(), &last, 1, status.st_size - 1) == 1 && last != '\n')
      text.insert(text.begin(), '\n');
  }
  const bool written = file && ::write(file.get(), text.data(), text.size()) == ssize_t(text.size());
  trouble_ = written ? "" : fmt::format("{}: {}", path, std::strerror(errno));
}

void EventLog::read(const std::string& path, std::int64_t from, std::int64_t before,
                    run::DeviceEvents& into) const {
  const auto text = read_file(path, 2 * max_file_bytes_);
  if (!text) return;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    if (end == rest.npos) return;  // cut off
    run::DeviceEvent event;
    const bool fine = parse_event(rest.substr(0, end), event);
    rest.remove_prefix(end + 1);
    if (!fine) continue;
    into.watched = std::min(into.watched, event.first);
    if (event.last >= from && event.last < before) into.events.push_back(std::move(event));
  }
}

run::DeviceEvents EventLog::since(std::int64_t since, std::int64_t now) const {
  run::DeviceEvents all;
  all.now = now;
  // The files have what was before: of this process whole spans, and what former ones saw.
  const std::int64_t in_memory = std::max(began_, span_ - hour);
  all.watched = dropped_ ? in_memory : began_;
  const std::int64_t from = std::max(since, now - kept);
  if (!folder_.empty() && from < in_memory)
    for (const char* name : {"/events.1", "/events"}) read(folder_ + name, from, in_memory, all);
  for (const run::DeviceEvent& event : recent_)
    if (event.last >= std::max(from, in_memory)) all.events.push_back(event);
  std::ranges::stable_sort(all.events, {}, &run::DeviceEvent::last);
  if (all.events.size() > run::max_device_events) {
    all.events.erase(all.events.begin(), all.events.end() - std::ptrdiff_t(run::max_device_events));
    all.cut = true;
  }
  all.watched = std::max(all.watched, now - kept);
  return all;
}

}  // namespace ringtrue::probe
