#include "daemon/inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "topology/format/format.h"
#include "topology/format/gzip.h"
#include "topology/json.h"
#include "topology/probe/live.h"
#include "topology/probe/probe.h"

namespace ringtrue::daemon {
namespace {

constexpr std::ptrdiff_t most_windows = 8;  // readings that take so long as their askers chose
constexpr std::size_t most_askers = 64;     // of one reading

std::string document_of(const topology::Recording& recording) {
  topology::Cluster cluster;
  cluster.nodes.push_back(topology::probe(recording));
  topology::RecordedSource source(recording);
  cluster.fabric = topology::probe_fabric(source, cluster.nodes.front());
  return topology::to_json(cluster, -1);
}

}  // namespace

// Shared with the threads, which may outlive the inspector while a device keeps them waiting.
struct Inspector::State {
  struct Reading {
    Request request;
    std::vector<Told> askers;
  };

  explicit State(Read r) : read(std::move(r)) {}

  Answer answer(const Request& request) const {
    auto recording = read(request);
    if (!recording) return tl::unexpected(recording.error());
    return request.recording ? topology::write_recording(*recording)
                             : topology::format::gzip(document_of(*recording));
  }

  static void serve(std::shared_ptr<State> state, Request request) {
    const Answer answer = state->answer(request);
    if (!answer) log_warn("this node could not be read: {}", answer.error().text());
    // Under the lock, so that nobody is told after stop() has returned.
    const std::lock_guard lock(state->mutex);
    const auto mine = state->find(request);
    if (mine == state->readings.end()) return;  // stopped
    for (const Told& told : mine->askers) told(answer);
    state->readings.erase(mine);
  }

  std::list<Reading>::iterator find(const Request& request) {
    return std::ranges::find(readings, request, &Reading::request);
  }

  const Read read;
  std::mutex mutex;
  std::list<Reading> readings;  // in progress; no two alike
  bool stopping = false;
};

Inspector::Inspector(Read read) : state_(std::make_shared<State>(std::move(read))) {}

Inspector::~Inspector() {
  stop();
}

void Inspector::ask(const Request& request, Told told) {
  std::optional<Error> refused;
  {
    const std::lock_guard lock(state_->mutex);
    State& s = *state_;
    const auto same = s.find(request);
    const auto windows =
        std::ranges::count_if(s.readings, [](const State::Reading& r) { return r.request.window.value > 0; });
    if (s.stopping) {
      refused = Error{Cause::cancelled, "the daemon is stopping", "", ""};
    } else if (same != s.readings.end() ? same->askers.size() >= most_askers
                                        : request.window.value > 0 && windows >= most_windows) {
      refused =
          Error{Cause::refused, "too many ask what is in this node at once", "", "try again in a moment"};
    } else if (same != s.readings.end()) {
      same->askers.push_back(std::move(told));
    } else if (auto started = begin(request); !started) {
      refused = started.error();
    } else {
      s.readings.push_back({request, {}});
      s.readings.back().askers.push_back(std::move(told));
    }
  }
  if (refused) told(tl::unexpected(*refused));
}

Result<void> Inspector::begin(const Request& request) {
  try {
    std::thread(State::serve, state_, request).detach();
  } catch (const std::system_error& e) {
    return fail(Cause::unavailable, fmt::format("no thread to read this node: {}", e.what()), "",
                "try again in a moment");
  }
  return {};
}

void Inspector::stop() {
  const std::lock_guard lock(state_->mutex);
  if (std::exchange(state_->stopping, true)) return;
  for (const State::Reading& reading : state_->readings)
    for (const Told& told : reading.askers) told(fail(Cause::cancelled, "the daemon is stopping"));
  state_->readings.clear();
}

Inspector::Read read_node(std::string node) {
  return [node = std::move(node)](const Inspector::Request& request) {
    topology::LiveOptions options;
    options.wake_gpus = request.wake_gpus;
    return topology::read_this_machine(options, node, request.window);
  };
}

}  // namespace ringtrue::daemon
