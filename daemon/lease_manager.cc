#include "daemon/lease_manager.h"

#include <fmt/format.h>

#include <chrono>

#include "base/log.h"

namespace ringtrue::daemon {
namespace {

constexpr std::size_t max_queued = 16;

std::chrono::steady_clock::time_point time_point(Deadline deadline) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.at_ns()));
}

LeaseEnd end_of(const Error& why) {
  if (why.what.empty()) return LeaseEnd::released;
  switch (why.cause) {
    case Cause::peer_lost:
    case Cause::cancelled:  // the operator went away while the workers started
      return LeaseEnd::lost;
    case Cause::refused:
      return LeaseEnd::expired;
    case Cause::stopping:
      return LeaseEnd::stopped;
    default:
      return LeaseEnd::failed;
  }
}

}  // namespace

LeaseManager::LeaseManager(std::string node, Limits limits, StartTold start_workers)
    : node_(std::move(node)),
      start_workers_([this, start = std::move(start_workers)](const run::Member& member, Deadline deadline) {
        return start(member, deadline, [this](worker::End end) { tally_.add(end); });
      }),
      limits_(limits),
      thread_([this] { serve(); }) {}

LeaseManager::~LeaseManager() {
  stop();
}

void LeaseManager::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    draining_ = true;
    if (current_ && current_->lease) current_->lease->abort();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LeaseManager::push_locked(Item item) {
  items_.push_back(std::move(item));
  changed_.notify_all();
}

std::shared_ptr<LeaseManager::Holding> LeaseManager::holding_locked(Ticket ticket) const {
  return current_ && current_->ticket == ticket && !current_->leaving ? current_ : nullptr;
}

Result<LeaseManager::Ticket> LeaseManager::acquire(wire::Acquire acquire, std::uint64_t sequence,
                                                   Deadline deadline, std::shared_ptr<Client> client) {
  std::lock_guard lock(mutex_);
  if (draining_) {
    tally_.add(LeaseEnd::refused);
    return tl::unexpected(stopped());
  }
  if (current_ && !current_->leaving) {
    tally_.add(LeaseEnd::refused);
    return fail(Cause::refused,
                fmt::format("the node has been leased to {} for {:.0f} s", current_->holder,
                            seconds_since(current_->since).value),
                node_, "wait for that run, or ask who started it to end it");
  }
  auto holding = std::make_shared<Holding>();
  holding->ticket = ++last_ticket_;
  holding->holder = acquire.holder;
  holding->client = std::move(client);
  Limits limits = limits_;
  limits.local = holding->client->is_local();
  holding->lease = std::make_unique<Lease>(std::move(acquire), std::move(limits), start_workers_);
  holding->since = now_ns();
  holding->sequence = sequence;
  holding->deadline = deadline;
  current_ = holding;
  tally_.held = true;
  push_locked({Item::Kind::acquire, holding, {}, now_ns(), {}});
  return holding->ticket;
}

void LeaseManager::command(Ticket ticket, rpc::Command command) {
  std::lock_guard lock(mutex_);
  auto holding = holding_locked(ticket);
  if (!holding) return;
  if (++holding->queued > max_queued) {
    leave_locked(*holding, "it sends commands faster than they can be answered");
    return;
  }
  if (command.has_abort()) holding->lease->abort();
  push_locked({Item::Kind::command, holding, std::move(command), now_ns(), {}});
}

void LeaseManager::leave(Ticket ticket, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (auto holding = holding_locked(ticket)) leave_locked(*holding, why);
}

void LeaseManager::leave_locked(Holding& holding, const std::string& why) {
  holding.leaving = true;
  if (holding.lease) holding.lease->abort();
  push_locked({Item::Kind::leave, current_, {}, now_ns(), why});
}

LeaseManager::Status LeaseManager::status() const {
  std::lock_guard lock(mutex_);
  Status status;
  status.rejected_connections = rejected_connections_;
  if (!current_) return status;
  status.holder = current_->holder;
  status.held = seconds_since(current_->since);
  const bool ending = current_->leaving || !current_->lease;
  const Phase phase = ending ? Phase::none : current_->lease->phase();
  status.phase = ending ? "ending" : phase == Phase::none ? "idle" : key_of(phase);
  if (current_->lease) status.rejected_connections += current_->lease->rejected_connections();
  return status;
}

void LeaseManager::set_limits(Limits limits) {
  std::lock_guard lock(mutex_);
  limits_ = std::move(limits);
}

Error LeaseManager::stopped() const {
  return {Cause::stopping, "ringtrued is being stopped or upgraded", node_, "try again once it runs"};
}

void LeaseManager::drain() {
  std::lock_guard lock(mutex_);
  draining_ = true;
  push_locked({});
}

bool LeaseManager::wait_until_free(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, time_point(deadline), [this] { return !current_; });
}

