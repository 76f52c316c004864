#include "fleet/node_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "wire/parts.h"

namespace ringtrue::fleet {
namespace {

std::int64_t ns(Seconds s) {
  return std::int64_t(s.value * 1e9);
}

void number(rpc::Command& command, std::uint64_t sequence, Seconds deadline) {
  command.set_sequence(sequence);
  command.set_deadline_s(deadline.value);
}

CommandPtr numbered(rpc::Command command, std::uint64_t sequence, Seconds deadline) {
  number(command, sequence, deadline);
  return std::make_shared<const rpc::Command>(std::move(command));
}

bool names_another(const Error& error, const std::string& self, const std::vector<std::string>& nodes) {
  const std::string& node = error.where.node;
  return node != self && std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

void NodeSessions::State::heard(int node) {
  const std::lock_guard lock(mutex);
  members[std::size_t(node)].heard = now_ns();
  members[std::size_t(node)].connected = true;
}

void NodeSessions::State::replied(int node, Reply reply) {
  const std::lock_guard lock(mutex);
  if (reply.sequence != awaited) return;  // to an earlier command, or to an abort
  Member& m = members[std::size_t(node)];
  if (!reply.error) m.done = phase, m.done_at = now_ns();
  m.reply = std::move(reply);
  changed.notify_all();
}

void NodeSessions::State::ended(int node, Error why) {
  const std::lock_guard lock(mutex);
  Member& m = members[std::size_t(node)];
  m.over = true;
  m.end = std::move(why);
  m.ended_at = now_ns();
  m.link.reset();  // or stream and state would hold each other for ever
  changed.notify_all();
}

NodeSessions::NodeSessions(std::vector<std::string> nodes, std::function<void(Phase, int, int)> progress,
                           bool outlive_the_dead)
    : nodes_(std::move(nodes)), progress_(std::move(progress)), outlive_the_dead_(outlive_the_dead) {
  state_->members.resize(nodes_.size());
}

NodeSessions::~NodeSessions() {
  release();
  {
    const std::lock_guard lock(state_->mutex);
    state_->leaving = true;
    state_->changed.notify_all();
  }
  if (heart_.joinable()) heart_.join();
  sweep_links();
}

void NodeSessions::open(Dialer& dialer, const std::vector<Target>& targets, const std::vector<int>& who) {
  for (const int node : who) {
    auto link = open_link(dialer, targets[std::size_t(node)], node, state_);
    const std::lock_guard lock(state_->mutex);
    Member& m = state_->members[std::size_t(node)];
    if (!m.over) m.link = std::move(link);  // it may have failed already
    m.heard = now_ns();
  }
  heart_ = std::thread([this] { beat(); });
}

void NodeSessions::beat() {
  Lock lock(state_->mutex);
  std::int64_t next = now_ns() + ns(heartbeat_interval);
  while (!state_->leaving) {
    if (wait_until(lock, next)) continue;
    note_awake();
    next = now_ns() + ns(heartbeat_interval);
    for (Member& m : state_->members)
      if (m.link && !m.over) m.link->heartbeat();
  }
}

// The silence while this process itself was held up (stopped, or without a processor) is nobody else's.
void NodeSessions::note_awake() {
  const std::int64_t now = now_ns();
  if (state_->awake != 0 && now - state_->awake > ns(heartbeat_interval * 2))
    for (Member& m : state_->members) m.heard = now;
  state_->awake = now;
}

void NodeSessions::cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->cancelled = true;
  state_->changed.notify_all();
}

// True when woken before that.
bool NodeSessions::wait_until(Lock& lock, std::int64_t at_ns) const {
  const auto at = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns));
  return state_->changed.wait_until(lock, at) == std::cv_status::no_timeout;
}

template <class Condition>
bool NodeSessions::wait_for(Lock& lock, Seconds time, Condition condition) const {
  const Deadline until = Deadline::in(time);
  while (!condition() && !until.passed()) wait_until(lock, until.at_ns());
  return condition();
}

bool NodeSessions::answered(int node) const {
  const Member& m = state_->members[std::size_t(node)];
  return m.reply || m.over;
}

NodeSessions::Standing NodeSessions::standing(const std::vector<int>& who, Phase phase) const {
  Standing s;
  const std::int64_t now = now_ns();
  for (const int node : who) {
    const Member& m = state_->members[std::size_t(node)];
    if (m.reply && m.reply->error) {
      const bool lost = names_another(*m.reply->error, nodes_[std::size_t(node)], nodes_);
      (lost ? s.lost_peer : s.failed_itself) = true;
    }
    // A lease may go on without it.
    const bool dead = outlive_the_dead_ && phase == Phase::lease && looks_dead(m.end.cause);
    if (!m.reply && m.over && !dead) s.failed_itself = true;
    if (m.reply || m.over) {
      ++s.answered;
    } else if (phase == Phase::lease) {
      s.unconnected += m.link && !m.link->connected();
    } else {  // by now it sends heartbeats
      const std::int64_t lost = m.heard + ns(silence_is_loss);
      if (lost <= now)
        s.failed_itself = true;
      else
        s.next_silence = std::min(s.next_silence, lost);
    }
  }
  return s;
}

