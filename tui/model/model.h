// Where snapshots come from: workers on threads, which nobody who draws waits for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "operator/reproduce.h"
#include "operator/setup.h"
#include "tui/model/moment.h"
#include "tui/model/queue.h"

namespace ringtrue::tui {

class Model {
 public:
  virtual ~Model() = default;  // ends its workers, and what they hold

  // Everything that there is to know now, for one who waits: of files all, of daemons what they answer in so
  // long.
  virtual SnapshotPtr whole(Seconds patience) = 0;
  // From here on snapshots come by the queue, which outlives the model.
  virtual void start(Queue& queue) = 0;

  // The moment that is shown; -1: now.
  virtual void show(int session) = 0;
  // Which screen is looked at: some ask for more.
  virtual void look(int) {}
  virtual void freeze(bool) {}
  // Of a replay: so many times as fast as it is now.
  virtual void speed(double) {}
  virtual void refresh() {}
  // What it would cost, before it is started: of memory alone, at once. Errors (bad_input) name what was
  // typed.
  virtual Result<Price> price(const Task&) const {
    return fail(Cause::unavailable, "nothing can be started here");
  }
  virtual void launch(const Task&) {}
  virtual void cancel() {}
  virtual void acknowledge(const std::string&) {}
};

// Seconds since 1970, and how far local time is ahead of UTC.
double wall_clock();
long utc_offset(double when);
// "2026-01-31", "2026-01-31 14:05", "14:05" (today), "@1790000000", "2h" (so long ago). Errors: bad_input.
Result<double> parse_moment(std::string_view text, double now);

struct FilesRequest {
  std::vector<std::string> from;
  std::optional<std::string> history;  // a file; empty: the usual one
  std::optional<double> at;
};
// Documents of check, sweep, run and simulate, and what `ringtrue topo --from` reads.
Result<std::unique_ptr<Model>> open_files(const FilesRequest& request);

// Daemons, which are asked seldom, and run checks where that is allowed and asked for.
struct LiveRequest {
  ops::Setup setup;
  bool read_only = false;
  std::optional<std::string> history;  // a file to show; checks are recorded there, else where all are
  ops::ReproduceWords again{};         // for the commands that findings come with
  std::string version{};               // of this program, for what is recorded
};
Result<std::unique_ptr<Model>> watch_daemons(const LiveRequest& request);

struct DemoRequest {
  std::optional<double> at;  // the time stands still then
};
std::unique_ptr<Model> play_demo(const DemoRequest& request);

}  // namespace ringtrue::tui
