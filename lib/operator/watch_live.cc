#include "operator/watch_live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "fleet/targets.h"
#include "history/store.h"
#include "operator/watch_idle.h"

namespace ringtrue::ops {
namespace {

constexpr Seconds again_budget{8};

Error flat(const Trouble& trouble) {
  return trouble.error;
}

class LiveWorld final : public WatchWorld {
 public:
  LiveWorld(const WatchRequest& request, const Control& control)
      : request_(request), control_(control), file_(watch_file(request.place)) {}

  std::int64_t wall_us() override { return wall_clock_us(); }
  Seconds clock() override { return Seconds(double(now_ns()) * 1e-9); }
  bool stopped() override { return control_.stopped(); }

  bool sleep(Seconds time) override {
    const Stop::Handler handler(control_.stop(), [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      wake_.notify_all();
    });
    if (control_.stopped()) return false;
    // Whoever asks for the end holds the stop's own lock: it is not asked for under this one.
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(time.value), [&] { return woken_; });
    return !woken_;
  }

  std::optional<std::string> other_watcher() override { return turn_.take(file_ + ".lock"); }
  WatchMemory remembered() override { return read_watch_memory(file_); }
  Result<void> remember(const WatchMemory& memory) override { return write_watch_memory(file_, memory); }
  void told(const WatchRound& round) override { request_.told(round); }
  void waits_for(const std::string& other) override { request_.waits_for(other); }
  void begins(Seconds until_first) override { request_.begins(until_first); }

  Result<std::vector<WatchedNode>> look() override {
    const Stop::Handler handler(control_.stop(), [] {});  // nothing is held yet
    auto targets = targets_of(request_.check.setup, true);
    if (!targets) return tl::unexpected(targets.error());
    targets_ = std::move(*targets);
    const fleet::Options options = fleet_options(request_.check.setup, {}, {}, control_);
    const auto states = fleet::describe(targets_, options);
    if (!states) return tl::unexpected(states.error());
    std::vector<WatchedNode> out;
    std::vector<fleet::Target> free;
    for (std::size_t i = 0; i < targets_.size() && i < states->size(); ++i) {
      const fleet::NodeState& state = (*states)[i];
      WatchedNode node{targets_[i].node, "", false};
      if (!state.reachable) {
        node.absent = true;
        node.why_not = state.cause.empty() ? "it does not answer" : state.cause;
      } else if (!state.compatible) {
        node.why_not = fmt::format("its daemon is of version {}", state.version);
      } else if (!state.lease.empty()) {
        node.why_not = fmt::format("held by {}", state.lease);
      } else {
        free.push_back(targets_[i]);
      }
      out.push_back(std::move(node));
    }
    if (!request_.idle_only || free.empty()) return out;
    const auto busy = why_busy(free, options);
    for (WatchedNode& node : out)
      if (const auto why = busy.find(node.node); why != busy.end() && node.why_not.empty())
        node.why_not = why->second;
    return out;
  }

  Result<WatchedCheck> check(const std::vector<std::string>& nodes, bool again) override {
    CheckRequest asked = request_.check;
    RecordRequest recording{request_.place, request_.version, false, std::nullopt};
    std::vector<std::string> measured = nodes;
    if (again) {
      const auto plan = plan_confirmation(request_.place, {}, nodes);
      if (!plan) return tl::unexpected(plan.error());
      measured = plan->nodes;
      recording.confirming = true;
      recording.fingerprint = plan->fingerprint;
      asked.no_inspect = true;
      asked.inspect = false;
      asked.budget = again_budget;
    }
    asked.setup.config.hosts.value = hosts_of(measured);
    auto document = ops::check(asked, control_);
    if (!document) {
      if (!again && request_.measured && document.error().error.cause != Cause::refused)
        (void)request_.measured(nullptr);
      return tl::unexpected(flat(document.error()));
    }
    if (control_.stopped()) return fail(Cause::cancelled, "the watch was ended");
    WatchedCheck out;
    out.verdict = key_of(document->diagnosis.verdict);
    out.findings = int(document->diagnosis.findings.size());
    out.seconds = document->diagnosis.cost.seconds.value;
    if (document->error) out.troubles.push_back(document->error->error.text());
    remember_check(recording, *document, out);
    if (!again) {
      json_ = request_.check_json(*document);
      if (request_.measured)
        if (const auto done = request_.measured(&*document); !done)
          out.troubles.push_back(done.error().text());
    }
    return out;
  }

  Result<void> hook(const WatchRound& round) override {
    if (request_.hook.empty()) return {};
    const Stop::Handler handler(control_.stop(), [] {});
    return run_hook(request_.hook, request_.hook_json(round, round.verdict ? json_ : std::string()),
                    request_.hook_deadline);
  }

 private:
  // Whatever becomes of the history, the check stands.
  void remember_check(const RecordRequest& recording, CheckDocument& document, WatchedCheck& out) {
    const auto done = ops::remember(
        recording, document, [] {}, [&] { return request_.check_json(document); });
    if (!done) out.troubles.push_back(done.error().text());
    if (!document.remembered) return;
    const auto add = [&](const history::Regression& one) {
      out.regressions.push_back(
          {one.subject.text(), one.subject.node, key_of(one.state), one.ratio, one.open()});
    };
    for (const auto& one : document.remembered->regressions) add(one);
    for (const auto& one : document.remembered->ended) add(one);
  }

  std::string hosts_of(const std::vector<std::string>& nodes) const {
    std::vector<std::string> hosts;
    for (const fleet::Target& target : targets_)
      if (std::find(nodes.begin(), nodes.end(), target.node) != nodes.end())
        hosts.push_back(fleet::host_text(target));
    return fmt::format("{}", fmt::join(hosts, ","));
  }

  const WatchRequest& request_;
  const Control& control_;
  const std::string file_;
  WatchTurn turn_;
  std::vector<fleet::Target> targets_;
  std::string json_;  // of the round's check
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

}  // namespace

Result<std::optional<WatchRound>> watch(const WatchRequest& request, const Control& control) {
  if (!request.hook.empty() && access(request.hook.c_str(), X_OK) != 0)
    return fail(Cause::bad_input, fmt::format("the hook {} is no program that may be run", request.hook), {},
                "give the path of one, which is run without a shell");
  if (const auto targets = targets_of(request.check.setup, true); !targets)
    return tl::unexpected(targets.error());
  // Else it would be told after the first check.
  if (auto may = history::may_record(request.place.file); !may) return tl::unexpected(may.error());
  LiveWorld world(request, control);
  return watch(request.settings, world);
}

}  // namespace ringtrue::ops
