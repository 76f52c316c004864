#include "tui/model/board.h"

#include <fmt/format.h>

#include <utility>

#include "tui/model/model.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t moments_at_most = 400;

}  // namespace

void Board::set_queue(Queue* queue) {
  const std::lock_guard lock(mutex_);
  queue_ = queue;
}

// With the lock held.
void Board::rebuild() {
  if (moments_.size() > moments_at_most)
    moments_.erase(moments_.begin(), moments_.end() - std::ptrdiff_t(moments_at_most));
  timeline_ = std::make_shared<Timeline>(moments_, marks_);
  ++revision_;
}

void Board::add(std::shared_ptr<const Moment> moment) {
  const std::lock_guard lock(mutex_);
  moments_.push_back(std::move(moment));
  rebuild();
}

void Board::add(const Moments& moments) {
  const std::lock_guard lock(mutex_);
  moments_.insert(moments_.end(), moments.begin(), moments.end());
  rebuild();
}

void Board::mark(std::vector<History::Mark> marks) {
  const std::lock_guard lock(mutex_);
  marks_ = std::move(marks);
  rebuild();
}

void Board::set(std::shared_ptr<const Topology> topology) {
  const std::lock_guard lock(mutex_);
  topology_ = std::move(topology);
  ++revision_;
}

void Board::set(Run run) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
  ++revision_;
}

void Board::set(Offer offer) {
  const std::lock_guard lock(mutex_);
  offer_ = std::move(offer);
}

void Board::set_source(std::string source, bool production) {
  const std::lock_guard lock(mutex_);
  source_ = std::move(source);
  production_ = production;
}

void Board::set_message(std::string message) {
  const std::lock_guard lock(mutex_);
  message_ = std::move(message);
}

void Board::set(Touch touch) {
  const std::lock_guard lock(mutex_);
  touch_ = std::move(touch);
  ++revision_;
}

void Board::changed() {
  const std::lock_guard lock(mutex_);
  ++revision_;
}

void Board::acknowledge(const std::string& key, const std::string& by) {
  const std::lock_guard lock(mutex_);
  if (!acknowledged_.emplace(key, by).second) acknowledged_.erase(key);
  ++revision_;
}

void Board::show(int session) {
  const std::lock_guard lock(mutex_);
  session_ = session >= timeline_->size() ? -1 : session;
  ++revision_;
}

void Board::show_at(double when) {
  const std::lock_guard lock(mutex_);
  session_ = timeline_->session_at(when);
  ++revision_;
}

void Board::freeze(bool frozen) {
  const std::lock_guard lock(mutex_);
  frozen_ = frozen;
}

SnapshotPtr Board::snapshot_locked() const {
  auto s = std::make_shared<Snapshot>(timeline_->snapshot(session_, clock_()));
  s->utc_offset = utc_offset(s->now);
  s->source = source_;
  s->production = production_;
  s->message = message_;
  s->topology = topology_;
  s->run = run_;
  s->offer = offer_;
  s->revision = fmt::format("{}", revision_);
  if (touch_ && session_ < 0) touch_(s->nodes);
  for (FindingRow& f : s->findings)
    if (const auto by = acknowledged_.find(f.kind + " " + f.where); by != acknowledged_.end())
      f.acknowledged = by->second;
  return s;
}

SnapshotPtr Board::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_locked();
}

void Board::publish() {
  const std::lock_guard lock(mutex_);
  if (queue_ != nullptr && !frozen_) queue_->push(snapshot_locked());
}

}  // namespace ringtrue::tui
