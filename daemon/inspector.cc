#include "daemon/inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/client_limits.h"
#include "probe/live.h"
#include "probe/recording.h"

namespace ringtrue::daemon {
Inspector::Inspector(Read read) : read_(std::move(read)) {}

Inspector::~Inspector() {
  stop();
}

Inspector::Ticket Inspector::ask(const Request& request, const std::string& who, Told told) {
  Result<void> asked;
  Asker asker{0, who, std::move(told)};
  {
    const std::lock_guard lock(mutex_);
    finished_.clear();
    asker.ticket = ++last_ticket_;
    const Ticket ticket = asker.ticket;
    asked = join_or_begin(request, asker);
    if (asked) return ticket;
  }
  asker.told(tl::unexpected(asked.error()));
  return 0;
}

// A bucket for each identity, which fills up with time.
Result<void> Inspector::charge(const std::string& who) {
  const std::int64_t now = now_ns();
  const auto refill = [&](Account& account) {
    const double seconds = double(now - account.at) * 1e-9;
    account.left =
        std::min<double>(max_inspections_in_a_row, account.left + seconds / inspection_pause.value);
    account.at = now;
  };
  for (auto& [name, account] : accounts_) refill(account);
  std::erase_if(accounts_, [](const auto& known) {
    return known.second.waiting == 0 && known.second.left >= max_inspections_in_a_row;
  });
  Account& account = accounts_.try_emplace(who, Account{max_inspections_in_a_row, now, 0}).first->second;
  if (account.waiting >= max_inspections_of_identity)
    return fail(Cause::refused,
                fmt::format("{} waits for {} readings of this node already", who, account.waiting), "",
                "wait for them, or end them");
  if (account.left < 1)
    return fail(Cause::refused, fmt::format("{} asks too often what is in this node", who), "",
                fmt::format("ask every {} at most", to_text(inspection_pause)));
  account.left -= 1;
  ++account.waiting;
  return {};
}

Result<void> Inspector::join_or_begin(const Request& request, Asker& asker) {
  const auto same = std::ranges::find_if(
      readings_, [&](const Reading& r) { return !r.askers.empty() && r.request == request; });
  const auto windows = std::size_t(
      std::ranges::count_if(readings_, [](const Reading& r) { return r.request.window.value > 0; }));
  if (stopping_) return fail(Cause::cancelled, "the daemon is stopping");
  if (same != readings_.end()
          ? same->askers.size() >= max_askers
          : readings_.size() >= max_readings || (request.window.value > 0 && windows >= max_windows)) {
    return fail(Cause::refused, "too many ask what is in this node at once", "", "try again in a moment");
  }
  if (auto may = charge(asker.who); !may) return may;
  if (same != readings_.end()) {
    same->askers.push_back(std::move(asker));
    return {};
  }
  const Ticket id = asker.ticket;
  std::jthread thread;
  try {
    thread = std::jthread([this, id, request](const std::stop_token& stop) { serve(stop, id, request); });
  } catch (const std::system_error& e) {
    --accounts_[asker.who].waiting;
    return fail(Cause::unavailable, fmt::format("no thread to read this node: {}", e.what()), "",
                "try again in a moment");
  }
  readings_.push_back({id, request, {}, std::move(thread)});
  readings_.back().askers.push_back(std::move(asker));
  return {};
}

void Inspector::tell(const Asker& asker, const Answer& answer) {
  --accounts_[asker.who].waiting;
  asker.told(answer);
}

void Inspector::serve(const std::stop_token& stop, Ticket id, const Request& request) {
  const Answer answer = read_(request, stop).map(probe::write_recording);
  // Under the lock, so that nobody is told after stop() has returned.
  const std::lock_guard lock(mutex_);
  const auto mine = std::ranges::find(readings_, id, &Reading::id);
  if (mine == readings_.end()) return;  // stopped
  if (!answer && !mine->askers.empty()) log_warn("this node could not be read: {}", answer.error().text());
  for (const Asker& asker : mine->askers) tell(asker, answer);
  finished_.push_back(std::move(mine->thread));
  readings_.erase(mine);
}

void Inspector::leave(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  for (Reading& reading : readings_) {
    const auto asker = std::ranges::find(reading.askers, ticket, &Asker::ticket);
    if (asker == reading.askers.end()) continue;
    tell(*asker, fail(Cause::cancelled, "the asker is gone"));
    reading.askers.erase(asker);
    if (reading.askers.empty()) reading.thread.request_stop();
    return;
  }
}

void Inspector::stop() {
  std::list<Reading> ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ended.swap(readings_);
    for (Reading& reading : ended) {
      reading.thread.request_stop();
      for (const Asker& asker : reading.askers) tell(asker, fail(Cause::cancelled, "the daemon is stopping"));
    }
  }
  ended.clear();
  finished_.clear();
}

Inspector::Read read_node(std::string node) {
  return [node = std::move(node)](const Inspector::Request& request, const std::stop_token& stop) {
    probe::LiveOptions options;
    options.wake_gpus = request.wake_gpus;
    options.fabric = request.fabric;
    options.routes = request.routes;
    return probe::read_this_machine(options, node, request.window, stop);
  };
}

}  // namespace ringtrue::daemon
