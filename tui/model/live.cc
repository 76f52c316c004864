#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/hostlist.h"
#include "operator/check.h"
#include "operator/facts.h"
#include "operator/runner.h"
#include "pki/pki.h"
#include "report/json/json.h"
#include "tui/model/board.h"
#include "tui/model/document.h"
#include "tui/model/inventory.h"
#include "tui/model/model.h"
#include "tui/model/past.h"
#include "tui/model/presence.h"
#include "tui/model/watch.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t asked_at_once = 32;
constexpr Seconds answers_in{3};

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
    stop_ = true;
    cancel();
    asking_.request();
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
    for (std::size_t first = 0; first < hosts_.size(); first += asked_at_once) ask(first);
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
    frozen_ = frozen;
    board_.freeze(frozen);
    board_.publish();
    wake_.notify_all();
  }
  void refresh() override {
    refresh_ = true;
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
  void check() override {
    if (request_.read_only || checking_.exchange(true)) return;
    if (check_.joinable()) check_.join();
    {
      const std::lock_guard lock(stop_mutex_);
      end_check_ = std::make_unique<ops::Stop>();
    }
    check_ = std::thread([this] { play_check(); });
  }
  void cancel() override {
    const std::lock_guard lock(stop_mutex_);
    if (end_check_) end_check_->request();
  }

 private:
  // Whether nobody wants it to end meanwhile.
  bool sleep(double seconds) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stop_ || refresh_; });
    return !stop_;
  }

  void ask(std::size_t first) {
    ops::Setup setup = request_.setup;
    setup.config.phase_deadline.value = answers_in;
    std::string some;
    for (std::size_t i = first; i < std::min(first + asked_at_once, hosts_.size()); ++i)
      some += (some.empty() ? "" : ",") + hosts_[i];
    setup.config.hosts.value = some;
    auto document = ops::nodes(setup, ops::Control(asking_));
    const double now = wall_clock();
    if (!document) {
      board_.set_message(document.error().error.text());
      return;
    }
    board_.set_message(document->notes.empty() ? "" : document->notes[0]);
    for (std::size_t i = 0; i < document->nodes.size() && first + i < names_.size(); ++i)
      if (!names_[first + i].empty()) document->nodes[i].node = names_[first + i];
    if (presence_.take(document->nodes, now)) board_.changed();
  }

  void work() {
    board_.publish();
    const std::size_t parts = (hosts_.size() + asked_at_once - 1) / asked_at_once;
    std::size_t part = 0;
    const auto soon = [&] { return std::max(pause_of(hosts_.size()) / double(parts), 0.05); };
    double next = 0;
    while (!stop_) {
      const double now = wall_clock();
      // A clock that is set back makes nobody wait for ever.
      if (!frozen_ && (now >= next || next > now + 60 || refresh_)) {
        refresh_ = false;
        ask(part * asked_at_once);
        part = (part + 1) % parts;
        // The first time all of them, one part after the other.
        next = asked_ < parts && ++asked_ < parts ? 0 : wall_clock() + soon();
        offer();
      }
      if (!frozen_) board_.publish();
      if (!sleep(std::clamp(next - wall_clock(), 0.01, 1.0))) break;
    }
  }

  void inspect() {
    board_.set_message("asking the nodes what is in them");
    board_.publish();
    const auto topo = ops::topo(request_.setup, {}, true, ops::Control(asking_));
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

  void offer() {
    Offer offer;
    offer.what = fmt::format("check of {} nodes", hosts_.size());
    offer.why_not = why_not_;
    offer.allowed = offer.why_not.empty();
    const std::string held = presence_.held();
    {
      const std::lock_guard lock(mutex_);
      offer.cost = cost_.empty() ? fmt::format("up to 20 s of load on {} nodes, {}", hosts_.size(), held)
                                 : fmt::format("{} on {} nodes, {}", cost_, hosts_.size(), held);
    }
    board_.set(std::move(offer));
  }

  void play_check() {
    ops::CheckRequest request;
    request.setup = request_.setup;
    request.setup.command = "tui check";
    Watch watch(fmt::format("check of {} nodes", hosts_.size()), {});
    const auto publish = [&] {
      board_.set(watch.run());
      board_.publish();
    };
    publish();
    ops::Stop* stop = nullptr;
    {
      const std::lock_guard lock(stop_mutex_);
      stop = end_check_.get();
    }
    const auto document = ops::check(request, ops::Control(*stop, [&](const ops::progress::Event& event) {
                                       watch.take(event);
                                       publish();
                                     }));
    Run run = watch.run();
    run.state = Run::State::done;
    if (!document) {
      run.state =
          document.error().error.cause == Cause::cancelled ? Run::State::cancelled : Run::State::failed;
      run.error = run.state == Run::State::failed ? document.error().error.text() : "";
    } else if (auto read = read_document(report::json(*document), wall_clock(), "check");
               read && read->moment) {
      const Moment& moment = *read->moment;
      const bool cancelled = document->error && document->error->error.cause == Cause::cancelled;
      run.state = cancelled ? Run::State::cancelled : Run::State::done;
      run.verdict = cancelled ? "" : moment.verdict + ": " + moment.text;
      run.level = moment.level;
      if (!cancelled) board_.add(read->moment);
      const std::lock_guard lock(mutex_);
      if (!cancelled)
        cost_ = fmt::format("{} runs, {:.0f} s, {:.1f} GiB", moment.runs, std::ceil(moment.seconds),
                            moment.bytes / (1 << 30));
    }
    board_.set(std::move(run));
    offer();
    checking_ = false;
    board_.publish();
  }

  const LiveRequest request_;
  const std::vector<std::string> hosts_, names_;
  Presence presence_;
  Board board_;
  std::atomic<bool> stop_ = false, frozen_ = false, refresh_ = false, checking_ = false, inspected_ = false;
  ops::Stop asking_;
  std::mutex mutex_, stop_mutex_;
  std::condition_variable wake_;
  std::string cost_, why_not_;
  std::size_t asked_ = 0;  // parts, the first time
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
