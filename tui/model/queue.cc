#include "tui/model/queue.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace ringtrue::tui {

Queue::Queue() : ready_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Queue::push(SnapshotPtr snapshot) {
  {
    const std::lock_guard lock(mutex_);
    last_ = std::move(snapshot);
  }
  const std::uint64_t one = 1;
  (void)!write(ready_.get(), &one, sizeof one);
}

SnapshotPtr Queue::take() {
  std::uint64_t count = 0;
  (void)!read(ready_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(last_, nullptr);
}

bool Queue::wait(int milliseconds) {
  pollfd ready{ready_.get(), POLLIN, 0};
  return poll(&ready, 1, milliseconds) == 1;
}

}  // namespace ringtrue::tui
