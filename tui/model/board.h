// What a source knows so far, from which it publishes snapshots: any thread may put something on it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tui/model/moment.h"
#include "tui/model/queue.h"

namespace ringtrue::tui {

class Board {
 public:
  // `clock`: seconds since 1970.
  Board(std::string source, std::function<double()> clock)
      : source_(std::move(source)), clock_(std::move(clock)) {}

  void set_queue(Queue* queue);
  void add(std::shared_ptr<const Moment> moment);
  void add(const Moments& moments);
  void mark(std::vector<History::Mark> marks);
  void set(std::shared_ptr<const Topology> topology);
  void set(Run run);
  void set(Offer offer);
  void set_source(std::string source, bool production);
  void set_message(std::string message);
  // What is known of a node beside checks: changes its row whenever now is shown.
  using Touch = std::function<void(std::vector<NodeRow>&)>;
  void set(Touch touch);
  // What touch() tells is another now.
  void changed();
  void acknowledge(const std::string& key, const std::string& by);
  // The session that is shown; -1: now.
  void show(int session);
  void show_at(double when);
  void freeze(bool frozen);

  SnapshotPtr snapshot() const;
  void publish();

 private:
  SnapshotPtr snapshot_locked() const;
  void rebuild();

  mutable std::mutex mutex_;
  std::string source_, message_;
  bool production_ = false, frozen_ = false;
  std::function<double()> clock_;
  Queue* queue_ = nullptr;
  Moments moments_;
  std::vector<History::Mark> marks_;
  std::shared_ptr<const Timeline> timeline_ = std::make_shared<Timeline>(Moments());
  std::shared_ptr<const Topology> topology_;
  Run run_;
  Offer offer_;
  Touch touch_;
  std::map<std::string, std::string> acknowledged_;
  int session_ = -1;
  std::uint64_t revision_ = 0;
};

}  // namespace ringtrue::tui
