#include "operator/stop.h"

namespace ringtrue::ops {

bool Stop::request() {
  const std::lock_guard lock(mutex_);
  requested_ = true;
  if (end_) end_();
  return bool(end_);
}

bool Stop::requested() const {
  const std::lock_guard lock(mutex_);
  return requested_;
}

Stop::Handler::Handler(Stop& stop, std::function<void()> end) : stop_(stop) {
  const std::lock_guard lock(stop_.mutex_);
  stop_.end_ = std::move(end);
}

Stop::Handler::~Handler() {
  const std::lock_guard lock(stop_.mutex_);
  stop_.end_ = nullptr;
}

}  // namespace ringtrue::ops