bool LeaseManager::is_free() const {
  const std::lock_guard lock(mutex_);
  return !current_;
}

void LeaseManager::serve() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto due = [this] { return stopping_ || !items_.empty(); };
    if (active_) {
      changed_.wait_until(lock, time_point(active_->lease->ends()), due);
    } else {
      changed_.wait(lock, due);
    }
    if (stopping_) break;
    Item item;
    if (!items_.empty()) {
      item = std::move(items_.front());
      items_.pop_front();
    }
    if (item.kind == Item::Kind::command) --item.holding->queued;
    const bool draining = draining_;
    lock.unlock();
    switch (item.kind) {
      case Item::Kind::acquire:
        start(item.holding);
        break;
      case Item::Kind::command:
        play(item);
        break;
      case Item::Kind::leave:
        end(item.holding, {Cause::peer_lost, item.why, node_, ""});
        break;
      case Item::Kind::nudge:
        break;
    }
    if (active_ && draining && active_->lease->between_runs()) end(active_, stopped());
    if (active_ && active_->lease->ends().passed())
      end(active_, {Cause::refused, "the lease has lasted as long as this node allows", node_,
                    "raise max_seconds in the daemon's configuration"});
    lock.lock();
  }
  std::deque<Item> rest = std::move(items_);
  items_.clear();
  lock.unlock();
  if (active_) end(active_, stopped());
  for (Item& item : rest) {
    if (item.holding) end(item.holding, stopped());
  }
}

void LeaseManager::start(const std::shared_ptr<Holding>& holding) {
  rpc::Event event;
  event.set_sequence(holding->sequence);
  auto started = holding->lease->start(holding->deadline);
  if (!started) {
    Error error = started.error();
    if (error.where.node.empty()) error.where.node = node_;
    *event.mutable_error() = wire::to_wire(error);
    holding->client->send(std::move(event));
    end(holding, error);
    return;
  }
  active_ = holding;
  log_info("lease: taken by {}", holding->holder);
  const wire::Program& here = wire::this_program();
  event.mutable_acquired()->set_protocol(here.protocol);
  event.mutable_acquired()->set_oldest_protocol(here.oldest);
  event.mutable_acquired()->set_version(here.version);
  event.mutable_acquired()->set_node(node_);
  event.mutable_acquired()->set_ranks_per_node(holding->lease->ranks());
  holding->client->send(std::move(event));
}

void LeaseManager::play(Item& item) {
  Holding& holding = *item.holding;
  if (!holding.lease) return;  // it ended while the command waited
  rpc::Event event;
  if (item.command.has_abort()) {
    event.set_sequence(item.command.sequence());
    event.mutable_done();
  } else {
    event = holding.lease->perform(item.command, item.arrived);
  }
  if (event.has_error()) {
    if (event.error().where().node().empty()) event.mutable_error()->mutable_where()->set_node(node_);
    // What breaks here while the daemon stops, breaks by that; and what it has cut short.
    std::unique_lock lock(mutex_);
    const bool ours = stopping_ || (draining_ && event.error().where().node() == node_);
    lock.unlock();
    if (ours && event.error().cause() != rpc::CAUSE_BAD_INPUT)
      *event.mutable_error() = wire::to_wire(stopped());
    const Error error = wire::from_wire(event.error());
    if (error.where.node == node_ && error.cause != Cause::cancelled) tally_.add(error.cause);
    if (error.cause != Cause::cancelled)
      log_warn("lease of {}: phase {} failed: {}", holding.holder, key_of(wire::phase_of(item.command)),
               event.error().what());
  }
  if (item.command.has_run() && !event.has_error()) ++tally_.runs;
  if (item.command.has_collect() && !event.has_error())
    for (std::size_t t = 0; t < tally_.sent.size(); ++t) tally_.sent[t] += holding.lease->sent()[t];
  holding.client->send(std::move(event));
  if (item.command.has_release()) end(item.holding, {});
}

void LeaseManager::end(std::shared_ptr<Holding> holding, const Error& why) {
  std::unique_ptr<Lease> lease;
  {
    std::lock_guard lock(mutex_);
    if (!holding->lease) return;
    lease = std::move(holding->lease);
    holding->leaving = true;
  }
  const std::uint64_t rejected_connections = lease->rejected_connections();
  lease.reset();  // kills and reaps the workers
  if (active_ == holding) active_ = nullptr;
  if (why.what.empty()) {
    log_info("lease: released by {}", holding->holder);
  } else {
    log_warn("lease of {} ended: {}", holding->holder, why.what);
  }
  tally_.add(end_of(why));
  tally_.strangers += rejected_connections;
  holding->client->ended(why);
  std::lock_guard lock(mutex_);
  rejected_connections_ += rejected_connections;
  if (current_ == holding) {
    current_ = nullptr;
    tally_.held = false;
  }
  changed_.notify_all();
}

}  // namespace ringtrue::daemon
