#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/units.h"
#include "tui/model/board.h"
#include "tui/model/demo_fleet.h"
#include "tui/model/model.h"
#include "tui/model/watch.h"

namespace ringtrue::tui {
namespace {

constexpr double day = 86400;
constexpr double between_checks = 20;   // seconds, while one looks
constexpr Seconds step_of_check{0.35};  // of one that is watched
constexpr int days_before = 13;
constexpr double silent_from = 20, silent_for = 60, silent_every = 240;

class Demo final : public Model {
 public:
  explicit Demo(std::optional<double> at)
      : at_(at), began_(at.value_or(wall_clock())), board_("demo", [this] { return now(); }) {
    board_.set_message("modelled: 32 nodes of 100 Gbit/s, nothing is measured; ? lists the keys");
    board_.set(demo_topology());
    touch();
  }
  ~Demo() override {
    stop_ = true;
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
    if (check_.joinable()) check_.join();
  }

  SnapshotPtr whole(Seconds) override {
    board_.add(past(0));
    board_.add(latest());
    return board_.snapshot();
  }

  void start(Queue& queue) override {
    board_.set_queue(&queue);
    worker_ = std::thread([this] { work(); });
  }

  void show(int session) override {
    board_.show(session);
    board_.publish();
  }
  void freeze(bool frozen) override {
    frozen_ = frozen;
    board_.freeze(frozen);
    board_.publish();
  }
  void refresh() override { board_.publish(); }
  void acknowledge(const std::string& key) override {
    board_.acknowledge(key, "you");
    board_.publish();
  }

  Result<Price> price(const Task& task) const override {
    const Offer offer = board_.snapshot()->offer;
    if (task.kind == Task::Kind::check && task.algorithm.empty() && task.nodes.empty() && task.amount.empty())
      return Price{task, offer.what, offer.cost};
    return fail(Cause::unavailable, "the demo plays checks of all its nodes alone");
  }
  void launch(const Task& task) override {
    if (!price(task) || checking_.exchange(true)) return;
    if (check_.joinable()) check_.join();
    cancelled_ = false;
    check_ = std::thread([this] { play_check(); });
  }
  void cancel() override {
    cancelled_ = true;
    wake_.notify_all();
  }

 private:
  double now() const { return at_ ? *at_ : wall_clock(); }
  double seconds() const { return now() - began_; }

  // Until so much time went by, or `ended`; whether the model goes on.
  bool sleep(Seconds time, const std::atomic<bool>& ended) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(time.value), [&] { return stop_ || ended; });
    return !stop_;
  }

  std::uint64_t seed_of(double days) const { return std::uint64_t(std::llround(days * 24) + 10'000); }

  // One a day, and more on the day before now.
  Moments past(int skip) const {
    Moments out;
    for (double days = -days_before; days < -0.01 - skip; days += days < -1 ? 1 : 0.25) {
      if (stop_) break;
      if (auto moment = demo_check(demo_faults(days, 0), began_ + days * day, seed_of(days)))
        out.push_back(std::move(moment));
    }
    return out;
  }
  std::shared_ptr<const Moment> latest() {
    auto moment = demo_check(demo_faults(0, 0), began_ - 190, seed_of(0));
    if (moment) offer(*moment);
    return moment;
  }

  void offer(const Moment& m) {
    board_.set(Offer{true, "", fmt::format("check of {} nodes", m.nodes.size()),
                     fmt::format("{} runs, {:.0f} s, {} on {} nodes, held by nobody", m.runs,
                                 std::ceil(m.seconds), size_text(m.bytes), m.nodes.size())});
  }

  double turn() const { return std::fmod(seconds() + silent_every - silent_from, silent_every); }
  bool is_silent() const { return at_ || turn() < silent_for; }

  // What daemons would answer: somebody holds a node, one is silent now and then.
  void touch() {
    board_.set([this](std::vector<NodeRow>& nodes) {
      for (NodeRow& n : nodes) {
        n.seen = now() - 2;
        if (n.name == "node2" || n.name == "node3") n.held_by = "alice@login1 (run)";
        if (n.name != "node13" || !is_silent()) continue;
        n.answers = false;
        n.seen = now() - (at_ ? 250 : turn());
        n.silence = "connection refused";
        n.level = std::max(n.level, Level::silent);
      }
    });
  }

  void work() {
    if (auto moment = latest()) board_.add(std::move(moment));
    board_.publish();
    board_.add(past(0));
    board_.publish();
    double next = between_checks;
    bool was_silent = is_silent();
    while (sleep(Seconds(1), stop_)) {
      if (frozen_ || at_) continue;
      if (const bool silent = is_silent(); silent != was_silent) {
        was_silent = silent;
        board_.changed();
      }
      if (seconds() >= next) {
        next = seconds() + between_checks;
        if (auto moment = demo_check(demo_faults(0, seconds()), now(), seed_of(seconds())))
          board_.add(std::move(moment));
      }
      board_.publish();
    }
  }

  void play_check() {
    Watch watch(fmt::format("check of {} nodes", demo_nodes), 12.4e9);
    const auto publish = [&] {
      board_.set(watch.run());
      board_.publish();
    };
    publish();
    const auto moment = demo_check(
        demo_faults(0, at_ ? 0 : seconds()), now(), seed_of(seconds() + 0.5),
        [&](const ops::progress::Event& event) {
          watch.take(event);
          publish();
          if (std::holds_alternative<ops::progress::Reading>(event)) sleep(step_of_check, cancelled_);
        },
        [this] { return !stop_ && !cancelled_; });
    Run run = watch.run();
    run.state = moment ? Run::State::done : Run::State::cancelled;
    run.used_s = run.budget_s;
    if (moment) {
      end_with_verdict(run, *moment);
      board_.add(moment);
    }
    board_.set(std::move(run));
    checking_ = false;
    board_.publish();
  }

  const std::optional<double> at_;
  const double began_;
  Board board_;
  std::atomic<bool> stop_ = false, frozen_ = false, cancelled_ = false, checking_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread worker_, check_;
};

}  // namespace

std::unique_ptr<Model> play_demo(const DemoRequest& request) {
  return std::make_unique<Demo>(request.at);
}

}  // namespace ringtrue::tui
