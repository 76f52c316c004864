#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/hostlist.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "operator/call_request.h"
#include "operator/facts.h"
#include "operator/runner.h"
#include "pki/pki.h"
#include "tui/model/asking.h"
#include "tui/model/board.h"
#include "tui/model/inventory.h"
#include "tui/model/model.h"
#include "tui/model/order.h"
#include "tui/model/past.h"
#include "tui/model/play.h"
#include "tui/model/presence.h"

namespace ringtrue::tui {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;

// Between two questions to a node.
double pause_of(std::size_t nodes) {
  return nodes > 500 ? 30 : nodes > 100 ? 10 : 5;
}

// As a fleet of all of them names them, of which parts are asked: with the port where a host has several
// daemons. Empty: only a fleet knows.
std::vector<std::string> names_of(const std::vector<std::string>& hosts) {
  std::map<std::string, int> daemons;
  for (const std::string& host : hosts) ++daemons[pki::without_port(host)];
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    const std::string bare = pki::without_port(host);
    const bool alone = daemons[bare] == 1;
    const bool clear = alone ? !host.starts_with("unix:") && !host.starts_with('[') : bare != host;
    names.push_back(!clear ? "" : alone ? bare : host);
  }
  return names;
}

class Live final : public Model {
 public:
  Live(LiveRequest request, std::vector<std::string> hosts)
      : request_(std::move(request)),
        hosts_(std::move(hosts)),
        names_(names_of(hosts_)),
        presence_(names_),
        board_(fold_hostlist(hosts_), wall_clock) {
    board_.set([this](std::vector<NodeRow>& rows) { presence_.touch(rows); });
  }
  ~Live() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    cancel();
    end_asking_.request();
    wake_.notify_all();
    for (std::thread* t : {&worker_, &check_, &inspector_})
      if (t->joinable()) t->join();
  }

  Result<void> begin() {
    if (request_.history) {
      auto past = read_past(*request_.history);
      if (!past) return tl::unexpected(std::move(past.error()));
      board_.add(past->moments);
      board_.mark(std::move(past->marks));
    }
    why_not_ = hindrance();
    offer();
    return {};
  }

  SnapshotPtr whole(Seconds) override {
    for (std::size_t first = 0; first < hosts_.size(); first += Asking::at_once) ask(first);
    if (inspector_.joinable()) inspector_.join();
    tell_notes();
    offer();
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
    {
      const std::lock_guard lock(mutex_);
      frozen_ = frozen;
    }
    board_.freeze(frozen);
    board_.publish();
    wake_.notify_all();
  }
  void refresh() override {
    {
      const std::lock_guard lock(mutex_);
      refresh_ = true;
    }
    inspected_ = false;
    wake_.notify_all();
    look(screen_);
  }
  void look(int screen) override {
    constexpr int topology = 3;
    screen_ = screen;
    if (screen != topology || inspected_.exchange(true)) return;
    if (inspector_.joinable()) inspector_.join();
    inspector_ = std::thread([this] { inspect(); });
  }
  void acknowledge(const std::string& key) override {
    board_.acknowledge(key, "you");
    board_.publish();
  }
  Result<Price> price(const Task& task) const override {
    const auto order = order_of(task, names_);
    if (!order) return tl::unexpected(order.error());
    return price_of(*order, known_costs(), hosts_.size());
  }
  void launch(const Task& task) override {
    auto order = order_of(task, names_);
    if (!order || !why_not_.empty() || checking_.exchange(true)) return;
    ours_ = true;
    if (check_.joinable()) check_.join();
    {
      const std::lock_guard lock(stop_mutex_);
      end_check_ = std::make_unique<ops::Stop>();
    }
    check_ = std::thread([this, order = std::move(*order)] { play(order); });
  }
  void cancel() override {
    const std::lock_guard lock(stop_mutex_);
    if (end_check_) end_check_->request();
  }

 private:
  // Until something is to be done: at once where a key asks for it, never while frozen.
  void wait_until(Instant when) {
    std::unique_lock lock(mutex_);
    while (!stop_ && (frozen_ || (!refresh_ && !over_ && Clock::now() < when))) {
      if (frozen_)
        wake_.wait(lock);
      else
        wake_.wait_until(lock, when);
    }
  }

  // Whether something is new.
  bool ask(std::size_t first) {
    const auto states = asking_.ask(first);
    if (!states) return board_.set_message(states.error().text()), true;
    if (stop_ || !presence_.take(*states, wall_clock())) return false;
    board_.changed();
    return true;
  }

  void tell_notes() {
    const auto notes = asking_.notes();
    if (!notes.empty() || told_notes_) board_.set_message(notes.empty() ? "" : notes[0]);
    told_notes_ = !notes.empty();
  }

  void work() {
    board_.publish();
    const std::size_t parts = (hosts_.size() + Asking::at_once - 1) / Asking::at_once;
    const auto between = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::max(pause_of(hosts_.size()) / double(parts), 0.05)));
    std::size_t part = 0, asked = 0;
    int looks = 0;  // since a check of ours was over
    Instant next = Clock::now(), tick = next;
    while (!stop_) {
      if (over_.exchange(false)) {  // who held the nodes then does so no more
        part = asked = 0;
        looks = 0;
        next = Clock::now();
      }
      if (refresh_.exchange(false)) {
        asking_.look_up_again();
        next = Clock::now();
      }
      bool changed = false;
      if (Clock::now() >= next) {
        changed = ask(part * Asking::at_once);
        // The first time all of them, one part after the other.
        if (++asked >= parts) next = Clock::now() + between;
        part = (part + 1) % parts;
        if (part == 0) tell_notes();
        if (part == 0 && ours_ && !checking_ && let_go(looks)) {
          asked = 0;
          next = Clock::now() + 300ms;
        }
        offer();
      }
      // How old things are is told in seconds: of few nodes by each, of many, which are long to draw, seldom.
      if (changed || Clock::now() >= tick) {
        board_.publish();
        tick = Clock::now() + (hosts_.size() > 100 ? 10s : 1s);
      }
      wait_until(std::min(next, tick));
    }
  }

  // After a check of ours, of which the daemons may not have heard yet that it is over: whether to look
  // again.
  bool let_go(int& looks) {
    if (presence_.holder() && ++looks < 5) return true;
    ours_ = checking_.load();
    return false;
  }

  void inspect() {
    board_.set_message("asking the nodes what is in them");
    board_.publish();
    const auto topo = ops::topo(request_.setup, {}, true, ops::Control(end_asking_));
    if (topo) board_.set(topology_of(*topo));
    board_.set_message(topo ? "" : topo.error().error.text());
    board_.publish();
  }

  // Why nothing may be started; empty: it may.
  std::string hindrance() const {
    if (request_.read_only) return "read-only";
    if (request_.setup.insecure) return {};
    const auto credentials = pki::load_operator_credentials(ops::pki_folder(request_.setup));
    if (!credentials) return credentials.error().text();
    if (pki::role_of(credentials->cert) == pki::Role::run) return {};
    return fmt::format("the certificate in {} may not run, only read", credentials->folder);
  }

  CostsKnown known_costs() const {
    CostsKnown out;
    out.held = ours_ ? held_by_nobody : presence_.held();
    const std::lock_guard lock(mutex_);
    out.last = cost_;
    out.rate = rate_;
    return out;
  }

  void offer() {
    Order all;  // a check
    all.nodes.resize(hosts_.size());
    Price price = price_of(all, known_costs(), hosts_.size());
    Offer offer;
    offer.what = std::move(price.what);
    offer.cost = std::move(price.cost);
    offer.why_not = why_not_;
    offer.allowed = offer.why_not.empty();
    offer.algorithms = ops::algorithm_names();
    board_.set(std::move(offer));
  }

  void play(const Order& order) {
    ops::Stop* stop = nullptr;
    {
      const std::lock_guard lock(stop_mutex_);
      stop = end_check_.get();
    }
    const auto show = [this](const Run& run) {
      if (run.state == Run::State::failed) ours_ = false;  // others may hold them
      board_.set(run);
      board_.publish();
    };
    const bool of_all = order.nodes.size() == hosts_.size();
    const auto finished = [&](const std::shared_ptr<const Moment>& moment) {
      board_.add(moment);
      const std::lock_guard lock(mutex_);
      rate_ = moment->expected;
      if (of_all)
        cost_ = fmt::format("{} runs, {:.0f} s, {}", moment->runs, std::ceil(moment->seconds),
                            size_text(moment->bytes));
    };
    Play(request_, hosts_, order, {show, finished}).go(*stop);
    checking_ = false;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    board_.publish();
  }

  const LiveRequest request_;
  const std::vector<std::string> hosts_, names_;
  Presence presence_;
  Board board_;
  std::atomic<bool> stop_ = false, frozen_ = false, refresh_ = false, over_ = false, checking_ = false,
                    inspected_ = false, ours_ = false;
  ops::Stop end_asking_;
  mutable std::mutex mutex_;
  std::mutex stop_mutex_;
  std::condition_variable wake_;
  std::string cost_, why_not_;
  Maybe rate_;
  // Of the thread that asks.
  Asking asking_{request_.setup, end_asking_, [this] { return stop_.load(); }};
  bool told_notes_ = false;
  int screen_ = 0;
  std::unique_ptr<ops::Stop> end_check_;
  std::thread worker_, check_, inspector_;
};

}  // namespace

Result<std::unique_ptr<Model>> watch_daemons(const LiveRequest& request) {
  const auto groups = request.setup.config.host_groups();
  auto hosts = expand_hostlist(request.setup.config.hosts.value, &groups);
  if (!hosts) return tl::unexpected(hosts.error());
  auto live = std::make_unique<Live>(request, std::move(*hosts));
  if (auto begun = live->begin(); !begun) return tl::unexpected(std::move(begun.error()));
  return live;
}

}  // namespace ringtrue::tui
