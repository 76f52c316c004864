#include "daemon/inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "probe/live.h"
#include "probe/recording.h"

namespace ringtrue::daemon {
namespace {

constexpr std::ptrdiff_t max_windows = 8;  // readings that take so long as their askers chose
constexpr std::size_t max_askers = 64;     // of one reading

}  // namespace

Inspector::Inspector(Read read) : read_(std::move(read)) {}

Inspector::~Inspector() {
  stop();
}

void Inspector::ask(const Request& request, Told told) {
  Result<void> asked;
  {
    const std::lock_guard lock(mutex_);
    finished_.clear();
    asked = join_or_begin(request, told);
  }
  if (!asked) told(tl::unexpected(asked.error()));
}

Result<void> Inspector::join_or_begin(const Request& request, Told& told) {
  const auto same = find(request);
  const auto windows =
      std::ranges::count_if(readings_, [](const Reading& r) { return r.request.window.value > 0; });
  if (stopping_) return fail(Cause::cancelled, "the daemon is stopping");
  if (same != readings_.end() ? same->askers.size() >= max_askers
                              : request.window.value > 0 && windows >= max_windows) {
    return fail(Cause::refused, "too many ask what is in this node at once", "", "try again in a moment");
  }
  if (same != readings_.end()) {
    same->askers.push_back(std::move(told));
    return {};
  }
  std::jthread thread;
  try {
    thread = std::jthread([this, request](const std::stop_token& stop) { serve(stop, request); });
  } catch (const std::system_error& e) {
    return fail(Cause::unavailable, fmt::format("no thread to read this node: {}", e.what()), "",
                "try again in a moment");
  }
  readings_.push_back({request, {}, std::move(thread)});
  readings_.back().askers.push_back(std::move(told));
  return {};
}

void Inspector::serve(const std::stop_token& stop, const Request& request) {
  const Answer answer = read_(request, stop).map(probe::write_recording);
  // Under the lock, so that nobody is told after stop() has returned.
  const std::lock_guard lock(mutex_);
  const auto mine = find(request);
  if (mine == readings_.end()) return;  // stopped
  if (!answer) log_warn("this node could not be read: {}", answer.error().text());
  for (const Told& told : mine->askers) told(answer);
  finished_.push_back(std::move(mine->thread));
  readings_.erase(mine);
}

std::list<Inspector::Reading>::iterator Inspector::find(const Request& request) {
  return std::ranges::find(readings_, request, &Reading::request);
}

void Inspector::stop() {
  std::list<Reading> ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ended.swap(readings_);
    for (Reading& reading : ended) {
      reading.thread.request_stop();
      for (const Told& told : reading.askers) told(fail(Cause::cancelled, "the daemon is stopping"));
    }
  }
  ended.clear();
  finished_.clear();
}

Inspector::Read read_node(std::string node) {
  return [node = std::move(node)](const Inspector::Request& request, const std::stop_token& stop) {
    probe::LiveOptions options;
    options.wake_gpus = request.wake_gpus;
    return probe::read_this_machine(options, node, request.window, stop);
  };
}

}  // namespace ringtrue::daemon
