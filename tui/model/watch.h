// A check or run that goes on, from the events of its use case.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "operator/progress.h"
#include "tui/model/moment.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

class Watch {
 public:
  // `expected`: of a hop, from an earlier check; unknown: the fastest reading is taken for it.
  Watch(std::string what, Maybe expected);

  // From any thread.
  void take(const ops::progress::Event& event);
  // The sizes of a run that are complete, and what they took.
  void take(const Run& rows);
  Run run() const;

 private:
  struct Taker;

  mutable std::mutex mutex_;
  Run run_;
  Maybe expected_;
  std::vector<std::string> nodes_;
  std::vector<float> rates_;
};

// A check that is over: what it found is shown as every other screen shows it, and what was suspected
// meanwhile only as far as that was confirmed, or the check could not tell.
void end_with_verdict(Run& run, const Moment& found);

}  // namespace ringtrue::tui
