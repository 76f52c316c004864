// The one queue of what happens: from any thread to the one that draws.
#pragma once

#include <memory>
#include <mutex>

#include "base/fd.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

using SnapshotPtr = std::shared_ptr<const Snapshot>;

class Queue {
 public:
  Queue();

  void push(SnapshotPtr snapshot);
  // All that came since the last time, the oldest first; those that were overtaken are left out.
  SnapshotPtr take();
  // Waits so long for something, in milliseconds.
  bool wait(int milliseconds);
  // Readable where there is something, for poll(2).
  int fd() const { return ready_.get(); }

 private:
  std::mutex mutex_;
  SnapshotPtr last_;
  OwnedFd ready_;
};

}  // namespace ringtrue::tui
