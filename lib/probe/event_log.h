// What rose and when, kept within bounds: the last hour in memory as it was seen, 30 days in two files,
// summed up by spans of five minutes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "run/counter_window.h"
#include "run/device_event.h"

namespace ringtrue::probe {

class EventLog {
 public:
  static constexpr std::size_t usual_file_bytes = 4 << 20;  // of each of two files

  // folder: made if missing; empty: nothing is kept on disk. `now` and all other times: Unix seconds.
  EventLog(std::string folder, std::int64_t now, std::size_t max_file_bytes = usual_file_bytes);
  ~EventLog();  // writes what is left

  // Rises between two readings. A counter that was cleared or wrapped counts from 0 again.
  void add(const std::vector<run::CounterChange>& changes, std::int64_t from, std::int64_t to);
  // Writes spans that are over. Call it now and then.
  void tick(std::int64_t now);
  // All that ended at `since` or later, by time.
  run::DeviceEvents since(std::int64_t since, std::int64_t now) const;

  // Why nothing is kept on disk, where that was asked for; empty: it is.
  const std::string& trouble() const { return trouble_; }

 private:
  using Key = std::pair<std::string, std::string>;  // device, counter

  void write();
  void read(const std::string& path, std::int64_t from, std::int64_t before, run::DeviceEvents& into) const;

  const std::string folder_;
  const std::size_t max_file_bytes_;
  std::int64_t began_;
  bool dropped_ = false;  // something of this process's time is no longer in the files
  std::string trouble_;
  std::deque<run::DeviceEvent> recent_;  // by time
  std::int64_t span_ = 0;                // the span that is open begins here
  std::map<Key, run::DeviceEvent> open_;
};

// "1764100000 1764100012 mlx5_0/1 link_downed 3"; false: no such line.
bool parse_event(std::string_view line, run::DeviceEvent& event);

}  // namespace ringtrue::probe