bool NodeSessions::await(Lock& lock, Phase phase, const std::vector<int>& who, Seconds deadline) {
  const std::int64_t hard = now_ns() + ns(deadline + answer_grace);
  std::int64_t settled_own = INT64_MAX, settled_peer_lost = INT64_MAX;
  const std::int64_t connected_by = now_ns() + ns(connect_patience);
  int told = -1;
  for (;;) {
    note_awake();
    const Standing s = standing(who, phase);
    if (progress_ && s.answered != told) {
      told = s.answered;
      lock.unlock();
      progress_(phase, told, int(who.size()));
      lock.lock();
      continue;
    }
    const std::int64_t now = now_ns();
    if (s.failed_itself) settled_own = std::min(settled_own, now + ns(settle_own));
    if (s.lost_peer) settled_peer_lost = std::min(settled_peer_lost, now + ns(settle_peer_lost));
    const bool connect =
        outlive_the_dead_ && s.unconnected > 0 && s.answered + s.unconnected == int(who.size());
    const std::int64_t settled =
        std::min({settled_own, settled_peer_lost, connect ? connected_by : INT64_MAX});
    if (state_->cancelled || s.answered == int(who.size()) || now >= settled) return false;
    if (now >= hard) return true;
    wait_until(lock, std::min({hard, settled, s.next_silence}));
  }
}

void NodeSessions::stop_the_rest(Lock& lock, const std::vector<int>& who) {
  const CommandPtr abort = numbered(wire::plain_command(Phase::abort), ++sequence_, abort_grace);
  for (const int node : who) {
    const Member& m = state_->members[std::size_t(node)];
    if (!answered(node) && m.link) m.link->send(abort);
  }
  wait_for(lock, abort_grace,
           [&] { return std::all_of(who.begin(), who.end(), [&](int node) { return answered(node); }); });
}

std::vector<Answer> NodeSessions::answers(Phase phase, const std::vector<int>& who, bool time_up,
                                          std::int64_t begun) const {
  std::vector<Answer> all;
  const std::int64_t now = now_ns();
  for (const int node : who) {
    const Member& m = state_->members[std::size_t(node)];
    Answer a;
    a.node = nodes_[std::size_t(node)];
    if (m.reply) {
      a.at = double(m.reply->at - begun) * 1e-9;
      if (m.reply->error) a.error = *m.reply->error;
      const bool told_to_stop = a.error.cause == Cause::cancelled;
      a.kind = !m.reply->error ? Answer::Kind::ok
               : told_to_stop  ? Answer::Kind::stopped
                               : Answer::Kind::error;
    } else if (m.over) {
      a.kind = Answer::Kind::gone;
      a.at = double(m.ended_at - begun) * 1e-9;
      a.error = m.end;
    } else {
      const double quiet = double(now - m.heard) * 1e-9;
      const bool lifeless = phase != Phase::lease && quiet >= silence_is_suspect.value;
      const bool unconnected = phase == Phase::lease && m.link && !m.link->connected();
      a.kind = time_up || lifeless || unconnected ? Answer::Kind::silent : Answer::Kind::stopped;
      a.error.cause = lifeless ? Cause::peer_lost : unconnected ? Cause::unreachable : Cause::deadline;
      a.error.where = a.node;
      a.error.what =
          lifeless ? fmt::format(
                         "no answer for {:.1f} s: its daemon is stopped, or the network to it is down", quiet)
          : unconnected ? fmt::format(
                              "no answer for {:.1f} s from the start: its daemon is stopped or overloaded, "
                              "or the network is down",
                              double(now - begun) * 1e-9)
                        : fmt::format("no answer for {:.1f} s", double(now - begun) * 1e-9);
      a.error.next = "look at ringtrued on that node";
    }
    all.push_back(std::move(a));
  }
  return all;
}

