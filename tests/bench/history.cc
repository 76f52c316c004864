// How fast the history is: a file of so many readings (10 million), made in a folder of its own; a figure a
// line.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "history/follow.h"
#include "history/keep.h"
#include "history/read.h"

using namespace ringtrue;
using namespace ringtrue::history;

namespace {

constexpr int nodes = 1024;
constexpr std::int64_t hour_us = 3'600'000'000;

Record check_at(std::int64_t at_us, std::size_t document) {
  Record record;
  Session& s = record.session;
  s.fleet = "bench";
  s.started_us = at_us;
  s.ended_us = at_us + 9'000'000;
  s.verdict = "healthy";
  s.version = "0";
  s.fingerprint = "tcp ring";
  s.nodes = nodes;
  for (int node = 0; node < nodes; ++node) {
    const std::string name = fmt::format("node{:04}", node);
    const double rate = 12e9 + double((at_us / 1000 + node * 7919) % 1'000'003) * 100;
    record.readings.push_back({{SubjectType::sender, name, "", ""}, Metric::rate, rate, 3});
    record.readings.push_back({{SubjectType::receiver, name, "", ""}, Metric::rate, rate, 3});
  }
  record.document.assign(document, 'd');
  return record;
}

template <class F>
void timed(const char* what, const char* wanted, F f) {
  const std::int64_t began = now_ns();
  f();
  fmt::print("{:<58} {:>9.2f} ms   wanted: {}\n", what, seconds_since(began).value * 1e3, wanted);
  fflush(stdout);
}

void must(const auto& result) {
  if (result) return;
  fmt::print(stderr, "{}\n", result.error().text());
  exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const long readings = argc > 1 ? atol(argv[1]) : 10'000'000;
  char folder[] = "/tmp/ringtrue-bench-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  const std::string file = std::string(folder) + "/history.db";
  const long checks = readings / (2 * nodes);
  const std::int64_t now = wall_clock_us(), first = now - checks * hour_us;
  {
    auto store = Store::open(file, {.write = true});
    must(store);
    const std::int64_t began = now_ns();
    for (long i = 0; i < checks; ++i) must(store->add(check_at(first + i * hour_us, 0)));
    fmt::print("{} checks of {} nodes, {} readings, {:.1f} MB, {:.1f} bytes a reading; {:.2f} ms a check\n",
               checks, nodes, checks * 2 * nodes, double(std::filesystem::file_size(file)) / 1e6,
               double(std::filesystem::file_size(file)) / double(checks * 2 * nodes),
               seconds_since(began).value * 1e3 / double(checks));
    must(set_baselines(*store, {"bench", {}, {}, 20, {}, "bench", ""}, now));
  }
  timed("open, store a check, close", "-", [&] {
    auto store = Store::open(file, {.write = true});
    must(store);
    must(record_session(*store, check_at(now, 100'000), {}));
  });
  auto store = Store::open(file, {.write = true});
  must(store);
  for (int i = 1; i <= 3; ++i)
    timed("store a check, held against 2,049 baselines", "10 ms",
          [&] { must(record_session(*store, check_at(now + i * 1000, 100'000), {})); });
  timed("store a check without following it", "10 ms",
        [&] { must(store->add(check_at(now + 9000, 100'000))); });
  const SubjectKey side{SubjectType::sender, "node0005", "", ""},
      other{SubjectType::receiver, "node0005", "", ""};
  Which which;
  which.fleet = "bench";
  which.since_us = now - 30 * 24 * hour_us;
  for (int i = 0; i < 2; ++i)
    timed("open, a node's two sides over 30 days", "50 ms", [&] {
      const auto reading = Store::open(file, {});
      must(reading);
      must(series(*reading, side, Metric::rate, which));
      must(series(*reading, other, Metric::rate, which));
    });
  timed("sum up all days, the first time, and drop nothing", "-", [&] {
    Keep keep;
    keep.readings_days = 1e4;
    keep.max_bytes = std::uint64_t(1) << 40;
    must(prune(*store, keep, now));
  });
  timed("prune a day's readings (50,000)", "2 s", [&] {
    Keep keep;
    keep.readings_days = double(now - first) / 24 / double(hour_us) - 1;
    keep.max_bytes = std::uint64_t(1) << 40;
    must(prune(*store, keep, now));
  });
  Keep keep;
  keep.readings_days = 1e4;
  keep.max_bytes = std::filesystem::file_size(file) * 8 / 10;
  Pruned pruned;
  timed("prune to a cap of 80 %", "2 s", [&] {
    auto done = prune(*store, keep, now);
    must(done);
    pruned = *done;
  });
  fmt::print("the file beside its cap: {:.1f} %; dropped {} readings\n",
             double(std::filesystem::file_size(file)) / double(keep.max_bytes) * 100, pruned.readings);
  std::filesystem::remove_all(folder);
}
