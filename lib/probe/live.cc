#include "probe/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/program.h"
#include "probe/probe.h"
#include "probe/recording.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using Clock = std::chrono::steady_clock;

constexpr const char* program = "ringtrue-probe";
constexpr const char* routes = "routes";
constexpr std::size_t max_answer_bytes = 16u << 20, max_routes_bytes = 56u << 20;
constexpr std::size_t max_recording_bytes = 64u << 20;

const std::vector<std::string> counting_libraries = {"ethtool", "nvml"};

// GPUs take seconds each to wake; a fabric of thousands of switches has a million blocks.
Seconds patience(const LiveOptions& options, std::string_view library) {
  if (library == routes) return std::max(options.deadline, Seconds(30));
  return options.wake_gpus && library == "nvml" ? std::max(options.deadline, Seconds(60)) : options.deadline;
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Its path, or what is missing (unavailable).
Result<std::string> find_probe(const LiveOptions& options) {
  if (!options.program.empty()) return options.program;
  return find_in_package(program);
}

}  // namespace

// ---- libraries

LiveSource::LiveSource(LiveOptions options) : Files(options.root), options_(std::move(options)) {
  const auto probe = find_probe(options_);
  if (!probe) return;
  if (options_.libraries.empty())
    options_.libraries.assign(std::begin(all_libraries), std::end(all_libraries));
  for (const auto& library : options_.libraries)
    if (options_.fabric || library != "fabric") ask(*probe, library);
}

Child& LiveSource::ask(const std::string& probe, const std::string& library) {
  std::vector<std::string> argv = {probe, "ask", library};
  if (!options_.root.empty()) argv.insert(argv.end(), {"--root", options_.root});
  if (options_.wake_gpus) argv.push_back("--wake-gpus");
  const std::size_t most = library == routes ? max_routes_bytes : max_answer_bytes;
  return asked_.try_emplace(library, argv, patience(options_, library), most).first->second;
}

Result<std::string> LiveSource::answer(std::string_view library) {
  if (!options_.fabric && library == "fabric") return fail(Cause::bad_input, "the fabric was not asked for");
  const auto probe = find_probe(options_);
  if (!probe) return tl::unexpected(probe.error());
  const auto known = asked_.find(library);
  const Child& wanted = known == asked_.end() ? ask(*probe, std::string(library)) : known->second;
  std::vector<Child*> all;
  for (auto& [name, child] : asked_) all.push_back(&child);
  Child::serve(all, wanted);
  auto answer = wanted.result();
  if (!answer && answer.error().cause == Cause::deadline)
    answer.error().what =
        fmt::format("{} did not answer within {:g} s", library, patience(options_, library).value);
  return answer;
}

// ---- a recording

Recording record(const LiveOptions& options, const std::string& node, Seconds window) {
  Recording recording;
  recording.node = node;
  recording.made_by = "ringtrue";
  recording.made_at = now_utc();
  if (options.routes) {
    LiveOptions alone = options;
    alone.libraries = {routes};
    LiveSource live(alone);
    (void)RememberingSource(live, recording).answer(routes);
    return recording;
  }
  LiveSource live(options);
  RememberingSource source(live, recording);
  // All answers first: the window begins where the counters are read, right after them.
  for (const auto& library : all_libraries) (void)source.answer(library);
  const auto begin = Clock::now();
  Node found = probe(source);
  (void)probe_fabric(source, found);
  if (window.value <= 0) return recording;

  std::this_thread::sleep_until(begin + std::chrono::microseconds(std::int64_t(window.value * 1e6)));
  LiveOptions again = options;
  again.libraries = counting_libraries;
  again.fabric = false;
  // One that hung is not waited for as long a second time.
  for (const auto& library : counting_libraries)
    if (const auto error = recording.errors.find(library);
        error != recording.errors.end() && error->second.cause == Cause::deadline)
      again.deadline = std::min(again.deadline, Seconds(0.5));
  LiveSource later(again);
  RememberingSource second(later, recording, true);
  for (const auto& library : counting_libraries) (void)second.answer(library);
  recording.window_s = std::chrono::duration<double>(Clock::now() - begin).count();
  (void)probe_counters(second, found);
  return recording;
}

// The libraries' deadline twice, for the two readings, and some time for files that are slow to read.
Seconds max_reading_time(const LiveOptions& options) {
  if (options.routes) return patience(options, routes) + Seconds(4);
  return patience(options, "nvml") * 2 + Seconds(4);
}

Result<Recording> read_this_machine(const LiveOptions& options, const std::string& node, Seconds window,
                                    const std::stop_token& stop) {
  const auto probe = find_probe(options);
  if (!probe) return tl::unexpected(probe.error());
  std::vector<std::string> argv = {*probe, "record", "--node", node};
  if (!options.root.empty()) argv.insert(argv.end(), {"--root", options.root});
  if (window.value > 0) argv.insert(argv.end(), {"--window", fmt::format("{}", window.value)});
  argv.insert(argv.end(), {"--deadline", fmt::format("{}", options.deadline.value)});
  if (options.wake_gpus) argv.push_back("--wake-gpus");
  if (!options.fabric) argv.push_back("--no-fabric");
  if (options.routes) argv.push_back("--routes");
  const auto bytes = run_program(argv, window + max_reading_time(options), max_recording_bytes, stop);
  if (!bytes) return tl::unexpected(bytes.error());
  return read_recording(*bytes).map_error([&](Error error) {
    return Error{Cause::corrupted, fmt::format("{} printed no recording: {}", program, error.what), {}, {}};
  });
}

}  // namespace ringtrue::probe
