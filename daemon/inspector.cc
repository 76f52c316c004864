#include "daemon/inspector.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
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

constexpr std::size_t most_waiting = 8;  // readings
constexpr std::size_t most_askers = 64;  // of one reading

std::string document_of(const topology::Recording& recording) {
  topology::Cluster cluster;
  cluster.nodes.push_back(topology::probe(recording));
  topology::RecordedSource source(recording);
  cluster.fabric = topology::probe_fabric(source, cluster.nodes.front());
  return topology::to_json(cluster, -1);
}

}  // namespace

// Shared with the thread, which may outlive the inspector while a device keeps it waiting.
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

  static void serve(std::shared_ptr<State> state) {
    std::unique_lock lock(state->mutex);
    for (;;) {
      state->changed.wait(lock, [&] { return state->stopping || !state->readings.empty(); });
      if (state->stopping) return;
      const Request request = state->readings.front().request;
      lock.unlock();
      const Answer answer = state->answer(request);
      if (!answer) log_warn("this node could not be read: {}", answer.error().text());
      lock.lock();
      if (state->stopping) return;
      // Under the lock, so that nobody is told after stop() has returned.
      for (const Told& told : state->readings.front().askers) told(answer);
      state->readings.pop_front();
    }
  }

  const Read read;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Reading> readings;  // the first is in progress
  bool started = false, stopping = false;
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
    const auto same = std::find_if(s.readings.begin(), s.readings.end(),
                                   [&](const State::Reading& r) { return r.request == request; });
    if (s.stopping) {
      refused = Error{Cause::cancelled, "the daemon is stopping", "", ""};
    } else if (same != s.readings.end() ? same->askers.size() >= most_askers
                                        : s.readings.size() >= most_waiting) {
      refused =
          Error{Cause::refused, "too many ask what is in this node at once", "", "try again in a moment"};
    } else if (same != s.readings.end()) {
      same->askers.push_back(std::move(told));
    } else {
      s.readings.push_back({request, {}});
      s.readings.back().askers.push_back(std::move(told));
      if (!std::exchange(s.started, true)) std::thread(State::serve, state_).detach();
      s.changed.notify_one();
    }
  }
  if (refused) told(tl::unexpected(*refused));
}

void Inspector::stop() {
  const std::lock_guard lock(state_->mutex);
  if (std::exchange(state_->stopping, true)) return;
  for (const State::Reading& reading : state_->readings)
    for (const Told& told : reading.askers) told(fail(Cause::cancelled, "the daemon is stopping"));
  state_->readings.clear();
  state_->changed.notify_one();
}

Inspector::Read read_node(std::string node) {
  return [node = std::move(node)](const Inspector::Request& request) {
    topology::LiveOptions options;
    options.wake_gpus = request.wake_gpus;
    return topology::read_this_machine(options, node, request.window);
  };
}

}  // namespace ringtrue::daemon
