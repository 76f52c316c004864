#include "daemon/self_inspection.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "diagnosis/inspect/inspect.h"
#include "probe/probe.h"

namespace ringtrue::daemon {
namespace {

constexpr std::chrono::minutes pause{30};
constexpr std::chrono::seconds pause_while_held{10};

SelfInspection::Found look_at(const probe::Recording& recording) {
  SelfInspection::Found found;
  const diagnosis::Inspection inspection = diagnosis::inspect(probe::probe_cluster(recording));
  for (const diagnosis::Finding& finding : inspection.findings)
    ++found.findings[std::size_t(finding.severity)];
  found.at_us = wall_clock_us();
  return found;
}

}  // namespace

SelfInspection::SelfInspection(Inspector::Read read, const Tally& tally)
    : read_(std::move(read)), tally_(tally), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void SelfInspection::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

std::optional<SelfInspection::Found> SelfInspection::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void SelfInspection::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const bool held = tally_.held;
    if (!held) {
      const auto recording = read_({.fabric = false}, stop);
      if (stop.stop_requested()) return;
      if (!recording)
        log_warn("this node could not be read for its own inspection: {}", recording.error().text());
      const auto found = recording ? std::optional(look_at(*recording)) : std::nullopt;
      const std::lock_guard lock(mutex_);
      last_ = found;
    }
    std::unique_lock lock(mutex_);
    (void)stopped_.wait_for(lock, stop, held ? pause_while_held : std::chrono::seconds(pause),
                            [] { return false; });
  }
}

}  // namespace ringtrue::daemon