FleetResult<std::vector<Reply>> NodeSessions::phase(
    const std::vector<int>& who, Seconds deadline, rpc::Command command,
    const std::function<void(rpc::Command&, int node)>& adapt) {
  const Phase phase = wire::phase_of(command);
  number(command, ++sequence_, deadline);
  std::vector<CommandPtr> to_all;
  for (rpc::Command& part : wire::in_parts(std::move(command)))
    to_all.push_back(std::make_shared<const rpc::Command>(std::move(part)));
  Lock lock(state_->mutex);
  const auto member = [&](int node) -> Member& { return state_->members[std::size_t(node)]; };
  state_->awaited = sequence_;
  state_->phase = phase;
  const std::int64_t begun = now_ns();
  for (const int node : who) member(node).reply.reset();
  for (const int node : who) {
    if (!member(node).link) continue;
    if (adapt) {
      const auto own = std::make_shared<rpc::Command>(*to_all.front());
      adapt(*own, node);
      member(node).link->send(own);
      continue;
    }
    for (const CommandPtr& part : to_all) member(node).link->send(part);
  }
  const bool time_up = await(lock, phase, who, deadline);
  const bool good = !state_->cancelled && std::all_of(who.begin(), who.end(), [&](int node) {
    return member(node).reply && !member(node).reply->error;
  });
  if (good) {
    std::vector<Reply> replies;
    for (const int node : who) replies.push_back(std::move(*member(node).reply));
    return replies;
  }

  std::vector<Answer> found;
  const bool cancelled = state_->cancelled;
  if (time_up) found = answers(phase, who, true, begun);  // what comes after an abort says no more
  if (phase != Phase::lease) stop_the_rest(lock, who);
  if (cancelled)
    return tl::unexpected(
        FleetError{{Failure{"", phase, Error{Cause::cancelled, "interrupted", "", ""}, true}}});
  if (!time_up) found = answers(phase, who, false, begun);
  FleetError error{find_culprits(phase, found)};
  if (outlive_the_dead_ && phase == Phase::lease && leave_out(error.failures, who)) {
    std::vector<Reply> replies;
    for (const int node : who) replies.push_back(member(node).reply.value_or(Reply{}));
    return replies;
  }
  for (Failure& f : error.failures)
    if (outlive_the_dead_ && f.dead) f.error.what += last_done(f.node);
  lock.unlock();

  // Somebody stopped without being told to: strange, but not to be passed over.
  for (const Answer& a : found)
    if (error.failures.empty() && !a.error.what.empty())
      error.failures.push_back({a.node, phase, a.error, true});
  return tl::unexpected(std::move(error));
}

bool NodeSessions::leave_out(const std::vector<Failure>& failures, const std::vector<int>& who) {
  const bool all_dead =
      std::all_of(failures.begin(), failures.end(), [](const Failure& f) { return f.dead || !f.culprit; });
  const auto granted = std::count_if(who.begin(), who.end(), [&](int node) {
    const Member& m = state_->members[std::size_t(node)];
    return m.reply && !m.reply->error && !m.over;
  });
  const auto dead = std::count_if(failures.begin(), failures.end(), [](const Failure& f) { return f.dead; });
  if (!all_dead || granted + dead != std::ptrdiff_t(who.size()) ||
      !enough_to_go_on(std::size_t(granted), nodes_.size()))
    return false;
  left_out_ = failures;
  for (const int node : who) {
    const Member& m = state_->members[std::size_t(node)];
    if (!m.reply && m.link) m.link->cancel();
  }
  return true;
}

std::string NodeSessions::last_done(const std::string& node) const {
  const auto at = std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin();
  if (at == std::ptrdiff_t(nodes_.size())) return {};
  const Member& m = state_->members[std::size_t(at)];
  if (m.done == Phase::none) return {};
  std::string text = fmt::format("; the last phase that it answered was {}, {:.1f} s before", key_of(m.done),
                                 seconds_since(m.done_at).value);
  // Of one that is silent, that has been said.
  if (m.over || m.reply)
    text += fmt::format(", its last sign of life came {:.1f} s before", seconds_since(m.heard).value);
  return text;
}

void NodeSessions::release() {
  Lock lock(state_->mutex);
  state_->awaited = ++sequence_;
  const CommandPtr command = numbered(wire::plain_command(Phase::release), sequence_, release_grace);
  std::vector<Member*> asked;
  for (Member& m : state_->members) {
    m.reply.reset();
    if (!m.link) continue;
    const bool alive = m.connected && now_ns() - m.heard < ns(silence_is_suspect);
    if (alive) {
      m.link->send(command);
      asked.push_back(&m);
    } else {
      m.link->cancel();
    }
  }
  wait_for(lock, release_grace, [&] {
    return std::all_of(asked.begin(), asked.end(), [](const Member* m) { return m->reply || m->over; });
  });
  for (Member* m : asked)
    if (m->link) m->reply ? m->link->close() : m->link->cancel();
  const auto all_over = [&] {
    return std::none_of(state_->members.begin(), state_->members.end(),
                        [](const Member& m) { return bool(m.link); });
  };
  if (wait_for(lock, Seconds(0.2), all_over)) return;
  for (Member& m : state_->members)
    if (m.link) m.link->cancel();
  wait_for(lock, Seconds(0.1), all_over);
  std::vector<std::shared_ptr<Link>> rest;  // gRPC ends them by itself; nobody listens any longer
  for (Member& m : state_->members) rest.push_back(std::move(m.link));
  lock.unlock();
}

}  // namespace ringtrue::fleet
